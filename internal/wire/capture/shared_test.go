package capture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rxe is where the recorded captures are, beside the repository.
const rxe = "../../../../shared/captures/rxe"

// expected is what the README of the captures says of one.
type expected struct {
	Name    string
	Frames  uint64
	RoCE    uint64
	Opcodes map[string]uint64
	ICRC    ICRCCounts
	ECN     ECNCounts
	DSCP    map[uint8]uint64
	ACKs    map[string]uint64
	Pairs   []expectedPair
}

type expectedPair struct {
	Src, Dst    string
	QPN         uint32
	Kind        string
	Packets     uint64
	Distinct    uint64
	First, Last uint32
	Ports       string
}

var pairLine = regexp.MustCompile(`^- (\S+) to (\S+), destination QPN 0x([0-9a-f]+): (\d+) (requests|responses|congestion notices), (\d+) distinct PSNs, first (\d+), last (\d+)(?:; UDP source ports? (.*))?$`)

// readme parses the README of the captures.
func readme(t *testing.T) []*expected {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rxe, "README.md"))
	if err != nil {
		t.Skip("the recorded captures are not here: ", err)
	}
	var all []*expected
	var e *expected
	num := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// counts parses "NAME n, NAME n".
	counts := func(s string, sep string) map[string]uint64 {
		m := map[string]uint64{}
		for _, part := range strings.Split(s, ", ") {
			if part = strings.TrimSpace(part); part != "" {
				i := strings.LastIndex(part, sep)
				m[part[:i]] = num(part[i+len(sep):])
			}
		}
		return m
	}
	for _, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "### "); ok {
			e = &expected{Name: name, DSCP: map[uint8]uint64{}}
			all = append(all, e)
			continue
		}
		key, rest, _ := strings.Cut(line, ":")
		switch key {
		case "- frames":
			_, err := fmt.Sscanf(line, "- frames: %d, RoCEv2: %d", &e.Frames, &e.RoCE)
			if err != nil {
				t.Fatal(err)
			}
		case "- opcodes":
			e.Opcodes = counts(rest, " ")
		case "- AETH":
			e.ACKs = counts(rest, ": ")
		case "- ICRC":
			c := counts(rest, " ")
			e.ICRC = ICRCCounts{c["valid"], c["wrong"], c["not in the capture"]}
		case "- IP":
			for k, n := range counts(rest, ": ") {
				var dscp uint8
				var ecn string
				if _, err := fmt.Sscanf(k, "DSCP %d %s", &dscp, &ecn); err != nil {
					t.Fatal(err)
				}
				e.DSCP[dscp] += n
				switch ecn {
				case "not-ECT":
					e.ECN.NotECT += n
				case "ECT(0)":
					e.ECN.ECT0 += n
				case "ECT(1)":
					e.ECN.ECT1 += n
				case "CE":
					e.ECN.CE += n
				}
			}
		}
		if m := pairLine.FindStringSubmatch(line); m != nil {
			qpn, _ := strconv.ParseUint(m[3], 16, 32)
			kind := map[string]string{"requests": "request", "responses": "response", "congestion notices": "cnp"}[m[5]]
			e.Pairs = append(e.Pairs, expectedPair{m[1], m[2], uint32(qpn), kind, num(m[4]), num(m[6]), uint32(num(m[7])), uint32(num(m[8])), m[9]})
		}
	}
	if len(all) < 50 {
		t.Fatalf("the README lists %d captures", len(all))
	}
	return all
}

// analyse reads one of the recorded captures.
func analyse(t testing.TB, name string, o Options) *Report {
	t.Helper()
	f, err := os.Open(filepath.Join(rxe, name))
	if err != nil {
		t.Skip("the recorded captures are not here: ", err)
	}
	defer f.Close()
	a := New(o)
	if err := a.Read(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	return a.Report()
}

// Every count of the captures' README.
func TestRecordedCounts(t *testing.T) {
	for _, e := range readme(t) {
		t.Run(e.Name, func(t *testing.T) {
			r := analyse(t, e.Name, Options{})
			got := expected{
				Name: e.Name, Frames: r.Frames, RoCE: r.RoCEPackets, Opcodes: r.Opcodes, ICRC: r.ICRC, ECN: r.ECN,
				DSCP: map[uint8]uint64{}, ACKs: e.ACKs,
			}
			for _, q := range r.QueuePairs {
				ports := strings.Trim(fmt.Sprint(q.SourcePorts), "[]")
				got.Pairs = append(got.Pairs, expectedPair{q.Src, q.Dst, q.DestQPN, q.Kind, q.Packets, q.DistinctPSNs, q.FirstPSN, q.LastPSN, ports})
				for _, d := range q.DSCP {
					got.DSCP[d.DSCP] += d.Packets
				}
				if !q.PSNsExact {
					t.Errorf("PSNs of %+v are not exact", q)
				}
			}
			less := func(a, b expectedPair) bool { return fmt.Sprint(a) < fmt.Sprint(b) }
			sortPairs := cmp.Transformer("sorted", func(p []expectedPair) []expectedPair {
				p = append([]expectedPair{}, p...)
				for i := range p {
					for k := i; k > 0 && less(p[k], p[k-1]); k-- {
						p[k], p[k-1] = p[k-1], p[k]
					}
				}
				return p
			})
			opt := cmp.FilterValues(func(a, b []expectedPair) bool { return !isSorted(a, less) || !isSorted(b, less) }, sortPairs)
			if d := cmp.Diff(*e, got, opt); d != "" {
				t.Error(d)
			}
			naks, rnrs := uint64(0), uint64(0)
			for _, q := range r.QueuePairs {
				naks, rnrs = naks+q.NAKs, rnrs+q.RNRNAKs
			}
			var wantNAKs, wantRNRs uint64
			for k, n := range e.ACKs {
				switch {
				case strings.HasPrefix(k, "RNR"):
					wantRNRs += n
				case strings.HasPrefix(k, "NAK"):
					wantNAKs += n
				}
			}
			if naks != wantNAKs || rnrs != wantRNRs {
				t.Errorf("%d NAKs, %d RNR NAKs; want %d, %d", naks, rnrs, wantNAKs, wantRNRs)
			}
		})
	}
}

func isSorted(p []expectedPair, less func(a, b expectedPair) bool) bool {
	for i := 1; i < len(p); i++ {
		if less(p[i], p[i-1]) {
			return false
		}
	}
	return true
}

// TestRecordedFindings: what happened in each capture, by the words of the
// README, and nothing else.
func TestRecordedFindings(t *testing.T) {
	want := map[string]string{
		"bad-icrc.pcap":                     "link-errors",
		"ce-marked.pcap":                    "congestion-control-off",
		"cm-reject.pcap":                    "unknown: nobody listens",
		"dup-mixed.pcap":                    "unknown: 7 packets twice",
		"loss-ack.pcap":                     "path-loss",
		"loss-read.pcap":                    "path-loss",
		"loss-send.pcap":                    "path-loss",
		"loss-write.pcap":                   "path-loss",
		"nak-bad-rkey-atomic.pcap":          "software-defect: NAK remote access error",
		"nak-bad-rkey-read.pcap":            "software-defect: NAK remote access error",
		"nak-bad-rkey-write.pcap":           "software-defect: NAK remote access error",
		"nak-oob-write.pcap":                "software-defect: NAK remote access error",
		"nak-small-recv.pcap":               "software-defect: NAK remote operational error",
		"psn-ahead.pcap":                    "software-defect: do not agree on the packet sequence number",
		"psn-error.pcap":                    "software-defect: do not agree on the packet sequence number",
		"rc-pads-cut.pcap":                  "unknown: cut at byte 2274",
		"rc-write-3840pkts-snap96.pcap":     "slow-node: 129 packets sent again",
		"reorder-write.pcap":                "reordering: 1 packet overtaken",
		"rnr-exhausted.pcap":                "receiver-not-ready: gave up",
		"rnr-nak.pcap":                      "receiver-not-ready: 10 RNR NAKs",
		"synthetic-pfc.pcap":                "pfc-storm: Class 3, global-pause-throttle: 1 pause frame",
		"timeout-retry-exceeded.pcap":       "path-unreachable: 3 times",
		"../public/scapy-roce-vectors.pcap": "",
	}
	names, err := os.ReadDir(rxe)
	if err != nil {
		t.Skip("the recorded captures are not here: ", err)
	}
	for _, n := range names {
		if name := n.Name(); name != "README.md" {
			want[name] += ""
		}
	}
	for name, text := range want {
		r := analyse(t, name, Options{})
		var expect []string
		if text != "" {
			expect = strings.Split(text, ", ")
		}
		if len(r.Findings) != len(expect) {
			t.Errorf("%s: %d findings, want %q: %+v", name, len(r.Findings), text, r.Findings)
			continue
		}
		for i, e := range expect {
			id, words, _ := strings.Cut(e, ": ")
			f := r.Findings[i]
			if f.Cause != id || !strings.Contains(f.Summary, words) {
				t.Errorf("%s: finding %s, %q; want %q", name, f.Cause, f.Summary, e)
			}
			if len(f.Evidence) == 0 || f.Where == "" || f.Confidence == 0 {
				t.Errorf("%s: incomplete finding %+v", name, f)
			}
		}
	}
}

// What the perftest and verbs runs transferred, by the README: the payload that
// arrives is exact however often it was sent. Rounds are how often the PSN of the
// requests goes down in the file.
func TestRecordedBytes(t *testing.T) {
	for _, c := range []struct {
		name            string
		sent, read, mtu uint64
		retransmissions uint64
		duplicates, ooo uint64
		rounds, singles uint64
		messages        uint64
	}{
		{name: "rc-write.pcap", sent: 5 * 4096, mtu: 1024, messages: 5},
		{name: "rc-read.pcap", read: 5 * 4096, mtu: 1024, messages: 5},
		{name: "rc-write-mtu4096.pcap", sent: 5 * 20000, mtu: 4096, messages: 5},
		{name: "rc-write-mtu256.pcap", sent: 5 * 1000, mtu: 256, messages: 5},
		{name: "loss-write.pcap", sent: 82000, mtu: 1024, messages: 3, retransmissions: 303, rounds: 10},
		{name: "loss-send.pcap", sent: 60000, mtu: 1024, messages: 3, retransmissions: 178, rounds: 8},
		{name: "loss-read.pcap", read: 60000, mtu: 1024, messages: 2, retransmissions: 11, rounds: 4, singles: 3},
		{name: "bad-icrc.pcap", sent: 42000, mtu: 1024, messages: 2, retransmissions: 373, rounds: 20},
		{name: "dup-mixed.pcap", sent: 11000, read: 3000, mtu: 1024, messages: 5, duplicates: 7},
		{name: "reorder-write.pcap", sent: 40000, mtu: 1024, messages: 2, retransmissions: 2, ooo: 1, rounds: 1},
		{name: "rc-write-3840pkts-snap96.pcap", sent: 60 * 65536, mtu: 1024, messages: 60, retransmissions: 129, rounds: 1},
		{name: "rnr-nak.pcap", sent: 3000, mtu: 1024, messages: 1, retransmissions: 30, rounds: 10},
		{name: "timeout-retry-exceeded.pcap", sent: 3100, mtu: 1024, messages: 2, retransmissions: 9, rounds: 3},
		{name: "uc-mixed.pcap", sent: 8600, mtu: 1024, messages: 4},
	} {
		r := analyse(t, c.name, Options{})
		if len(r.Connections) != 1 {
			t.Errorf("%s: %d connections", c.name, len(r.Connections))
			continue
		}
		o := r.Connections[0]
		got := []uint64{o.SentBytes, o.ReadBytes, uint64(o.PathMTU), o.Messages, o.Retransmissions, o.Duplicates, o.OutOfOrder, o.GoBackN, o.Single}
		want := []uint64{c.sent, c.read, c.mtu, c.messages, c.retransmissions, c.duplicates, c.ooo, c.rounds, c.singles}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
