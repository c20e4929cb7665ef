package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/wire/tap"
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// writeTrace makes a capture of one queue pair pair: sixty writes, of which one is
// sent again after a timeout if loss is set.
func writeTrace(t *testing.T, w io.Writer, loss bool) {
	t.Helper()
	out, err := tap.NewWriter(w, tap.Options{Start: 1700000000e9})
	if err != nil {
		t.Fatal(err)
	}
	a, b := roce.GIDFromIPv4([4]byte{192, 0, 2, 1}), roce.GIDFromIPv4([4]byte{192, 0, 2, 2})
	to := &tap.Path{Src: a, Dst: b, DestQP: 0x200, SrcPort: 50000, TrafficClass: 26<<2 | 2}
	back := &tap.Path{Src: b, Dst: a, DestQP: 0x100, SrcPort: 50001, TrafficClass: 26<<2 | 2}
	at := units.Time(0)
	for psn := range roce.PSN(60) {
		p := &tap.Packet{Packet: rc.Packet{Op: roce.RCWriteOnly, PSN: psn, Bytes: 512, Flags: rc.AckRequest}}
		send := func() {
			if err := out.Packet(at, to, p); err != nil {
				t.Fatal(err)
			}
		}
		send()
		if loss && psn == 30 {
			at += 70 * units.Millisecond
			send()
		}
		at += 5 * units.Microsecond
		if err := out.Packet(at, back, &tap.Packet{Packet: rc.Packet{Op: roce.RCAcknowledge, PSN: psn, Syndrome: roce.SyndromeACK}}); err != nil {
			t.Fatal(err)
		}
		at += 5 * units.Microsecond
	}
}

func TestPcap(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		full := filepath.Join(dir, name)
		if err := os.WriteFile(full, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return full
	}
	var good, lossy bytes.Buffer
	writeTrace(t, &good, false)
	writeTrace(t, &lossy, true)
	goodFile, lossFile := file("good.pcap", good.Bytes()), file("loss.pcap", lossy.Bytes())
	cutFile := file("cut.pcap", good.Bytes()[:5000])
	text := file("note.txt", []byte("not a capture"))
	for _, c := range []struct {
		name   string
		args   string
		stdin  []byte
		status int
		out    string // found in standard output
		err    string // the whole of standard error, after "weir: "
	}{
		{"healthy", goodFile, nil, ExitOK, "No finding.", ""},
		{"standard input", "-", good.Bytes(), ExitOK, "120 RoCEv2 packets", ""},
		{"a timeout", lossFile, nil, ExitFinding, "error: path-loss at 192.0.2.1 to 192.0.2.2, queue pair 0x000200", ""},
		{"cut", cutFile, nil, ExitFinding, "The capture is cut at byte", ""},
		{"listing", "--packets --filter again " + lossFile, nil, ExitFinding, "62 0.070300000 192.0.2.1 > 192.0.2.2 RC_WRITE_ONLY qp 0x200 psn 30 bytes 512 va 0x0 rkey 0x0 length 512 ackreq dscp 26 ECT(0) sport 50000 [retransmission]\n", ""},
		{"following", "--follow 0x200 --filter op:x " + lossFile, nil, ExitRefused, "", `--filter:1:1: "op:x": host ADDR`},
		{"both ways", "--follow 0x200 " + lossFile, nil, ExitFinding, "RC_ACKNOWLEDGE qp 0x100", ""},
		{"again", "--filter again " + lossFile, nil, ExitRefused, "", `--filter: "again" in what is analysed: together with --packets`},
		{"no capture", text, nil, ExitRefused, "", text + ": byte 0: starts with 6e 6f 74 20, which is neither pcap"},
		{"no file", filepath.Join(dir, "none"), nil, ExitRefused, "", filepath.Join(dir, "none") + ": no such file or directory"},
		{"empty", "-", nil, ExitRefused, "", "standard input: byte 0: the file is empty"},
		{"nothing", "", nil, ExitRefused, "", "pcap: give a FILE"},
		{"two sources", "--interface lo " + goodFile, nil, ExitRefused, "", "pcap: give a FILE"},
		{"no interface", "--interface none0", nil, ExitEnvironment, "", "none0: "},
		{"format", "--format xml " + goodFile, nil, ExitRefused, "", "--format xml: text or json"},
		{"speed", "--speed fast " + goodFile, nil, ExitRefused, "", `--speed "fast": a rate such as 400Gbps`},
		{"cluster", "--cluster " + filepath.Join(dir, "none.yaml") + " " + goodFile, nil, ExitRefused, "", filepath.Join(dir, "none.yaml") + ": no such file or directory"},
		{"follow", "--follow 0 " + goodFile, nil, ExitRefused, "", "--follow 0: a queue pair number"},
	} {
		var stdout, stderr bytes.Buffer
		s := &Streams{In: bytes.NewReader(c.stdin), Out: &stdout, Err: &stderr, Now: time.Now}
		status := Run(context.Background(), s, append([]string{"pcap"}, strings.Fields(c.args)...))
		if status != c.status || !strings.Contains(stdout.String(), c.out) || c.err == "" && stderr.Len() > 0 || !strings.HasPrefix(stderr.String(), "weir: "+c.err) && c.err != "" {
			t.Errorf("%s: status %d, want %d\nstdout %.2000s\nstderr %s", c.name, status, c.status, &stdout, &stderr)
		}
		if strings.Count(stderr.String(), "\n") > 1 {
			t.Errorf("%s: more than one line of error: %s", c.name, &stderr)
		}
	}
}

// The keys that the JSON report has for sure.
func TestPcapJSON(t *testing.T) {
	var trace, stdout bytes.Buffer
	writeTrace(t, &trace, true)
	name := filepath.Join(t.TempDir(), "report.json")
	s := &Streams{In: &trace, Out: &stdout, Err: io.Discard, Now: time.Now}
	if status := Run(context.Background(), s, []string{"pcap", "--json", "-o", name, "-"}); status != ExitFinding || stdout.Len() > 0 {
		t.Errorf("status %d, stdout %s", status, &stdout)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"schema", "frames", "roce_packets", "rocev1_packets", "opcodes", "icrc", "ecn", "cnps", "pfc_frames", "queue_pairs", "findings"} {
		if _, ok := r[k]; !ok {
			t.Errorf("no key %q", k)
		}
	}
	for parent, keys := range map[string][]string{"icrc": {"valid", "wrong", "unchecked"}, "ecn": {"not_ect", "ect0", "ect1", "ce"}} {
		for _, k := range keys {
			if _, ok := r[parent].(map[string]any)[k]; !ok {
				t.Errorf("no key %s.%s", parent, k)
			}
		}
	}
	row := r["queue_pairs"].([]any)[0].(map[string]any)
	for k, want := range map[string]any{
		"src": "192.0.2.1", "dst": "192.0.2.2", "dest_qpn": 512., "kind": "request", "packets": 61., "distinct_psns": 60., "first_psn": 0.,
		"last_psn": 59., "retransmissions": 1., "duplicates": 0., "out_of_order": 0., "naks": 0., "rnr_naks": 0.,
	} {
		if row[k] != want {
			t.Errorf("%s is %v, want %v", k, row[k], want)
		}
	}
	if ports := row["udp_source_ports"].([]any); len(ports) != 1 || ports[0] != 50000. {
		t.Errorf("ports %v", ports)
	}
	if op := r["opcodes"].(map[string]any)["RC_WRITE_ONLY"]; op != 61. {
		t.Errorf("opcodes %v", r["opcodes"])
	}
}
