package evidence

import (
	"context"
	"io"
	"os"
	"runtime"
	"testing"
)

// watched samples the memory of the process while it is read.
type watched struct {
	lines
	read, next int64
	peak       uint64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.lines.Read(p)
	w.read += int64(n)
	if w.read >= w.next {
		w.next = w.read + 4<<20
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.peak = max(w.peak, m.Sys-m.HeapReleased)
	}
	return n, err
}

// A log is streamed: memory stays below 256 MB whatever its length. The long
// form reads 1 GB.
func TestLongLogNeedsLittleMemory(t *testing.T) {
	size := int64(8 << 20)
	if os.Getenv("WEIR_LONG") != "" {
		size = 1 << 30
	}
	for name, make := range map[string]func(i int) string{
		"log": jobLog,
		"counters": func(i int) string { // more facts than a source may have
			return "     rx_prio3_bytes: 123456789012\n"
		},
		"one line": func(i int) string {
			if i == 0 {
				return "{"
			}
			return `"a": [1, 2, 3], "b": "ccccccccccccccccccccccccccccccccccccc", `
		},
	} {
		w := &watched{lines: lines{make: make, total: size}}
		r, err := Read(context.Background(), Parsers(), Input{Name: name, Open: func() (io.ReadCloser, error) { return w, nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d MB read, peak %d MB, %d facts, %d lines not understood", name, w.read>>20, w.peak>>20, len(r.Facts), r.Sources[0].NotUnderstood)
		if w.peak > 256<<20 {
			t.Errorf("%s: %d MB of memory for %d MB of text", name, w.peak>>20, w.read>>20)
		}
		runtime.GC()
	}
}
