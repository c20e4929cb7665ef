package units

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// Serialisation times by hand: bytes x 8 / rate.
func TestTransmitTime(t *testing.T) {
	for _, test := range []struct {
		rate  BitRate
		bytes Bytes
		want  Time
	}{
		{100 * Gbps, 1048, 83840},             // 83.84 ns
		{400 * Gbps, 4176, 83520},             // 83.52 ns
		{10 * Gbps, 64, 51200},                // 51.2 ns
		{56 * Gbps, 7, 1000},                  // 1 ns
		{3 * BitPerSecond, 1, 2666666666667},  // 8/3 s, to the nearest picosecond
		{800 * Gbps, 1 << 40, 10995116277760}, // 1 TiB at 10 ps a byte
		{BitPerSecond, 1 << 40, Never},        // beyond the range
		{100 * Gbps, 10_000_000, 800_000 * Nanosecond},
	} {
		if got := test.rate.TransmitTime(test.bytes); got != test.want {
			t.Errorf("%v of %v takes %d ps, want %d", test.bytes, test.rate, got, test.want)
		}
	}
}

func TestBytesIn(t *testing.T) {
	// One BDP of the HPCC set: 100 Gb/s x 8.32 us = 104,000 B.
	if got := (100 * Gbps).BytesIn(8320 * Nanosecond); got != 104_000 {
		t.Errorf("got %d, want 104000", got)
	}
}

// The prepared pace agrees with the division: exactly at Ethernet's rates, to
// the picosecond at others.
func TestPace(t *testing.T) {
	for _, gigabits := range []BitRate{10, 25, 40, 50, 100, 200, 400, 800} {
		rate := gigabits * Gbps
		for n := uint32(0); n <= 64<<10; n++ {
			if got, want := rate.Pace().Time(n), rate.TransmitTime(Bytes(n)); got != want {
				t.Fatalf("%d bytes at %v: pace %d, division %d", n, rate, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		rate := BitRate(rapid.Int64Range(int64(Gbps), 1600*int64(Gbps)).Draw(t, "rate"))
		n := rapid.Uint32Range(0, 64<<10).Draw(t, "bytes")
		if got, want := rate.Pace().Time(n), rate.TransmitTime(Bytes(n)); max(got-want, want-got) > 1 {
			t.Fatalf("%d bytes at %d b/s: pace %d, division %d", n, rate, got, want)
		}
	})
}

func TestParse(t *testing.T) {
	times := map[string]Time{"30us": 30 * Microsecond, "0": 0, "1.5 ms": 1500 * Microsecond, "83.84ns": 83840, "2min": 120 * Second, "10m": 600 * Second}
	for text, want := range times {
		if got, err := ParseTime(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	sizes := map[string]Bytes{"150KB": 150_000, "16MiB": 16 << 20, "4096": 4096, "0.5GB": 500_000_000, "9216B": 9216}
	for text, want := range sizes {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	tests := map[string]Bytes{"16M": 16 << 20, "8": 8, "1G": 1 << 30, "512k": 512 << 10, "1MB": 1_000_000}
	for text, want := range tests {
		if got, err := ParseTestSize(text); err != nil || got != want {
			t.Errorf("test size %q is %d, %v; want %d", text, got, err, want)
		}
	}
	rates := map[string]BitRate{"400Gbps": 400 * Gbps, "100G": 100 * Gbps, "2.5Gb/s": 2500 * Mbps, "1Tbps": 1000 * Gbps}
	for text, want := range rates {
		if got, err := ParseBitRate(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	lengths := map[string]Metres{"30m": 30, "50cm": 0.5, "2km": 2000}
	for text, want := range lengths {
		if got, err := ParseLength(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	shares := map[string]float64{"20%": 0.2, "0.5": 0.5, "100%": 1, "0": 0}
	for text, want := range shares {
		if got, err := ParseShare(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseRefusals(t *testing.T) {
	for _, parse := range []func(string) error{
		func(s string) error { _, err := ParseTime(s); return err },
		func(s string) error { _, err := ParseBytes(s); return err },
		func(s string) error { _, err := ParseBitRate(s); return err },
		func(s string) error { _, err := ParseLength(s); return err },
	} {
		for _, text := range []string{"", "x", "-1us", "-5", "10XB", "1e400s", "99999999999999999999999999GB", "1.2.3m", "us", "NaN"} {
			err := parse(text)
			var pe *ParseError
			if err == nil {
				t.Errorf("%q was taken", text)
			} else if !errors.As(err, &pe) || pe.Allowed == "" {
				t.Errorf("%q: %v does not say what is allowed", text, err)
			}
		}
	}
	for _, text := range []string{"101%", "1.01", "-1%", "x%"} {
		if _, err := ParseShare(text); err == nil {
			t.Errorf("share %q was taken", text)
		}
	}
}

// What String prints, the parsers read back.
func TestStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Range(0, 1<<20).Draw(t, "kib")) * KiB
		if got, err := ParseBytes(b.String()); err != nil || got != b {
			t.Fatalf("%d prints %s, which reads %d, %v", b, b, got, err)
		}
		d := Time(rapid.Int64Range(0, 999_999).Draw(t, "ns")) * Nanosecond
		if got, err := ParseTime(d.String()); err != nil || got != d {
			t.Fatalf("%d prints %s, which reads %d, %v", d, d, got, err)
		}
	})
}

func TestPropagation(t *testing.T) {
	if got := Metres(200).PropagationDelay(); got != Microsecond {
		t.Errorf("200 m take %v, want 1us at 5 ns a metre", got)
	}
}
