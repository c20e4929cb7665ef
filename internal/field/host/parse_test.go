package host

import (
	"encoding/binary"
	"testing"
)

// The words of nvidia-smi topo -m for the paths of a two-socket host with
// PCIe switches.
func TestDistance(t *testing.T) {
	dev := func(numa string, path ...string) pciDevice { return pciDevice{numa: numa, path: path} }
	nic := dev("0", "pci0000:15", "15:01.0", "16:00.0", "17:00.0", "18:00.0")
	for _, c := range []struct {
		name string
		gpu  pciDevice
		want string
	}{
		{"below the same switch", dev("0", "pci0000:15", "15:01.0", "16:00.0", "17:01.0", "19:00.0"), "PIX"},
		{"below a second switch of the first", dev("0", "pci0000:15", "15:01.0", "16:00.0", "17:02.0", "20:00.0", "21:00.0", "22:00.0"), "PXB"},
		{"at another port of the host bridge", dev("0", "pci0000:15", "15:02.0", "30:00.0"), "PHB"},
		{"at another host bridge of the node", dev("0", "pci0000:37", "37:01.0", "38:00.0"), "NODE"},
		{"at the other node", dev("1", "pci0000:97", "97:01.0", "98:00.0"), "SYS"},
		{"unknown", dev("1"), ""},
	} {
		if got := distance(nic, c.gpu); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// attr builds a netlink attribute (length, type, value, padding).
func attr(id uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, id), value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// The answer has the layout of include/uapi/linux/dcbnl.h: dcbmsg, IFNAME,
// IEEE (nested, with ETS before PFC); struct ieee_pfc begins with pfc_cap and
// pfc_en.
func TestDCBAnswer(t *testing.T) {
	pfc := make([]byte, 136)
	pfc[0], pfc[1] = 8, 0x08
	nested := append(attr(1, make([]byte, 57)), attr(2, pfc)...)
	msg := append([]byte{0, 21, 0, 0}, attr(1, []byte("eth0\x00"))...)
	msg = append(msg, attr(13|0x8000, nested)...)
	mask, ok, err := dcbPFC(msg)
	if mask != 0x08 || !ok || err != nil {
		t.Errorf("%#x, %v, %v", mask, ok, err)
	}
	for n := range msg {
		dcbPFC(msg[:n]) // must not panic
	}
	req, err := dcbRequest("eth0")
	if want := "\x00\x15\x00\x00\x09\x00\x01\x00eth0\x00\x00\x00\x00"; binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && string(req) != want || err != nil {
		t.Errorf("request %q, %v; want %q", req, err, want)
	}
}

func FuzzDCB(f *testing.F) {
	f.Add([]byte{0, 21, 0, 0, 12, 0, 13, 0, 8, 0, 2, 0, 8, 8, 0, 0})
	f.Fuzz(func(_ *testing.T, b []byte) { dcbPFC(b) })
}

func FuzzModule(f *testing.F) {
	f.Add(append([]byte{0x11}, make([]byte, 255)...))
	f.Add(append([]byte{0x18}, make([]byte, 255)...))
	f.Fuzz(func(_ *testing.T, b []byte) { parseModule(b) })
}

func TestModuleOfCMIS(t *testing.T) {
	b := make([]byte, 128)
	b[0], b[14], b[15] = 0x18, 55, 0x40
	m, err := parseModule(b)
	if err != nil || m.temperature != 55 || len(m.rxPower) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := parseModule([]byte{0x18}); err == nil {
		t.Error("one byte was enough")
	}
}

func TestMetricWord(t *testing.T) {
	if got := metricWord("RNR Nak-1"); got != "rnr_nak_1" {
		t.Error(got)
	}
}

func FuzzRate(f *testing.F) {
	f.Add("400 Gb/sec (4X NDR)")
	f.Fuzz(func(_ *testing.T, s string) { rate(s) })
}
