package roce

import "time"

// rnrTimes holds the delay of each RNR NAK timer code in units of 10 us
// (InfiniBand Architecture Specification, volume 1, section 9.7.5.2.8, table 45).
var rnrTimes = [32]uint32{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// RNRTime returns how long a requester must wait after an RNR NAK with the
// given timer code. Only the low five bits of code count. Code 0 is the
// longest, 655.36 ms; 1 is the shortest, 10 us.
func RNRTime(code uint8) time.Duration {
	return time.Duration(rnrTimes[code&31]) * 10 * time.Microsecond
}

// RNRCode returns the timer code with the shortest delay that is not below d:
// the code that a responder sends to be left alone for d. Delays above 655.36
// ms give code 0, the longest there is.
func RNRCode(d time.Duration) uint8 {
	for code := uint8(1); code < 32; code++ {
		if RNRTime(code) >= d {
			return code
		}
	}
	return 0
}

// AckTimeout returns the local ACK timeout of one try for a timeout code:
// 4.096 us times 2^code (section 9.7.6.1.3). Only the low five bits of code
// count. Code 0 means no timeout at all and returns 0. A requester may take up
// to four times as long.
func AckTimeout(code uint8) time.Duration {
	if code &= 31; code == 0 {
		return 0
	}
	return 4096 << code
}

// AckTimeoutCode returns the smallest code whose timeout is not below d, and 31,
// the longest (2 h 26 min), where there is none. It returns 0, "never", for d
// of 0 and below.
func AckTimeoutCode(d time.Duration) uint8 {
	if d <= 0 {
		return 0
	}
	for code := uint8(1); code < 31; code++ {
		if AckTimeout(code) >= d {
			return code
		}
	}
	return 31
}
