package evidence

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// maxLine is the length at which a line is cut. A JSON dump may stand in a
// single line, so it is generous.
const maxLine = 32 << 20

var (
	errBinary  = errors.New("not text")
	errCapture = errors.New("a packet capture, which weir pcap reads")
	errXZ      = errors.New("compressed by xz, which is not read: unpack it first")
)

// decoded returns r as UTF-8 text without byte order mark.
func decoded(r *bufio.Reader) (*bufio.Reader, error) {
	head, err := r.Peek(512)
	if len(head) == 0 {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return r, err
	}
	switch enc := encodingOf(head); enc {
	case utf8Mark:
		_, err = r.Discard(3)
		return r, err
	case utf16LE, utf16BE:
		order := unicode.LittleEndian
		if enc == utf16BE {
			order = unicode.BigEndian
		}
		dec := unicode.UTF16(order, unicode.UseBOM).NewDecoder()
		return bufio.NewReaderSize(dec.Reader(r), 64<<10), nil
	case binary:
		return nil, binaryKind(head)
	}
	return r, nil
}

type textEncoding uint8

const (
	plain textEncoding = iota
	utf8Mark
	utf16LE
	utf16BE
	binary
)

// encodingOf tells the encoding from the first bytes. UTF-16 without a mark
// shows by the zero bytes of its ASCII letters.
func encodingOf(head []byte) textEncoding {
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		return utf8Mark
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return utf16LE
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return utf16BE
	}
	var zero [2]int
	for i, b := range head {
		if b == 0 {
			zero[i%2]++
		}
	}
	half := len(head) / 2
	switch {
	case zero[0]+zero[1] == 0:
		return plain
	case zero[1] > half*7/10 && zero[0] == 0:
		return utf16LE
	case zero[0] > half*7/10 && zero[1] == 0:
		return utf16BE
	}
	return binary
}

func binaryKind(head []byte) error {
	for _, magic := range []string{"\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x0a\x0d\x0d\x0a"} {
		if strings.HasPrefix(string(head), magic) {
			return errCapture
		}
	}
	if bytes.HasPrefix(head, []byte("\xfd7zXZ")) {
		return errXZ
	}
	return errBinary
}

// eachLine calls f with every line of r and its number. A line beyond maxLine
// is cut, and cut is told.
func eachLine(r *bufio.Reader, f func(text string, n int, cut bool) error) error {
	var long []byte
	for n := 1; ; n++ {
		chunk, err := r.ReadSlice('\n')
		text, cut := chunk, false
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) < maxLine {
				long = append(long, chunk...)
			} else {
				cut = true
			}
			chunk, err = r.ReadSlice('\n')
			text = nil
		}
		if text == nil {
			if len(long) < maxLine {
				long = append(long, chunk...)
			}
			text = long
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(text) > 0 || err == nil {
			if e := f(lineText(text), n, cut); e != nil {
				return e
			}
		}
		if err != nil {
			return nil
		}
		if cap(long) > 1<<20 {
			long = nil // one huge line must not cost its size for the rest of the file
		}
		long = long[:0]
	}
}

// lineText copies a line without its end; bytes that are not UTF-8 become the
// replacement character.
func lineText(b []byte) string {
	b = bytes.TrimSuffix(b, []byte("\n"))
	b = bytes.TrimRight(b, "\r")
	if !utf8.Valid(b) {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(b)
}
