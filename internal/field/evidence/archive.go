package evidence

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Bounds of archives. Text compresses by 5 to 50; deflate reaches 1032 at most
// and zstd has no limit.
const (
	maxNesting   = 4         // archives within archives
	maxMembers   = 200_000   // of all archives of an input
	maxUnpacked  = 64 << 30  // bytes of an input
	freeUnpacked = 256 << 20 // bytes before the ratio counts
	maxRatio     = 400
	maxZipMemory = 128 << 20 // a zip that is not a file must be held
	maxTarget    = 4096      // length of a link's target
)

// A hostile error refuses a whole archive.
type hostile struct{ reason string }

func (h *hostile) Error() string { return h.reason }

func refuse(format string, args ...any) error { return &hostile{fmt.Sprintf(format, args...)} }

// unpacking follows one input through its archives, and counts.
type unpacking struct {
	engine  *engine
	in      Input
	packed  int64 // bytes read of the input itself
	out     int64 // bytes unpacked, on all levels
	members int
}

// stream reads what r holds: an archive, a compressed file or text.
func (u *unpacking) stream(source, p string, r io.Reader, depth int) error {
	if depth > maxNesting {
		return refuse("archives are nested more than %d deep", maxNesting)
	}
	file, _ := r.(io.ReaderAt)
	if depth == 0 {
		r = &counted{r: r, n: &u.packed}
	}
	b := buffered(r)
	head, err := b.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(b)
		if err != nil {
			return err
		}
		return u.stream(source, trimExt(p), u.limited(z), depth+1)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return err
		}
		defer z.Close()
		return u.stream(source, trimExt(p), u.limited(z), depth+1)
	case bytes.HasPrefix(head, []byte("BZh")) && len(head) > 10 && bytes.HasPrefix(head[4:], []byte("1AY&SY")):
		return u.stream(source, trimExt(p), u.limited(bzip2.NewReader(b)), depth+1)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return u.zip(source, b, file, depth)
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return u.tar(source, b, depth)
	}
	return u.engine.text(u.in, source, p, b)
}

func trimExt(p string) string { return strings.TrimSuffix(p, path.Ext(p)) }

// limited counts unpacked bytes against the bounds.
func (u *unpacking) limited(r io.Reader) io.Reader { return &bomb{r, u} }

type bomb struct {
	r io.Reader
	u *unpacking
}

func (b *bomb) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.u.out += int64(n)
	if out := b.u.out; out > maxUnpacked || out > freeUnpacked && out > maxRatio*b.u.packed {
		return n, refuse("unpacks to more than %d MiB, %d times its size: a bomb", out>>20, out/max(1, b.u.packed))
	}
	return n, err
}

type counted struct {
	r io.Reader
	n *int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

func (u *unpacking) tar(source string, r io.Reader, depth int) error {
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return err
		}
		if err := u.member(h.Name); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeReg:
			if err := u.nested(source, h.Name, t, depth); err != nil {
				return err
			}
		case tar.TypeSymlink, tar.TypeLink:
			base := path.Dir(h.Name)
			if h.Typeflag == tar.TypeLink {
				base = "." // a hard link names a member
			}
			if err := checkLink(h.Name, base, h.Linkname); err != nil {
				return err
			}
		case tar.TypeDir, tar.TypeXGlobalHeader:
		default:
			return refuse("%q is a device, pipe or other special file", short(h.Name))
		}
	}
}

func (u *unpacking) zip(source string, r io.Reader, file io.ReaderAt, depth int) error {
	size := int64(0)
	if s, ok := file.(io.Seeker); ok && depth == 0 {
		end, err := s.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		size = end
	} else {
		held, err := io.ReadAll(io.LimitReader(r, maxZipMemory+1))
		if err != nil {
			return err
		}
		if len(held) > maxZipMemory {
			return refuse("a zip archive above %d MiB inside another one or on standard input: unpack it first", maxZipMemory>>20)
		}
		file, size = bytes.NewReader(held), int64(len(held))
	}
	u.packed = max(u.packed, size)
	z, err := zip.NewReader(file, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	for _, f := range z.File {
		if err := u.zipMember(source, f, depth); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacking) zipMember(source string, f *zip.File, depth int) error {
	if err := u.member(f.Name); err != nil {
		return err
	}
	mode := f.Mode()
	if mode.IsDir() {
		return nil
	}
	if f.Flags&1 != 0 {
		return refuse("%q is encrypted", short(f.Name))
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	switch {
	case mode.Type() == 0:
		return u.nested(source, f.Name, r, depth)
	case mode.Type() == fs.ModeSymlink:
		target, err := io.ReadAll(io.LimitReader(r, maxTarget))
		if err != nil {
			return err
		}
		return checkLink(f.Name, path.Dir(f.Name), string(target))
	}
	return refuse("%q is a device, pipe or other special file", short(f.Name))
}

// nested reads one member. A member that is no text is passed over and told.
func (u *unpacking) nested(source, name string, r io.Reader, depth int) error {
	name = path.Clean(name)
	source += ":" + name
	err := u.stream(source, name, u.limited(r), depth+1)
	if errors.Is(err, errBinary) || errors.Is(err, errCapture) || errors.Is(err, errXZ) {
		u.engine.report.Refused = append(u.engine.report.Refused, Refusal{source, err.Error(), true})
		return nil
	}
	return err
}

// member counts a member and checks its name.
func (u *unpacking) member(name string) error {
	if u.members++; u.members > maxMembers {
		return refuse("more than %d members", maxMembers)
	}
	return checkName(name)
}

// checkName refuses names that would leave the directory that the archive is
// unpacked in. Nothing is unpacked to disk here, but such an archive was made
// to do harm, and so are its contents perhaps.
func checkName(name string) error {
	slashed := strings.ReplaceAll(name, `\`, "/")
	switch {
	case name == "" || len(name) > 4096 || strings.ContainsRune(name, 0):
		return refuse("a member without a usable name")
	case path.IsAbs(slashed) || len(slashed) > 1 && slashed[1] == ':':
		return refuse("member %q has an absolute path", short(name))
	}
	for _, part := range strings.Split(slashed, "/") {
		if part == ".." {
			return refuse("member %q leaves the archive by \"..\"", short(name))
		}
	}
	return nil
}

// checkLink refuses links that lead out of the archive. Others are passed
// over: trees of /sys are full of them, and what they lead to is in the archive.
func checkLink(name, base, target string) error {
	t := path.Join(base, target)
	if path.IsAbs(target) || t == ".." || strings.HasPrefix(t, "../") || strings.Contains(target, `\`) {
		return refuse("link %q leads out of the archive, to %q", short(name), short(target))
	}
	return nil
}

func short(name string) string {
	if len(name) > 80 {
		return name[:80] + "..."
	}
	return name
}
