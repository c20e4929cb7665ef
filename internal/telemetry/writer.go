package telemetry

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	fastgzip "github.com/klauspost/compress/gzip"

	"weir/units"
)

// WriterOptions bound a record.
type WriterOptions struct {
	// BlockBytes is how much text goes in one block; 0: 4 MiB.
	BlockBytes int
	// MaxBytes bounds the compressed size of all blocks together; 0: 1 GiB.
	// Each time that half of what is left is used up, the writer takes every
	// fourth instant only from then on. So each half lasts twice as long as
	// the one before, and a long run becomes coarser instead of stopping short. Only when not even one block fits any more does the
	// record end.
	MaxBytes int64
}

// A Writer streams the readings of a registry's series into a record. Use:
// Begin(at), Set for each series, End, and so on; Close at the end. What was
// in finished blocks survives any interruption. The registry must not grow
// after Create. A Writer is not safe for concurrent use.
type Writer struct {
	root     *os.Root
	header   Header
	registry *Registry
	opt      WriterOptions

	values []uint64 // last written
	known  []bool   // values[i] holds
	text   []byte   // of the open block
	head   []byte   // "TIME," of the instant

	at       units.Time
	open     bool
	instants uint64
	stride   uint64 // every how many instants are taken
	skip     bool
	blocks   int
	written  int64
	left     int64 // budget until the next thinning
	full     bool
	end      units.Time // last instant on disk
	packed   bytes.Buffer
	err      error
}

// Create begins a record in an empty directory.
func Create(root *os.Root, h Header, r *Registry, opt WriterOptions) (*Writer, error) {
	if opt.BlockBytes <= 0 {
		opt.BlockBytes = 4 << 20
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = 1 << 30
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == seriesFile || blockPattern.MatchString(e.Name()) {
			return nil, fmt.Errorf("%s holds a record already (%s): give an empty directory", root.Name(), e.Name())
		}
	}
	w := &Writer{root: root, header: h, registry: r, opt: opt, values: make([]uint64, r.Len()), known: make([]bool, r.Len()), stride: 1, left: opt.MaxBytes / 2}
	w.text = append(w.text, blockHeader...)
	return w, w.manifest(false)
}

// Begin starts an instant. Instants must be in order of time.
func (w *Writer) Begin(at units.Time) {
	switch {
	case w.err != nil:
		return
	case w.open:
		w.err = errors.New("record: Begin without End")
		return
	case w.instants > 0 && at <= w.at:
		w.err = fmt.Errorf("record: %v after %v", at, w.at)
		return
	}
	w.open = true
	w.skip = w.full || w.instants%w.stride != 0
	w.instants++
	w.at = at
	if w.skip {
		return
	}
	w.head = append(strconv.AppendInt(w.head[:0], int64(at), 10), ',')
	w.text = append(append(w.text, w.head...), ",\n"...)
}

// Set gives the reading of a series at the instant. A value that is the last
// one again costs nothing.
func (w *Writer) Set(series uint32, value uint64) {
	if !w.open || w.skip || int(series) >= len(w.values) {
		if int(series) >= len(w.values) && w.err == nil {
			w.err = fmt.Errorf("record: no series %d", series)
		}
		return
	}
	if w.known[series] && w.values[series] == value {
		return
	}
	w.values[series], w.known[series] = value, true
	w.text = append(w.text, w.head...)
	w.text = strconv.AppendUint(w.text, uint64(series), 10)
	w.text = append(w.text, ',')
	w.text = append(strconv.AppendUint(w.text, value, 10), '\n')
}

// Missing says that a series could not be read at the instant: a gap.
func (w *Writer) Missing(series uint32) {
	if !w.open || w.skip || int(series) >= len(w.values) || !w.known[series] {
		return
	}
	w.known[series] = false
	w.text = append(w.text, w.head...)
	w.text = append(strconv.AppendUint(w.text, uint64(series), 10), ",\n"...)
}

// End ends the instant and writes the block out when it is full.
func (w *Writer) End() error {
	w.open = false
	if w.err == nil && len(w.text) >= w.opt.BlockBytes {
		w.err = w.flush()
	}
	return w.err
}

// flush writes the open block: to a file of its own that gets its name when
// all of it is on disk.
func (w *Writer) flush() error {
	if len(w.text) <= len(blockHeader) {
		return nil
	}
	if w.blocks >= maxBlocks {
		return fmt.Errorf("record: more than %d blocks", maxBlocks)
	}
	w.packed.Reset()
	z, err := fastgzip.NewWriterLevel(&w.packed, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := z.Write(w.text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	w.text = append(w.text[:0], blockHeader...)
	size := int64(w.packed.Len())
	if w.written+size > w.opt.MaxBytes {
		w.full = true
		return nil
	}
	if err := w.atomically(blockName(w.blocks), w.packed.Bytes()); err != nil {
		return err
	}
	w.blocks++
	w.written += size
	w.end = w.at
	if w.left -= size; w.left <= 0 {
		w.stride *= 4
		w.left = (w.opt.MaxBytes - w.written) / 2
	}
	return nil
}

// atomically writes a file under a temporary name and renames it when it is
// complete and on disk.
func (w *Writer) atomically(name string, data []byte) error {
	tmp := "." + name + ".tmp"
	f, err := w.root.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = w.root.Rename(tmp, name)
	}
	if err != nil {
		w.root.Remove(tmp)
	}
	return err
}

func (w *Writer) manifest(complete bool) error {
	m := newManifest(w.header, w.registry)
	m.Complete, m.Full, m.Blocks, m.EndPS = complete, w.full, w.blocks, int64(w.end)
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return w.atomically(seriesFile, append(data, '\n'))
}

// Close writes what is left and marks the record complete. It returns the
// first error of the record's life.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	w.open = false
	if w.err = w.flush(); w.err == nil {
		w.err = w.manifest(true)
	}
	err := w.err
	if err == nil {
		w.err = errors.New("record: closed")
	}
	return err
}

// Coarser returns how many times the instants were thinned out, to a quarter
// each time, to keep the size, and whether the record ended before the run for that reason.
func (w *Writer) Coarser() (times int, full bool) {
	for s := w.stride; s > 1; s /= 4 {
		times++
	}
	return times, w.full
}
