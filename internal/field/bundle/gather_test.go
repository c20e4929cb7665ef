package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"weir/internal/field/evidence"
	"weir/internal/field/remote"
)

// fake answers for hosts and switches.
type fake struct {
	mu   sync.Mutex
	asks []string
}

func (f *fake) Run(_ context.Context, host, command string, _ time.Duration) (remote.Result, error) {
	f.mu.Lock()
	f.asks = append(f.asks, host+": "+strings.SplitN(command, "\n", 2)[0])
	n := 0
	for _, a := range f.asks {
		if strings.HasPrefix(a, host+": ") {
			n++
		}
	}
	f.mu.Unlock()
	out := func(s string) (remote.Result, error) { return remote.Result{Stdout: []byte(s), Took: time.Second}, nil }
	switch {
	case host == "host-1":
		return remote.Result{}, fmt.Errorf("%w: no route", remote.ErrUnreachable)
	case host == "leaf-0" && command == "show running-config":
		return out("hostname leaf-0\nsnmp-server community s3cr3t-word ro\nqueue-monitor length\n")
	case host == "leaf-0" && strings.HasPrefix(command, "show priority-flow-control"):
		return remote.Result{Stdout: []byte("half a tab")}, remote.ErrHung
	case host == "leaf-0":
		return out("x\n")
	case strings.HasPrefix(command, "date"):
		return out("1000000000.500000000\n")
	case strings.Contains(command, "ethtool -S {n}"):
		return out(fmt.Sprintf("root@host-0:~# ethtool -S eth2\nNIC statistics:\n     rx_prio3_pause: %d\n     rx_discards_phy: 0\n\n", 100*n))
	}
	return out("root@host-0:~# ulimit -l\n65536\n\nroot@host-0:~# env | grep NCCL\nNCCL_IB_TC=106\n")
}

func unpack(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(text)
	}
}

func TestGather(t *testing.T) {
	f := &fake{}
	var b bytes.Buffer
	start := time.Unix(1_000_000_000, 0)
	slept := time.Duration(0)
	m, err := Gather(t.Context(), Options{
		Cluster: "c", Hosts: []string{"host-0", "host-1"}, Switches: []Switch{{"leaf-0", "eos"}, {"leaf-1", "unheard-of"}},
		Runner: f, Console: f, Interval: 10 * time.Second, Now: func() time.Time { return start },
		Sleep: func(_ context.Context, d time.Duration) { slept = d },
	}, &b)
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, b.Bytes())
	for _, name := range []string{"manifest.json", "before/host-0.txt", "state/host-0.txt", "after/host-0.txt", "switches/leaf-0.txt"} {
		if files[name] == "" {
			t.Errorf("no %s", name)
		}
	}
	if len(files) != 5 || slept != 10*time.Second {
		t.Errorf("%d files, slept %v", len(files), slept)
	}
	for i, want := range []string{"", "no route", "", `no commands are known for switch.os "unheard-of"`} {
		if got := m.Sources[i].Error; want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", m.Sources[i].Name, got)
		}
	}
	if o := m.Sources[0].ClockOffset; o == nil || *o != 0.5 {
		t.Errorf("clock offset %v", o)
	}
	if f := m.Sources[2].Files[0]; !strings.Contains(f.Error, "show priority-flow-control: ended at its time limit") {
		t.Errorf("a command that hung: %+v", f)
	}
	for name, text := range files {
		if strings.Contains(text, "s3cr3t-word") {
			t.Errorf("%s has a secret", name)
		}
	}
	// What is written is read: two readings of one counter, and the settings.
	report, err := evidence.Read(t.Context(), evidence.Parsers(), evidence.Input{Name: "b.tar.zst", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, x := range report.Facts {
		seen[x.Subject.Host+" "+x.Key+"="+x.Value.String()]++
	}
	for _, want := range []string{"host-0 counter.rx_prio3_pause=100", "host-0 counter.rx_prio3_pause=400", "host-0 nccl.env.NCCL_IB_TC=106"} {
		if seen[want] != 1 {
			t.Errorf("%s: %d times in %v", want, seen[want], seen)
		}
	}
}

// TestScript: the script is one that sh takes, runs what is there and leaves
// out what is not.
func TestScript(t *testing.T) {
	s := Script("host-0", append([]Command{{`echo "it's $HOME" | tr a-z A-Z`, "", AnyUser, ""}, {`no-such-program-here -x`, "", AnyUser, ""}}, State...))
	if out, err := exec.Command("sh", "-n", "-c", s).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := exec.Command("sh", "-c", Script("host-0", []Command{{`echo "it's $HOME" | tr a-z A-Z`, "", AnyUser, ""}, {`no-such-program-here -x`, "", AnyUser, ""}, {"false", "", AnyUser, ""}}))
	c.Env = []string{"HOME=/home/me", "PATH=/usr/bin:/bin"}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	if !strings.Contains(text, "@host-0:~# echo \"it's $HOME\" | tr a-z A-Z\nIT'S /HOME/ME\n") || strings.Contains(text, "no-such-program") || !strings.Contains(text, "# false\n") {
		t.Errorf("%s", text)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b bytes.Buffer
	if _, err := Gather(ctx, Options{Hosts: []string{"a"}, Runner: &fake{}, Now: time.Now}, &b); err != nil {
		t.Fatal(err)
	}
	if files := unpack(t, b.Bytes()); files["manifest.json"] == "" {
		t.Error("no manifest")
	}
}
