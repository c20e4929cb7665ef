package pcapfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"weir/roce/pcapfile"
)

type packet struct {
	Time    int64
	Offset  int64
	Data    string
	WireLen int
	Link    pcapfile.LinkType
	Iface   uint32
}

func readAll(r io.Reader) (got []packet, err error) {
	d, err := pcapfile.NewReader(r)
	if err != nil {
		return nil, err
	}
	var rec pcapfile.Record
	for {
		if err := d.Next(&rec); err != nil {
			if d.Next(&rec) != err {
				return got, errors.New("the error is not final")
			}
			return got, err
		}
		got = append(got, packet{rec.Time, rec.Offset, string(rec.Data), rec.WireLen, rec.LinkType, rec.Interface})
	}
}

// file builds a capture by hand, in either byte order.
type file struct {
	bytes.Buffer
	order binary.AppendByteOrder
}

func (f *file) u16(v ...uint16) *file {
	for _, x := range v {
		f.Write(f.order.AppendUint16(nil, x))
	}
	return f
}

func (f *file) u32(v ...uint32) *file {
	for _, x := range v {
		f.Write(f.order.AppendUint32(nil, x))
	}
	return f
}

func (f *file) str(s string) *file {
	f.WriteString(s)
	return f
}

func pcap(order binary.AppendByteOrder, magic uint32) *file {
	f := &file{order: order}
	f.u32(magic).u16(2, 4).u32(0, 0, 65535, 1)
	f.u32(1000, 5, 3, 9).str("abc")
	f.u32(1001, 999999, 0, 0)
	return f.u32(0xffffffff, 0, 4, 2).str("wxyz")
}

func TestPcap(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		for magic, scale := range map[uint32]int64{0xa1b2c3d4: 1000, 0xa1b23c4d: 1} {
			f := pcap(order, magic)
			want := []packet{
				{1000e9 + 5*scale, 24, "abc", 9, 1, 0},
				{1001e9 + 999999*scale, 43, "", 0, 1, 0},
				{4294967295e9, 59, "wxyz", 4, 1, 0},
			}
			got, err := readAll(iotest.OneByteReader(bytes.NewReader(f.Bytes())))
			if d := cmp.Diff(want, got); d != "" || err != io.EOF {
				t.Errorf("%s %#x: %v %s", name, magic, err, d)
			}
		}
	}
}

// ng builds a pcapng file of two sections in opposite byte orders.
func ng() []byte {
	f := &file{order: binary.BigEndian}
	f.u32(0x0a0d0d0a, 32, 0x1a2b3c4d).u16(1, 0).u32(0xffffffff, 0xffffffff, 0, 32)
	// Interface 0: Ethernet, microseconds by default. 1: raw IP, 2^-10 s, offset 100 s.
	f.u32(1, 20).u16(1, 0).u32(0, 20)
	f.u32(1, 44).u16(101, 0).u32(0)
	f.u16(9, 1).str("\x8a\x00\x00\x00").u16(14, 8).u32(0, 100).u16(0, 0).u32(44)
	f.u32(4, 12, 12) // an empty block of another kind
	f.u32(6, 36, 0, 1, 2, 3, 9).str("abc\x00").u32(36)
	f.u32(6, 36, 1, 0, 0x0601, 4, 4).str("wxyz").u32(36)
	f.u32(3, 20, 2).str("hi\x00\x00").u32(20)
	f.u32(2, 36).u16(1, 0).u32(0, 1024, 1, 1).str("q\x00\x00\x00").u32(36)
	f.order = binary.LittleEndian
	f.u32(0x0a0d0d0a, 28, 0x1a2b3c4d).u16(1, 0).u32(0xffffffff, 0xffffffff, 28)
	// Interface 0: nanoseconds, packets cut to 2 bytes.
	f.u32(1, 32).u16(276, 0).u32(2).u16(9, 1).str("\x09\x00\x00\x00").u16(0, 0).u32(32)
	f.u32(3, 20, 7).str("no\x00\x00").u32(20)
	f.u32(6, 32, 0, 1, 7, 0, 0).u32(32)
	return f.Bytes()
}

func TestPcapng(t *testing.T) {
	want := []packet{
		{(1<<32 + 2) * 1000, 108, "abc", 9, 1, 0},
		{101500976562, 144, "wxyz", 4, 101, 1}, // 100 s + 0x601/1024 s
		{0, 180, "hi", 2, 1, 0},
		{101e9, 200, "q", 1, 101, 1},
		{0, 296, "no", 7, 276, 0},
		{1<<32 + 7, 316, "", 0, 276, 0},
	}
	got, err := readAll(iotest.HalfReader(bytes.NewReader(ng())))
	if d := cmp.Diff(want, got); d != "" || err != io.EOF {
		t.Errorf("%v %s", err, d)
	}
}

// Every cut of a file gives the packets before it and says where it is.
func TestCut(t *testing.T) {
	for name, b := range map[string][]byte{"pcap": pcap(binary.LittleEndian, 0xa1b2c3d4).Bytes(), "pcapng": ng()} {
		whole, _ := readAll(bytes.NewReader(b))
		for n := range b {
			got, err := readAll(bytes.NewReader(b[:n]))
			if d := cmp.Diff(whole[:len(got)], append([]packet{}, got...)); d != "" {
				t.Fatalf("%s cut at %d: %s", name, n, d)
			}
			var fe *pcapfile.FormatError
			switch {
			case errors.As(err, &fe):
				if !fe.Cut || fe.Offset > int64(n) || fe.InPacket && int64(n)-fe.Offset < 12 {
					t.Fatalf("%s cut at %d: %+v", name, n, fe)
				}
			case err != io.EOF:
				t.Fatalf("%s cut at %d: %v", name, n, err)
			}
		}
	}
}

func TestCorrupt(t *testing.T) {
	edit := func(b []byte, at int, v ...byte) []byte {
		c := bytes.Clone(b)
		copy(c[at:], v)
		return c
	}
	p, g := pcap(binary.LittleEndian, 0xa1b2c3d4).Bytes(), ng()
	for _, c := range []struct {
		b    []byte
		want string
		n    int
	}{
		{nil, "byte 0: the file is empty", 0},
		{[]byte("GIF89a"), "byte 0: starts with 47 49 46 38, which is neither pcap (a1b2c3d4, a1b23c4d, either byte order) nor pcapng (0a0d0d0a)", 0},
		{p[:20], "byte 0: the file ends after 20 bytes of the file header of 24 bytes", 0},
		{edit(p, 24+8, 1, 0, 16, 0), "byte 24: record claims 1048577 captured bytes; a packet has at most 1048576", 0},
		{edit(p, 43+4, 0, 0, 0, 0x10), "byte 43: record claims a time fraction of 268435456", 1},
		{p[:len(p)-1], "byte 59: the file ends after 19 bytes of a record of 20 bytes", 2},
		{p[:61], "byte 59: the file ends after 2 bytes of a record header of 16 bytes", 2},
		{edit(g, 8, 1), "byte 0: section header with byte order mark 01 2b 3c 4d", 0},
		{edit(g, 12, 0, 2), "byte 0: pcapng version 2; version 1 is known", 0},
		{edit(g, 4, 0, 0, 0, 27), "byte 0: block claims a length of 27", 0},
		{edit(g, 108+4, 0, 0, 0, 8), "byte 108: block claims a length of 8", 0},
		{edit(g, 108+4, 0x7f, 0, 0, 0), "byte 108: block claims 2130706432 bytes; a packet has at most 1048576", 0},
		{edit(g, 140, 0, 0, 0, 99), "byte 108: block of 36 bytes ends with length 99", 0},
		{edit(g, 116, 0, 0, 0, 9), "byte 108: packet of interface 9; 2 are described", 0},
		{edit(g, 128, 0, 0, 0, 9), "byte 108: packet claims 9 captured bytes in a block that has room for 4", 0},
		{edit(g, 72, 0x40), "byte 52: interface with time resolution code 0x40", 0},
	} {
		got, err := readAll(bytes.NewReader(c.b))
		if err == nil || err.Error() != c.want || len(got) != c.n {
			t.Errorf("got %d packets, %v; want %d, %s", len(got), err, c.n, c.want)
		}
	}
	fails := errors.New("disk on fire")
	r := io.MultiReader(bytes.NewReader(p[:50]), iotest.ErrReader(fails))
	if got, err := readAll(r); err != fails || len(got) != 1 {
		t.Errorf("a reader that fails: %d packets, %v", len(got), err)
	}
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w, err := pcapfile.NewWriter(&b, pcapfile.Options{LinkType: pcapfile.Ethernet, SnapLen: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		ns   int64
		data string
		wire int
	}{{1, "abcdef", 0}, {1700000000123456789, "xy", 1500}} {
		if err := w.Write(p.ns, []byte(p.data), p.wire); err != nil {
			t.Fatal(err)
		}
	}
	for _, ns := range []int64{-1, 4294967296e9} {
		if err := w.Write(ns, nil, 0); err == nil {
			t.Errorf("time %d was written", ns)
		}
	}
	want := []packet{{1, 24, "abcd", 6, 1, 0}, {1700000000123456789, 44, "xy", 1500, 1, 0}}
	got, err := readAll(&b)
	if d := cmp.Diff(want, got); d != "" || err != io.EOF {
		t.Errorf("%v %s", err, d)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(pcap(binary.LittleEndian, 0xa1b2c3d4).Bytes())
	f.Add(pcap(binary.BigEndian, 0xa1b23c4d).Bytes())
	f.Add(ng())
	f.Add(ng()[:150])
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readAll(bytes.NewReader(b))
		if err == nil {
			t.Fatal("no error at the end")
		}
		for i, p := range got {
			if p.Offset < 0 || p.Offset > int64(len(b)) || len(p.Data) > p.WireLen || i > 0 && p.Offset <= got[i-1].Offset {
				t.Fatalf("packet %d: %+v", i, p)
			}
		}
		slow, err2 := readAll(iotest.OneByteReader(bytes.NewReader(b)))
		if d := cmp.Diff(got, slow); d != "" || err.Error() != err2.Error() {
			t.Fatalf("read byte by byte: %v, %v %s", err, err2, d)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	var f bytes.Buffer
	w, _ := pcapfile.NewWriter(&f, pcapfile.Options{LinkType: pcapfile.Ethernet})
	data := make([]byte, 1082)
	for range 10000 {
		_ = w.Write(1e18, data, 0)
	}
	b.SetBytes(int64(f.Len()))
	b.ReportAllocs()
	for b.Loop() {
		d, err := pcapfile.NewReader(bytes.NewReader(f.Bytes()))
		var rec pcapfile.Record
		for err == nil {
			err = d.Next(&rec)
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
}
