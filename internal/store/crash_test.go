package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WEIR_TEST_APPEND"); dir != "" {
		if err := appendForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// appendForever appends batches of 100 series to the store in dir and prints
// the time of each batch once it is acknowledged.
func appendForever(dir string) error {
	l, err := Open(dir, Options{SyncEvery: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	var series []*Series
	for i := range 100 {
		series = append(series, NewSeries("rdma_np_cnp_sent_total", "instance", "host-"+strconv.Itoa(i)))
	}
	batch := make([]Point, len(series))
	for last := int64(0); ; {
		now := time.Now().UnixMilli()
		if now == last {
			continue
		}
		last = now
		for i, s := range series {
			batch[i] = Point{s, now, float64(now)}
		}
		refused, err := l.Append(context.Background(), batch)
		if err != nil || refused.Total() > 0 {
			return fmt.Errorf("refused %+v, %v", refused, err)
		}
		fmt.Println(now)
	}
}

// The process is killed at random moments, again and again on one directory.
// Every batch that it said was acknowledged is there afterwards, and the store
// opens by itself.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	rounds := 3
	if os.Getenv("WEIR_LONG") != "" {
		rounds = 60
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	var acknowledged []int64
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WEIR_TEST_APPEND="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The clock starts with the first acknowledgement: before it the
		// process may still be reading the log.
		wait, killed := time.Duration(rng.IntN(200))*time.Millisecond, make(chan struct{})
		first := true
		for s := bufio.NewScanner(out); s.Scan(); {
			if first {
				first = false
				go func() { time.Sleep(wait); cmd.Process.Kill(); close(killed) }()
			}
			// A line that the kill cut off says nothing.
			if n, err := strconv.ParseInt(s.Text(), 10, 64); err == nil && len(s.Text()) == 13 {
				acknowledged = append(acknowledged, n)
			}
		}
		if first {
			t.Fatalf("round %d: the store did not open", round)
		}
		<-killed
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from := time.UnixMilli(acknowledged[0] - 1)
	curves, err := l.Samples(context.Background(), "rdma_np_cnp_sent_total", from, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(curves) != 100 {
		t.Fatalf("%d series, want 100", len(curves))
	}
	for _, c := range curves {
		stored := map[int64]bool{}
		for i, at := range c.Times {
			stored[at] = c.Values[i] == float64(at)
		}
		for _, at := range acknowledged {
			if !stored[at] {
				t.Fatalf("%v: the batch of %d was acknowledged and is not there", c.Labels, at)
			}
		}
	}
	t.Logf("%d rounds, %d acknowledged batches", rounds, len(acknowledged))
}

// A log whose end is damaged, as by a power failure, is cut off there; what
// came before is there and the store takes samples again.
func TestDamagedLogIsRepaired(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSeries("x")
	now := time.Now()
	for i := range 100 {
		appendAll(t, l, Point{s, now.Add(time.Duration(i-200) * time.Second).UnixMilli(), float64(i)})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	segment := dir + "/wal/00000000"
	text, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	written := len(bytes.TrimRight(text, "\x00")) // a page is filled up with zeros
	if err := os.Truncate(segment, int64(written*3/5)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(segment, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("this is not a record of the log")
	f.Close()
	if l, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := l.Query(context.Background(), "count_over_time(x[10m])", now)
	if err != nil || len(got) != 1 || got[0].Value < 10 || got[0].Value > 90 {
		t.Errorf("%v, %v: some, not all, of 100 samples", got, err)
	}
	appendAll(t, l, Point{NewSeries("x"), now.UnixMilli(), 1})
}
