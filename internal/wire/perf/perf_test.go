//go:build linux

package perf

import (
	"context"
	"encoding/hex"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"weir/roce"
)

func listen(t *testing.T, addr string) (net.Listener, int) {
	t.Helper()
	l, err := net.Listen("tcp", addr+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, l.Addr().(*net.TCPAddr).Port
}

// TestClientAndServer runs each kind of test over loopback sockets.
func TestClientAndServer(t *testing.T) {
	l, port := listen(t, "127.84.0.1")
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- (&Server{Listener: l}).Serve(ctx) }()
	for _, tt := range []struct {
		name string
		spec Spec
	}{
		{"write", Spec{Op: Write, Size: 10_000, Iterations: 200, QPs: 2, Segmentation: true}},
		{"write, small path MTU", Spec{Op: Write, Size: 5000, Iterations: 100, QPs: 1, MTU: 256}},
		{"read", Spec{Op: Read, Size: 10_000, Iterations: 100, QPs: 2}},
		{"send", Spec{Op: Send, Size: 3000, Iterations: 500, QPs: 1}},
		{"send, both directions", Spec{Op: Send, Size: 3000, Iterations: 300, QPs: 1, Both: true}},
		{"atomic", Spec{Op: Atomic, Size: 8, Iterations: 300, QPs: 1}},
		{"write for a time", Spec{Op: Write, Size: 4096, Duration: 50 * time.Millisecond, QPs: 1}},
		{"write latency", Spec{Op: Write, Size: 8, Iterations: 50, QPs: 1, Latency: true}},
		{"send latency", Spec{Op: Send, Size: 8, Iterations: 50, QPs: 1, Latency: true}},
		{"read latency", Spec{Op: Read, Size: 8, Iterations: 50, QPs: 1, Latency: true}},
		{"TCP", Spec{Op: Write, Transport: TCP, Size: 10_000, Iterations: 300, QPs: 2}},
		{"TCP, both directions", Spec{Op: Write, Transport: TCP, Size: 10_000, Iterations: 300, QPs: 1, Both: true}},
		{"TCP latency", Spec{Op: Write, Transport: TCP, Size: 64, Iterations: 50, QPs: 1, Latency: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.spec.Transport == "" {
				tt.spec.Transport = RoCEv2
			}
			c := Client{Host: "127.84.0.1", Port: port, Spec: tt.spec}
			within, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			r, err := c.Run(within)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.spec.Iterations * tt.spec.QPs
			if tt.spec.Both {
				want *= 2
			}
			if tt.spec.Duration == 0 && (r.Iterations != want || r.Bytes != int64(want*tt.spec.Size)) || r.Iterations == 0 {
				t.Errorf("%d messages, %d bytes, want %d", r.Iterations, r.Bytes, want)
			}
			if tt.spec.Latency != (r.Latency != nil) || r.BytesPerSecond <= 0 || len(r.Costs) != 2 {
				t.Errorf("%+v", r)
			}
			var b strings.Builder
			if err := r.Text(&b); err != nil || !strings.Contains(b.String(), "#bytes") {
				t.Errorf("%v\n%s", err, b.String())
			}
		})
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestPerftestBothRoles holds the two roles of the handshake against each other;
// the interop test holds each against the real tools.
func TestPerftestBothRoles(t *testing.T) {
	for _, spec := range []Spec{
		{Op: Write, Transport: RoCEv2, Size: 65536, Iterations: 20, QPs: 2},
		{Op: Read, Transport: RoCEv2, Size: 5000, Iterations: 20, QPs: 1},
		{Op: Send, Transport: RoCEv2, Size: 5000, Iterations: 400, QPs: 1},
		{Op: Write, Transport: RoCEv2, Size: 8, Iterations: 300, QPs: 1, Latency: true},
		{Op: Send, Transport: RoCEv2, Size: 8, Iterations: 20, QPs: 1, Latency: true},
		{Op: Read, Transport: RoCEv2, Size: 8, Iterations: 20, QPs: 1, Latency: true},
	} {
		l, port := listen(t, "127.84.1.1")
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		served := make(chan error, 1)
		go func() {
			_, err := ServePerftest(ctx, l, spec)
			served <- err
		}()
		r, err := (&Client{Host: "127.84.1.1", Port: port, Spec: spec}).RunPerftest(ctx)
		if err != nil {
			t.Fatalf("%+v: %v", spec, err)
		}
		if r.Iterations != spec.Iterations*spec.QPs {
			t.Errorf("%+v: %d messages", spec, r.Iterations)
		}
		if err := <-served; err != nil {
			t.Errorf("%+v: server: %v", spec, err)
		}
		cancel()
	}
}

// TestKeyMessage reads a message of perftest 4.5 between two hosts with rdma_rxe.
func TestKeyMessage(t *testing.T) {
	const text = "0000:0001:00001a:efcc10:00000bca:0000558ea9a69000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:0c:00000000:"
	b := make([]byte, keyLen)
	copy(b, text)
	k, err := decodeKey(b)
	if err != nil {
		t.Fatal(err)
	}
	want := perftestKey{Reads: 1, QPN: 0x1a, PSN: 0xefcc10, RKey: 0xbca, Addr: 0x558ea9a69000, GID: roce.GIDFromIPv4([4]byte{10, 77, 0, 12})}
	if k != want {
		t.Errorf("%+v", k)
	}
	if string(k.encode()) != string(b) {
		t.Errorf("written as %q", k.encode())
	}
	for _, bad := range []string{"", "0000:0001", strings.Replace(text, "efcc10", "1efcc10", 1), strings.Replace(text, "ff:ff", "ff:fg", 1)} {
		copy(b, bad+"\x00")
		if _, err := decodeKey(b); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// FuzzKeyMessage: any bytes give a key or an error, and a key reads itself.
func FuzzKeyMessage(f *testing.F) {
	f.Add("0000:0001:00001a:efcc10:00000bca:0000558ea9a69000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:0c:00000000:")
	f.Add(hex.EncodeToString(make([]byte, 54)))
	f.Fuzz(func(t *testing.T, s string) {
		k, err := decodeKey([]byte(s))
		if err != nil {
			return
		}
		if again, err := decodeKey(k.encode()); err != nil || again != k {
			t.Errorf("%+v reads back as %+v, %v", k, again, err)
		}
	})
}

// TestSummary: the distribution of 1 to 1000 us.
func TestSummary(t *testing.T) {
	var d []time.Duration
	for i := 1000; i >= 1; i-- {
		d = append(d, time.Duration(i)*time.Microsecond)
	}
	l := summarize(d)
	// Closed form: standard deviation of 1..n is sqrt((n^2-1)/12).
	want := Latency{Min: 1, Max: 1000, Typical: 500, Average: 500.5, Stdev: math.Sqrt((1e6 - 1) / 12), P99: 990, P999: 999}
	if math.Abs(l.Stdev-want.Stdev) > 1e-6 {
		t.Errorf("standard deviation %v, want %v", l.Stdev, want.Stdev)
	}
	l.Stdev = want.Stdev
	if *l != want {
		t.Errorf("%+v, want %+v", *l, want)
	}
	if summarize(nil) != nil {
		t.Error("a distribution of nothing")
	}
}
