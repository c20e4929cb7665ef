package telemetry

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"

	"weir/internal/input"
	"weir/units"
)

// A Record is a record opened for reading. Its methods may be called from
// several goroutines.
type Record struct {
	Header
	Registry *Registry
	Complete bool       // the writer closed it; else it was interrupted
	Full     bool       // it ended before the run, at its largest size
	End      units.Time // last instant, if complete

	fsys   fs.FS
	blocks int
}

// OpenRecord opens the record in fsys. What is wrong with it comes back as
// *input.Error.
func OpenRecord(fsys fs.FS) (*Record, error) {
	f, err := fsys.Open(seriesFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxManifest {
		return nil, &input.Error{File: seriesFile, Found: "found more than 256 MiB", Allowed: "allowed at most 256 MiB"}
	}
	m, err := parseManifest(data)
	if err != nil {
		return nil, refuse(seriesFile, 0, err.Error())
	}
	reg, err := m.registry()
	if err != nil {
		return nil, refuse(seriesFile, 0, err.Error())
	}
	r := &Record{Header: Header{Source: m.Source, Cluster: m.Cluster, Interval: units.Time(m.IntervalPS)}, Registry: reg, Complete: m.Complete, Full: m.Full, End: units.Time(m.EndPS), fsys: fsys}
	for r.blocks < maxBlocks {
		if _, err := fs.Stat(fsys, blockName(r.blocks)); err != nil {
			break
		}
		r.blocks++
	}
	if m.Complete && r.blocks != m.Blocks {
		return nil, refuse(seriesFile, 0, fmt.Sprintf("%d blocks where there are %d", m.Blocks, r.blocks))
	}
	return r, nil
}

func refuse(file string, line int, found string) error {
	return &input.Error{File: file, Line: line, Found: "found " + found, Allowed: "allowed what docs/record.md describes"}
}

// ErrTruncated comes back from Each when a block ends in the middle, as after
// a copy that was cut off. What came before it was delivered.
var ErrTruncated = errors.New("record is cut off")

// Instant is one instant of a record: the readings that changed. Changes and
// Missing are valid until the callback returns.
type Instant struct {
	At      units.Time
	Changes []Sample
	Missing []uint32 // series that could not be read: a gap until they change again
}

// Each calls f with every instant in order of time, until f returns an error.
// A series keeps its value until a change; before its first it has none.
func (r *Record) Each(f func(Instant) error) error {
	p := &blockParser{series: uint32(r.Registry.Len()), emit: f}
	for b := range r.blocks {
		if err := r.block(blockName(b), p); err != nil {
			return err
		}
	}
	return p.finish()
}

func (r *Record) block(name string, p *blockParser) error {
	f, err := r.fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return p.cut(err)
	}
	rest := &io.LimitedReader{R: z, N: maxBlock}
	in := bufio.NewReaderSize(rest, 1<<16)
	for line := 1; ; line++ {
		text, err := in.ReadSlice('\n')
		if err == io.EOF && rest.N <= 0 {
			return refuse(name, line, "a block of more than 256 MiB")
		}
		if err == io.EOF && len(text) == 0 {
			return nil
		}
		if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
			return p.cut(err)
		}
		if err == io.EOF || len(text) > maxLine {
			return refuse(name, line, strconv.Quote(clip(string(text)))+" as a line")
		}
		if line == 1 {
			if string(text) != blockHeader {
				return refuse(name, line, strconv.Quote(clip(string(text)))+" as a header")
			}
			continue
		}
		if found, err := p.line(text[:len(text)-1]); err != nil {
			return err
		} else if found != "" {
			return refuse(name, line, found)
		}
	}
}

// A blockParser turns lines into instants.
type blockParser struct {
	series uint32
	emit   func(Instant) error
	cur    Instant
	has    bool
}

// cut delivers what is whole and says that the rest is missing.
func (p *blockParser) cut(err error) error {
	if e := p.finish(); e != nil {
		return e
	}
	return fmt.Errorf("%w: %v", ErrTruncated, err)
}

func (p *blockParser) finish() error {
	if !p.has {
		return nil
	}
	p.has = false
	return p.emit(p.cur)
}

// line takes one line; found says what is wrong with it.
func (p *blockParser) line(text []byte) (found string, err error) {
	atText, rest, ok := bytes.Cut(text, []byte{','})
	seriesText, valueText, ok2 := bytes.Cut(rest, []byte{','})
	at, good := number(atText, math.MaxInt64)
	if !ok || !ok2 || !good {
		return strconv.Quote(clip(string(text))), nil
	}
	t := units.Time(at)
	if len(seriesText) == 0 && len(valueText) == 0 {
		if p.has && t <= p.cur.At {
			return "an instant that is not later than the one before", nil
		}
		if err := p.finish(); err != nil {
			return "", err
		}
		p.cur = Instant{At: t, Changes: p.cur.Changes[:0], Missing: p.cur.Missing[:0]}
		p.has = true
		return "", nil
	}
	if !p.has || t != p.cur.At {
		return "a reading outside its instant", nil
	}
	n, good := number(seriesText, math.MaxUint32)
	if !good || n >= uint64(p.series) {
		return "series " + strconv.Quote(clip(string(seriesText))), nil
	}
	if len(valueText) == 0 {
		p.cur.Missing = append(p.cur.Missing, uint32(n))
		return "", nil
	}
	v, good := number(valueText, math.MaxUint64)
	if !good {
		return "value " + strconv.Quote(clip(string(valueText))), nil
	}
	p.cur.Changes = append(p.cur.Changes, Sample{Series: uint32(n), At: t, Value: v})
	return "", nil
}

// number reads decimal digits alone, without a leading zero but "0" itself.
func number(s []byte, limit uint64) (uint64, bool) {
	if len(s) == 0 || len(s) > 20 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	var n uint64
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, n <= limit
}
