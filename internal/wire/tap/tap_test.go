package tap_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/wire/capture"
	"weir/internal/wire/tap"
	"weir/rc"
	"weir/roce"
	"weir/units"
)

func path4() *tap.Path {
	return &tap.Path{
		SrcMAC: tap.MAC(1, 0), DstMAC: tap.MAC(2, 0),
		Src: roce.GIDFromIPv4([4]byte{192, 0, 2, 1}), Dst: roce.GIDFromIPv4([4]byte{192, 0, 2, 2}),
		DestQP: 0x202, SrcPort: 50000, TrafficClass: 26<<2 | 2, ID: 65530,
	}
}

// write makes a capture with one packet of each opcode, a CNP and pause frames.
func write(t *testing.T, w io.Writer, o tap.Options) (opcodes []roce.Opcode) {
	t.Helper()
	out, err := tap.NewWriter(w, o)
	if err != nil {
		t.Fatal(err)
	}
	at := units.Time(0)
	path := path4()
	for i := range 256 {
		op := roce.Opcode(i)
		if !op.Known() || op == roce.CNP {
			continue
		}
		p := &tap.Packet{Packet: rc.Packet{Op: op, PSN: roce.PSN(i), Bytes: 100, Flags: rc.AckRequest, Syndrome: roce.SyndromeACK, MSN: 7}, Message: 5000, VA: 1 << 40, RKey: 9, Marked: i == 1}
		if err := out.Packet(at, path, p); err != nil {
			t.Fatal(op, err)
		}
		opcodes = append(opcodes, op)
		at += units.Microsecond
	}
	v6 := &tap.Path{Src: roce.GIDFromMAC(tap.MAC(1, 0)), Dst: roce.GIDFromMAC(tap.MAC(2, 0)), DestQP: 0x101, SrcPort: 50001, VLAN: 100, Priority: 3}
	if err := out.CNP(at, v6); err != nil {
		t.Fatal(err)
	}
	opcodes = append(opcodes, roce.CNP)
	if err := out.PFC(at, tap.MAC(9, 1), roce.PFC{Enable: 8, Quanta: [8]uint16{3: 65535}}); err != nil {
		t.Fatal(err)
	}
	if err := out.Pause(at, tap.MAC(9, 1), roce.Pause{Quanta: 500}); err != nil {
		t.Fatal(err)
	}
	if err := out.Packet(at, path, &tap.Packet{Packet: rc.Packet{Op: roce.RCSendOnly, Bytes: 65500}}); err != roce.ErrPayload {
		t.Errorf("a packet beyond the length fields: %v", err)
	}
	return opcodes
}

func TestOwnAnalyser(t *testing.T) {
	for _, snap := range []int{0, 100} {
		var b bytes.Buffer
		opcodes := write(t, &b, tap.Options{SnapLen: snap, Start: 1700000000e9})
		a := capture.New(capture.Options{})
		if err := a.Read(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		r := a.Report()
		if len(r.Opcodes) != len(opcodes) || r.RoCEPackets != uint64(len(opcodes)) || r.CNPs != 1 || r.PFCFrames != 1 || r.PauseFrames != 1 || r.VLANPackets != 1 || r.ECN.CE != 1 || r.Malformed != 0 {
			t.Errorf("snap %d: %+v", snap, r)
		}
		if r.ICRC.Wrong != 0 || snap == 0 && r.ICRC.Unchecked != 0 {
			t.Errorf("snap %d: ICRC %+v", snap, r.ICRC)
		}
	}
}

// tshark, where it is installed, must read the same: opcodes, queue pairs, PSNs.
func TestTshark(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	name := filepath.Join(t.TempDir(), "out.pcap")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	opcodes := write(t, f, tap.Options{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tshark, "-r", name, "-T", "fields", "-e", "infiniband.bth.opcode", "-e", "infiniband.bth.destqp", "-e", "ip.checksum.status", "-e", "macc.opcode",
		"-o", "ip.check_checksum:TRUE")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Skip("tshark does not run here: ", err, stderr.String())
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	var got []roce.Opcode
	for i, line := range lines {
		fields := strings.Split(line, "\t")
		if fields[0] == "" {
			if want := []string{"0x0101", "0x0001"}[i-len(opcodes)]; fields[3] != want {
				t.Errorf("frame %d: MAC control opcode %s, want %s", i+1, fields[3], want)
			}
			continue
		}
		op := 0
		for _, c := range fields[0] {
			op = op*10 + int(c-'0')
		}
		got = append(got, roce.Opcode(op))
		if op != int(roce.CNP) && (fields[1] != "0x000202" || fields[2] != "1") {
			t.Errorf("frame %d: %q", i+1, fields)
		}
	}
	if d := cmp.Diff(opcodes, got); d != "" {
		t.Error(d)
	}
}

func BenchmarkPacket(b *testing.B) {
	out, err := tap.NewWriter(io.Discard, tap.Options{SnapLen: 128})
	if err != nil {
		b.Fatal(err)
	}
	path, p := path4(), &tap.Packet{Packet: rc.Packet{Op: roce.RCWriteMiddle, Bytes: 4096}}
	b.ReportAllocs()
	for b.Loop() {
		if err := out.Packet(0, path, p); err != nil {
			b.Fatal(err)
		}
	}
}
