package perf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"weir/roce"
)

// The handshake of perftest's tools: messages of fixed length over one TCP
// connection, in pairs of equal length: the client writes and then reads, the
// server reads and then writes. A message must arrive whole in one read of the
// tools, so each is written with one call.

const (
	perftestVersion = "6.06" // tools below 5.70 are refused by newer ones
	versionLen      = 16
	keyLen          = 108
)

// oob is one end of the connection.
type oob struct {
	conn   net.Conn
	client bool
}

// exchange sends out and returns what the other side sent, of the same length.
func (o *oob) exchange(out []byte, within time.Duration) ([]byte, error) {
	if err := o.conn.SetDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	in := make([]byte, len(out))
	if o.client {
		if _, err := o.conn.Write(out); err != nil {
			return nil, err
		}
		_, err := io.ReadFull(o.conn, in)
		return in, err
	}
	if _, err := io.ReadFull(o.conn, in); err != nil {
		return nil, err
	}
	_, err := o.conn.Write(out)
	return in, err
}

// perftestKey is the key message of one queue pair.
type perftestKey struct {
	LID   uint16
	Reads uint16 // READs and atomics that it takes
	QPN   roce.QPN
	PSN   roce.PSN
	RKey  uint32
	Addr  uint64
	GID   roce.GID
	SRQN  uint32
}

// encode returns the message: hexadecimal fields of fixed width with colons,
// padded with zero bytes.
func (k *perftestKey) encode() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%04x:%04x:%06x:%06x:%08x:%016x:", k.LID, k.Reads, uint32(k.QPN), uint32(k.PSN), k.RKey, k.Addr)
	for _, x := range k.GID {
		fmt.Fprintf(&b, "%02x:", x)
	}
	fmt.Fprintf(&b, "%08x:", k.SRQN)
	out := make([]byte, keyLen)
	copy(out, b.String())
	return out
}

// decodeKey reads a key message.
func decodeKey(b []byte) (k perftestKey, err error) {
	text, _, _ := bytes.Cut(b, []byte{0})
	f := strings.Split(strings.TrimSuffix(string(text), ":"), ":")
	const fields = 6 + 16 + 1
	if len(f) != fields {
		return k, fmt.Errorf("key message with %d fields, not %d: %q", len(f), fields, text)
	}
	number := func(i, bits int) uint64 {
		v, e := strconv.ParseUint(f[i], 16, bits)
		if e != nil && err == nil {
			err = fmt.Errorf("key message, field %d: %q is not a number of %d bits", i+1, f[i], bits)
		}
		return v
	}
	k.LID, k.Reads = uint16(number(0, 16)), uint16(number(1, 16))
	k.QPN, k.PSN = roce.QPN(number(2, 24)), roce.PSN(number(3, 24))
	k.RKey, k.Addr = uint32(number(4, 32)), number(5, 64)
	for i := range k.GID {
		k.GID[i] = byte(number(6+i, 8))
	}
	k.SRQN = uint32(number(22, 32))
	return k, err
}

// setup exchanges versions, sizes and path MTU, and returns the MTU to use.
func (o *oob) setup(mtu int) (int, error) {
	version := make([]byte, versionLen)
	copy(version, perftestVersion)
	v, err := o.exchange(version, patience)
	if err != nil {
		return 0, fmt.Errorf("version: %w", err)
	}
	if text, _, _ := bytes.Cut(v, []byte{0}); !isVersion(string(text)) {
		return 0, fmt.Errorf("the other side is not perftest: version %q", text)
	}
	for _, n := range []uint32{4096, 64} { // cycle buffer, cache line
		if _, err := o.exchange(binary.BigEndian.AppendUint32(nil, n), patience); err != nil {
			return 0, fmt.Errorf("buffer sizes: %w", err)
		}
	}
	code := uint8(1)
	for roce.MTUBytes(code) < mtu {
		code++
	}
	b, err := o.exchange([]byte{'0' + code, 0}, patience)
	if err != nil {
		return 0, fmt.Errorf("path MTU: %w", err)
	}
	other := roce.MTUBytes(b[0] - '0')
	if other == 0 {
		return 0, fmt.Errorf("path MTU: %q is not a digit from 1 to 5", b)
	}
	return min(mtu, other), nil
}

func isVersion(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && len(s) < versionLen
}

// keys exchanges the key messages of all queue pairs.
func (o *oob) keys(mine []perftestKey, within time.Duration) ([]perftestKey, error) {
	theirs := make([]perftestKey, len(mine))
	for i := range mine {
		b, err := o.exchange(mine[i].encode(), within)
		if err != nil {
			return nil, fmt.Errorf("keys: %w", err)
		}
		if theirs[i], err = decodeKey(b); err != nil {
			return nil, err
		}
	}
	return theirs, nil
}

// report exchanges what was measured: size, iterations, peak and average MB/s,
// millions of messages per second.
func (o *oob) report(r *Result) error {
	be := binary.BigEndian
	for _, b := range [][]byte{
		be.AppendUint64(nil, uint64(r.Spec.Size)), be.AppendUint64(nil, uint64(r.Iterations)),
		be.AppendUint64(nil, math.Float64bits(r.PeakBytesPerSecond/mib)),
		be.AppendUint64(nil, math.Float64bits(r.BytesPerSecond/mib)),
		be.AppendUint64(nil, math.Float64bits(r.MessagesPerSecond/1e6)),
	} {
		if _, err := o.exchange(b, patience); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

// done ends the handshake: both write, and read what the other wrote if it is
// still there.
func (o *oob) done() {
	_ = o.conn.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = o.conn.Write([]byte("done\x00"))
	_, _ = io.ReadFull(o.conn, make([]byte, 5))
}

// perftestKeys describes an endpoint's queue pairs.
func (e *endpoint) perftestKeys(addr netip.Addr) []perftestKey {
	keys := make([]perftestKey, len(e.qps))
	for i, q := range e.qps {
		keys[i] = perftestKey{
			Reads: 16, QPN: q.Number(), PSN: q.PSN(), RKey: e.mrs[i].RKey(), Addr: e.mrs[i].Addr(), GID: roce.GIDFromAddr(addr),
		}
	}
	return keys
}

// join connects the endpoint to perftest's queue pairs.
func (e *endpoint) join(keys []perftestKey, s *Spec) error {
	remote := make([]remoteQP, len(keys))
	for i, k := range keys {
		remote[i] = remoteQP{QPN: k.QPN, PSN: k.PSN, Addr: k.Addr, RKey: k.RKey}
	}
	if keys[0].GID.IsZero() {
		return errors.New("perftest uses no GID: give it -x with the index of a RoCEv2 GID")
	}
	// A real adapter's buffers are not known; a software one's are small.
	path := pathOf(s, 1<<20)
	path.MaxReads = uint8(min(max(keys[0].Reads, 1), 16))
	path.RNRTimer = 12
	return e.connect(keys[0].GID.Addr(), remote, path)
}
