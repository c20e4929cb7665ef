package evidence

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"weir/internal/field/evidence/tool"
)

// An Input is one thing to read: a text or an archive.
type Input struct {
	Name    string   // shown as source
	Path    string   // where it stood in a tree, if that differs from Name
	Host    string   // machine that it is from; "" unknown
	Command []string // command that printed it, in words; nil unknown
	Open    func() (io.ReadCloser, error)
	// Part marks a file of a directory: that it cannot be read does not make
	// the whole unreadable.
	Part bool
}

// Text returns an Input of a text in memory.
func Text(name, text string) Input {
	return Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// Whole reads an input at once, to see what it is; nil where it is larger than
// limit. The input that it returns reads the same once more, from the start.
func (in Input) Whole(limit int64) ([]byte, Input, error) {
	f, err := in.Open()
	if err != nil {
		in.Open = func() (io.ReadCloser, error) { return nil, err }
		return nil, in, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil || int64(len(text)) > limit { // read on where it stopped
		in.Open = func() (io.ReadCloser, error) {
			return struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(text), f), f}, nil
		}
		return nil, in, err
	}
	f.Close()
	in.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	return text, in, nil
}

// ReadPaths reads files, directories, archives and, for "-", standard input.
func ReadPaths(ctx context.Context, names []string, stdin io.Reader) (*Report, error) {
	var inputs []Input
	for _, name := range names {
		inputs = append(inputs, Inputs(name, stdin)...)
	}
	return Read(ctx, Parsers(), inputs...)
}

// Inputs returns the inputs that a command line argument names: a file, each
// file of a directory, or standard input for "-". What cannot be opened shows
// when it is read.
func Inputs(name string, stdin io.Reader) []Input {
	if name == "-" {
		return []Input{{Name: "-", Open: func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }}}
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []Input{{Name: name, Path: absolute(name), Open: opener(name)}}
	}
	return directory(name, name, 0)
}

// directory lists the files of a directory, sorted. Links are not followed,
// for they may lead anywhere, but for those of /sys that stay in /sys.
func directory(name, shown string, depth int) []Input {
	var inputs []Input
	err := filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(name, p)
		in := Input{Name: filepath.Join(shown, rel), Path: absolute(filepath.Join(shown, rel)), Open: opener(p), Part: true}
		switch {
		case err != nil:
			in.Open = func() (io.ReadCloser, error) { return nil, err }
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			if target, ok := sysLink(p); ok && depth == 0 {
				inputs = append(inputs, directory(target, in.Name, 1)...)
			}
			return nil
		case !d.Type().IsRegular():
			return nil // a pipe or device would block
		}
		inputs = append(inputs, in)
		return nil
	})
	if err != nil {
		inputs = append(inputs, Input{Name: shown, Open: func() (io.ReadCloser, error) { return nil, err }})
	}
	return inputs
}

// sysLink follows a link of a class directory of /sys to its device.
func sysLink(p string) (string, bool) {
	if !strings.HasPrefix(absolute(p), "/sys/class/") {
		return "", false
	}
	target, err := filepath.EvalSymlinks(p)
	return target, err == nil && strings.HasPrefix(target, "/sys/")
}

func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	return filepath.ToSlash(name)
}

func opener(name string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(name) }
}

// Read reads inputs with a set of parsers. The error is that of the context;
// inputs that cannot be read stand in Report.Refused.
func Read(ctx context.Context, parsers []tool.Parser, inputs ...Input) (*Report, error) {
	e := &engine{ctx: ctx, parsers: parsers, prompts: newPrompts(parsers), report: &Report{}}
	for _, in := range inputs {
		if ctx.Err() != nil {
			break
		}
		e.input(in)
	}
	return e.report, ctx.Err()
}

// An engine reads inputs into a report.
type engine struct {
	ctx     context.Context
	parsers []tool.Parser
	prompts *prompts
	report  *Report
}

func (e *engine) input(in Input) {
	at := e.report.position()
	f, err := in.Open()
	if err != nil {
		e.unread(in, at, plainError(err))
		return
	}
	defer f.Close()
	u := &unpacking{engine: e, in: in}
	var raw io.Reader = f
	if _, ok := f.(io.ReaderAt); !ok {
		raw = struct{ io.Reader }{f}
	}
	err = u.stream(in.Name, in.Path, raw, 0)
	var h *hostile
	switch {
	case err == nil || e.ctx.Err() != nil:
	case errors.As(err, &h):
		e.report.refuse(at, in.Name, h.Error(), false)
	case e.report.position() != at: // cut in the middle: what was read is kept
		e.report.Refused = append(e.report.Refused, Refusal{in.Name, "read in part: " + plainError(err).Error(), true})
	default:
		e.unread(in, at, plainError(err))
	}
}

func (e *engine) unread(in Input, at position, err error) {
	e.report.refuse(at, in.Name, err.Error(), in.Part)
}

// plainError takes the path off an error: the source is named beside it.
func plainError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// text reads r as text.
func (e *engine) text(in Input, source, p string, r io.Reader) error {
	in.Name = source
	if p != "" {
		in.Path = p
	}
	if in.Path == "" {
		in.Path = source
	}
	in.Path = path.Clean(in.Path)
	if err := newReader(e.parsers, e.prompts, e.report, in).read(e.ctx, r); err != nil {
		return fmt.Errorf("%w", err)
	}
	return nil
}

// buffered returns r as a buffered reader without wrapping it twice.
func buffered(r io.Reader) *bufio.Reader {
	if b, ok := r.(*bufio.Reader); ok {
		return b
	}
	return bufio.NewReaderSize(r, 64<<10)
}
