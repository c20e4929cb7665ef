package roce_test

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/roce"
)

// mad builds a datagram from pieces at offsets behind the common header.
func mad(kind uint16, pieces map[int][]byte) []byte {
	b := make([]byte, roce.MADLen)
	b[0], b[1], b[2], b[3] = 1, 7, 2, 3
	binary.BigEndian.PutUint64(b[8:], 0x1122334455667788)
	binary.BigEndian.PutUint16(b[16:], kind)
	for at, v := range pieces {
		copy(b[24+at:], v)
	}
	return b
}

func TestCM(t *testing.T) {
	src, dst := roce.GIDFromIPv4([4]byte{192, 0, 2, 1}), roce.GIDFromIPv4([4]byte{192, 0, 2, 2})
	ids := []byte{0, 0, 0, 7, 0, 0, 0, 9}
	for _, c := range []struct {
		name string
		b    []byte
		want roce.CM
	}{
		{"request", mad(0x10, map[int][]byte{
			0: {0, 0, 0, 7}, 8: {0, 0, 0, 0, 1, 6, 0x1c, 6}, 32: {0, 0, 0x45, 1}, 44: {0x5d, 0x44, 0x30, 0xa5},
			50: {0x36}, 56: src[:], 72: dst[:], 88: {0xbc, 0xaa, 0xc0, 0}, 95: {0x98},
		}), roce.CM{
			Kind: roce.CMConnectRequest, LocalID: 7, QPN: 0x45, PSN: 0x5d4430, ServiceID: 0x01061c06,
			MTU: 1024, RetryCount: 5, RNRRetry: 6, AckTimeout: 19, FlowLabel: 0xbcaac, SrcGID: src, DstGID: dst,
		}},
		{"reply", mad(0x13, map[int][]byte{0: ids, 12: {0, 0, 0x46, 0}, 20: {0x44, 0xf4, 0x3e, 0}, 27: {0xe0}}),
			roce.CM{Kind: roce.CMConnectReply, LocalID: 7, RemoteID: 9, QPN: 0x46, PSN: 0x44f43e, RNRRetry: 7}},
		{"reject", mad(0x12, map[int][]byte{0: ids, 10: {0, 8}}),
			roce.CM{Kind: roce.CMReject, LocalID: 7, RemoteID: 9, Reason: 8}},
		{"disconnect", mad(0x15, map[int][]byte{0: ids, 8: {0, 0, 0x46, 0}}),
			roce.CM{Kind: roce.CMDisconnectRequest, LocalID: 7, RemoteID: 9, QPN: 0x46}},
		{"ready", mad(0x14, map[int][]byte{0: ids}), roce.CM{Kind: roce.CMReadyToUse, LocalID: 7, RemoteID: 9}},
		{"service reply", mad(0x18, map[int][]byte{0: {0, 0, 0, 7}, 4: {2}, 8: {0, 0, 0x48, 0}, 12: {0, 0, 0, 0, 1, 0x11, 0x1c, 6}}),
			roce.CM{Kind: roce.CMServiceReply, LocalID: 7, QPN: 0x48, Status: 2, ServiceID: 0x01111c06}},
	} {
		c.want.TransactionID = 0x1122334455667788
		var got roce.CM
		if err := got.Decode(c.b); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		for n := range c.b {
			_ = got.Decode(c.b[:n]) // must not panic
		}
		if err := got.Decode(c.b[:30]); err != roce.ErrTruncated {
			t.Errorf("%s cut: %v", c.name, err)
		}
	}
	c := roce.CM{ServiceID: 0x01061c06}
	if proto, port, ok := c.Port(); !ok || proto != 6 || port != 7174 {
		t.Errorf("Port = %d, %d, %v", proto, port, ok)
	}
	if c.ServiceID = 0xff01061c06; true {
		if _, _, ok := c.Port(); ok {
			t.Error("another service id has a port")
		}
	}
	var got roce.CM
	b := mad(0x10, nil)
	b[1] = 3
	if err := got.Decode(b); err != roce.ErrNotRoCE {
		t.Errorf("class 3: %v", err)
	}
	if s := roce.CMReason(8).String(); s != "invalid service id: nobody listens there" {
		t.Errorf("reason 8 is %q", s)
	}
	if s := roce.CMReason(99).String() + ", " + roce.CMReject.String() + ", " + roce.CMKind(9).String(); s != "reason 99, ConnectReject, CM attribute 9" {
		t.Error(s)
	}
}
