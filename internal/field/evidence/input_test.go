package evidence

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const small = "DCBX mode: OS controlled\nPriority trust state: dscp\n"

func bytesInput(name string, b []byte) Input {
	return Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }}
}

func readBytes(t *testing.T, name string, b []byte) *Report {
	t.Helper()
	r, err := Read(context.Background(), Parsers(), bytesInput(name, b))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func utf16Bytes(text string, bigEndian, mark bool) []byte {
	var b []byte
	if mark {
		text = "\ufeff" + text
	}
	for _, r := range text {
		lo, hi := byte(r), byte(r>>8)
		if bigEndian {
			lo, hi = hi, lo
		}
		b = append(b, lo, hi)
	}
	return b
}

func TestEncodings(t *testing.T) {
	forms := map[string][]byte{
		"plain":            []byte(small),
		"CRLF":             []byte(strings.ReplaceAll(small, "\n", "\r\n")),
		"CR":               []byte(strings.ReplaceAll(small, "\n", "\r")),
		"no last line end": []byte(strings.TrimSpace(small)),
		"UTF-8 mark":       []byte("\xef\xbb\xbf" + small),
		"UTF-16LE mark":    utf16Bytes(small, false, true),
		"UTF-16BE mark":    utf16Bytes(small, true, true),
		"UTF-16LE":         utf16Bytes(small, false, false),
		"UTF-16BE":         utf16Bytes(small, true, false),
		"colours":          []byte("\x1b[1mDCBX mode: \x1b[32mOS controlled\x1b[0m\n\x1b]0;title\x07Priority trust state: dscp\x1b[K\n"),
		"pager":            []byte("DCBX mode: OS controlled\n--More--\b\b\b\b\b\b\b\b        \b\b\b\b\b\b\b\bPriority trust state: dscp\n"),
		"VRP pager":        []byte("DCBX mode: OS controlled\n  ---- More ----\x1b[16D                \x1b[16DPriority trust state: dscp\n"),
		"bad bytes":        []byte("DCBX mode: OS controlled\nPriority trust state: dscp\nPr\xffio\n"),
	}
	for name, b := range forms {
		r := readBytes(t, name, b)
		expect(t, r, "qos.trust", "=dscp")
		if len(r.Refused) > 0 || len(r.NotUnderstood) > 1 {
			t.Errorf("%s: refused %v, not understood %v", name, r.Refused, r.NotUnderstood)
		}
	}
}

func TestNotText(t *testing.T) {
	for want, b := range map[string][]byte{
		"not text":         {0x7f, 'E', 'L', 'F', 0, 0, 1, 2, 3, 0, 0, 0, 9},
		"a packet capture": {0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0},
		"xz":               append([]byte("\xfd7zXZ\x00\x00\x04"), 0, 0, 0),
	} {
		r := readBytes(t, "x", b)
		if len(r.Refused) != 1 || r.Refused[0].Minor || !strings.Contains(r.Refused[0].Reason, want) {
			t.Errorf("%s: %+v", want, r.Refused)
		}
	}
}

type member struct {
	name, body string
	kind       byte
	link       string
}

func tarOf(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.body)), Typeflag: m.kind, Linkname: m.link}
		if m.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipOf(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipOf(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.link != "" {
			h.SetMode(os.ModeSymlink | 0o777)
			m.body = m.link
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(m.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdOf(t *testing.T, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(b, nil)
}

func TestArchives(t *testing.T) {
	sys := member{name: "host-a/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", body: "7\n"}
	qos := member{name: "host-a/qos.txt", body: small}
	plain := tarOf(t, qos, sys, member{name: "host-a/sys/class/infiniband/link", kind: tar.TypeSymlink, link: "../net/eth0"})
	forms := map[string][]byte{
		"b.tar":     plain,
		"b.tar.gz":  gzipOf(t, plain),
		"b.tar.zst": zstdOf(t, plain),
		"b.zip":     zipOf(t, qos, sys),
		"in.zip":    zipOf(t, member{name: "deep/b.tgz", body: string(gzipOf(t, plain))}),
		"in.tar":    tarOf(t, member{name: "deep/b.zip", body: string(zipOf(t, qos, sys))}),
	}
	for name, b := range forms {
		r := readBytes(t, name, b)
		expect(t, r, "qos.trust", "=dscp")
		expect(t, r, "counter.np_cnp_sent", "mlx5_0=7")
		if len(r.Refused) > 0 || len(r.NotUnderstood) > 0 {
			t.Errorf("%s: refused %v, not understood %v", name, r.Refused, r.NotUnderstood)
		}
		if src := r.Facts[0].Origin.Source; !strings.HasPrefix(src, name+":") || !strings.HasSuffix(src, "host-a/qos.txt") {
			t.Errorf("%s: source %q", name, src)
		}
	}
	r := readBytes(t, "x.gz", gzipOf(t, []byte(small)))
	expect(t, r, "qos.trust", "=dscp")
	if r.Facts[0].Origin.Source != "x.gz" {
		t.Errorf("source %q", r.Facts[0].Origin.Source)
	}
}

func TestHostileArchivesAreRefused(t *testing.T) {
	qos := member{name: "a.txt", body: small}
	nest := gzipOf(t, []byte(small))
	for range 6 {
		nest = gzipOf(t, nest)
	}
	cases := map[string]struct {
		b      []byte
		reason string
	}{
		"parent":         {tarOf(t, qos, member{name: "../../etc/passwd", body: "x"}), "leaves the archive"},
		"inner parent":   {tarOf(t, member{name: "a/../../b", body: "x"}), "leaves the archive"},
		"absolute":       {tarOf(t, member{name: "/etc/passwd", body: "x"}), "absolute path"},
		"drive":          {zipOf(t, member{name: `C:\x.txt`, body: "x"}), "absolute path"},
		"zip parent":     {zipOf(t, qos, member{name: `..\..\x.txt`, body: "x"}), "leaves the archive"},
		"link out":       {tarOf(t, qos, member{name: "l", kind: tar.TypeSymlink, link: "../../etc/shadow"}), "leads out"},
		"absolute link":  {tarOf(t, member{name: "l", kind: tar.TypeSymlink, link: "/etc/shadow"}), "leads out"},
		"hard link out":  {tarOf(t, member{name: "d/l", kind: tar.TypeLink, link: "../x"}), "leads out"},
		"zip link":       {zipOf(t, member{name: "l", link: "/etc/shadow"}), "leads out"},
		"device":         {tarOf(t, member{name: "null", kind: tar.TypeChar}), "special file"},
		"pipe":           {tarOf(t, member{name: "p", kind: tar.TypeFifo}), "special file"},
		"nested":         {nest, "nested"},
		"nested hostile": {tarOf(t, qos, member{name: "b.tar", body: string(tarOf(t, member{name: "/x", body: "y"}))}), "absolute path"},
	}
	for name, c := range cases {
		r := readBytes(t, name, c.b)
		if len(r.Refused) != 1 || r.Refused[0].Minor || !strings.Contains(r.Refused[0].Reason, c.reason) {
			t.Errorf("%s: %+v", name, r.Refused)
		}
		if len(r.Facts) > 0 || len(r.Sources) > 0 {
			t.Errorf("%s: facts of a refused archive were kept: %v", name, r.Sources)
		}
	}
}

// zeros yields n bytes, in lines of the reader's buffer size, without holding them.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.n))
	for i := range p[:n] {
		p[i] = 'z'
	}
	p[0] = '\n'
	z.n -= int64(n)
	return n, nil
}

func TestBombIsRefused(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, &zeros{300 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := readBytes(t, "bomb.zst", b.Bytes())
	if len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Reason, "a bomb") || len(r.Facts) > 0 {
		t.Errorf("%d bytes: %+v", b.Len(), r.Refused)
	}
}

func TestCutArchiveKeepsWhatWasRead(t *testing.T) {
	b := gzipOf(t, []byte(small+strings.Repeat("line that nobody knows, number x\n", 20_000)))
	r := readBytes(t, "cut.gz", b[:len(b)-200])
	expect(t, r, "qos.trust", "=dscp")
	if len(r.Refused) != 1 || !r.Refused[0].Minor || !strings.Contains(r.Refused[0].Reason, "read in part") {
		t.Errorf("%+v", r.Refused)
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("b/qos.txt", small)
	write("a/infiniband/mlx5_8/ports/1/rate", "100 Gb/sec (2X HDR)\n")
	write("binary", "\x7fELF\x00\x00\x01")
	write("empty", "")
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	r, err := ReadPaths(context.Background(), []string{dir, filepath.Join(dir, "nothing"), "-"}, strings.NewReader("Global tclass=104\n"))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, r, "qos.trust", "=dscp")
	expect(t, r, "rdma.rate", "mlx5_8=100000000000")
	expect(t, r, "roce.dscp", "=26")
	if len(r.NotUnderstood) > 0 {
		t.Errorf("a link was followed: %v", r.NotUnderstood)
	}
	if len(r.Refused) != 2 || !r.Refused[0].Minor || r.Refused[1].Minor {
		t.Errorf("%+v", r.Refused)
	}
}

func TestNothingIsDroppedInSilence(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "strange %d words here\n", i)
	}
	r := read(t, "x", text.String())
	if len(r.NotUnderstood) != maxSourceUnderstood+1 || r.Sources[0].NotUnderstood != 3000 {
		t.Fatalf("%d kept, %d counted", len(r.NotUnderstood), r.Sources[0].NotUnderstood)
	}
	if last := r.NotUnderstood[maxSourceUnderstood].Text; last != "and 2000 further lines" {
		t.Errorf("%q", last)
	}
	if r.NotUnderstood[7].Origin.Line != 8 {
		t.Errorf("line %d", r.NotUnderstood[7].Origin.Line)
	}
}

func TestReadStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, Parsers(), Text("x", small)); err == nil {
		t.Error("no error of a cancelled context")
	}
}
