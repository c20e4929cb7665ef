package capture

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"weir/internal/input"
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// A Filter chooses packets. The nil Filter takes all.
type Filter struct {
	op   filterOp
	a, b *Filter // of and, or, not
	net  netip.Prefix
	lo   uint64 // range of numbers, both ends included
	hi   uint64
	name string // of an opcode, or its beginning
}

type filterOp uint8

const (
	opAnd filterOp = iota
	opOr
	opNot
	opHost // source or destination
	opSrc
	opDst
	opQP // destination or, if known, source queue pair
	opOpcode
	opPSN
	opSourcePort
	opDSCP
	opECN
	opICRC
	opFrame
	opTime // picoseconds since the first frame
	opPauseFrame
	opNAK
	opAgain
)

// FilterHelp lists the forms of a filter.
const FilterHelp = `host ADDR[/LEN], src ADDR, dst ADDR, qp N, op NAME, psn N[-M], sport N[-M], dscp N,
ecn ce|ect0|ect1|not-ect, icrc valid|wrong|unchecked, frame N[-M], time FROM-TO, cnp, pfc, nak, again;
joined by and, or, not and parentheses`

// maxFilter bounds the nesting of filters.
const maxFilter = 200

// ParseFilter reads a filter. Errors are *input.Error with the column.
func ParseFilter(text string) (*Filter, error) {
	p := filterParser{text: text}
	p.scan()
	f, err := p.or()
	if err == nil && p.pos < len(p.words) {
		err = p.fail("and, or, or the end")
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

type filterWord struct {
	text   string
	column int
}

type filterParser struct {
	text  string
	words []filterWord
	pos   int
	depth int
}

// scan splits the text at blanks and parentheses.
func (p *filterParser) scan() {
	start := -1
	end := func(i int) {
		if start >= 0 {
			p.words = append(p.words, filterWord{p.text[start:i], start + 1})
			start = -1
		}
	}
	for i := range len(p.text) {
		switch c := p.text[i]; c {
		case ' ', '\t', '\n', '\r':
			end(i)
		case '(', ')':
			end(i)
			p.words = append(p.words, filterWord{string(c), i + 1})
		default:
			if start < 0 {
				start = i
			}
		}
	}
	end(len(p.text))
}

// fail is the error at the next word.
func (p *filterParser) fail(allowed string) error {
	e := &input.Error{File: "--filter", Line: 1, Column: len(p.text) + 1, Found: "the filter ends", Allowed: allowed}
	if p.pos < len(p.words) {
		w := p.words[p.pos]
		e.Column, e.Found = w.column, strconv.Quote(w.text)
	}
	return e
}

func (p *filterParser) take(words ...string) bool {
	if p.pos < len(p.words) {
		for _, w := range words {
			if strings.EqualFold(p.words[p.pos].text, w) {
				p.pos++
				return true
			}
		}
	}
	return false
}

func (p *filterParser) or() (*Filter, error) {
	a, err := p.and()
	for err == nil && p.take("or", "||") {
		var b *Filter
		b, err = p.and()
		a = &Filter{op: opOr, a: a, b: b}
	}
	return a, err
}

func (p *filterParser) and() (*Filter, error) {
	a, err := p.not()
	for err == nil && p.take("and", "&&") {
		var b *Filter
		b, err = p.not()
		a = &Filter{op: opAnd, a: a, b: b}
	}
	return a, err
}

func (p *filterParser) not() (*Filter, error) {
	if p.depth++; p.depth > maxFilter {
		return nil, p.fail(fmt.Sprintf("at most %d conditions", maxFilter))
	}
	switch {
	case p.take("not", "!"):
		a, err := p.not()
		return &Filter{op: opNot, a: a}, err
	case p.take("("):
		a, err := p.or()
		if err == nil && !p.take(")") {
			err = p.fail(")")
		}
		return a, err
	}
	return p.condition()
}

// condition reads a word and what belongs to it.
func (p *filterParser) condition() (*Filter, error) {
	ops := map[string]filterOp{
		"host": opHost, "src": opSrc, "dst": opDst, "qp": opQP, "op": opOpcode, "psn": opPSN, "sport": opSourcePort,
		"dscp": opDSCP, "ecn": opECN, "icrc": opICRC, "frame": opFrame, "time": opTime,
		"pfc": opPauseFrame, "nak": opNAK, "again": opAgain,
	}
	if p.take("cnp") {
		return &Filter{op: opOpcode, name: "CNP"}, nil
	}
	if p.pos == len(p.words) {
		return nil, p.fail(FilterHelp)
	}
	op, ok := ops[strings.ToLower(p.words[p.pos].text)]
	if !ok {
		return nil, p.fail(FilterHelp)
	}
	p.pos++
	f := &Filter{op: op}
	if op == opPauseFrame || op == opNAK || op == opAgain {
		return f, nil
	}
	if p.pos == len(p.words) {
		return nil, p.fail("a value")
	}
	if allowed := f.value(p.words[p.pos].text); allowed != "" {
		return nil, p.fail(allowed)
	}
	p.pos++
	return f, nil
}

// value reads the value of a condition, or says what is allowed.
func (f *Filter) value(s string) (allowed string) {
	var err error
	switch f.op {
	case opHost, opSrc, opDst:
		if !strings.Contains(s, "/") {
			var a netip.Addr
			if a, err = netip.ParseAddr(s); err == nil {
				f.net = netip.PrefixFrom(a.Unmap().WithZone(""), a.Unmap().BitLen())
			}
		} else {
			f.net, err = netip.ParsePrefix(s)
		}
		if err != nil {
			return "an address, or a prefix such as 10.0.0.0/8"
		}
	case opOpcode:
		f.name = strings.ToUpper(s)
		for op := range 256 {
			if strings.HasPrefix(roce.Opcode(op).String(), f.name) && roce.Opcode(op).Known() {
				return ""
			}
		}
		return "the name of an opcode, such as RC_WRITE_FIRST, or its beginning"
	case opECN:
		return f.choice(s, "not-ect", "ect1", "ect0", "ce")
	case opICRC:
		return f.choice(s, "unchecked", "valid", "wrong")
	case opTime:
		from, to, _ := strings.Cut(s, "-")
		a, err1 := units.ParseTime(from)
		b, err2 := units.ParseTime(to)
		if err1 != nil || err2 != nil || a < 0 || a > b {
			return "two times since the first packet, such as 10ms-2s"
		}
		f.lo, f.hi = uint64(a), uint64(b)
	default:
		from, to, ok := strings.Cut(s, "-")
		if !ok {
			to = from
		}
		var err2 error
		f.lo, err = strconv.ParseUint(from, 0, 64)
		f.hi, err2 = strconv.ParseUint(to, 0, 64)
		if err != nil || err2 != nil || f.lo > f.hi {
			return "a number, such as 17 or 0x11, or a range, such as 17-20"
		}
	}
	return ""
}

func (f *Filter) choice(s string, names ...string) (allowed string) {
	for i, n := range names {
		if strings.EqualFold(s, n) {
			f.lo, f.hi = uint64(i), uint64(i)
			return ""
		}
	}
	return strings.Join(names, ", ")
}

func (f *Filter) has(n uint64) bool { return f.lo <= n && n <= f.hi }

// OfQueuePair returns the filter that takes what f takes of one queue pair.
func OfQueuePair(qpn roce.QPN, f *Filter) *Filter {
	qp := &Filter{op: opQP, lo: uint64(qpn), hi: uint64(qpn)}
	if f == nil {
		return qp
	}
	return &Filter{op: opAnd, a: qp, b: f}
}

// NeedsAnalysis reports whether f asks for what only the analysis of a packet
// tells, so that it serves listings alone.
func (f *Filter) NeedsAnalysis() bool {
	return f != nil && (f.op == opAgain || f.a.NeedsAnalysis() || f.b.NeedsAnalysis())
}

// Match reports whether the filter takes a packet.
func (f *Filter) Match(s *Sighting) bool { return f.match(s) }

func (f *Filter) match(s *Sighting) bool {
	if f == nil {
		return true
	}
	p := s.Frame
	switch f.op {
	case opAnd:
		return f.a.match(s) && f.b.match(s)
	case opOr:
		return f.a.match(s) || f.b.match(s)
	case opNot:
		return !f.a.match(s)
	case opFrame:
		return f.has(s.Number)
	case opTime:
		return s.At >= 0 && f.has(uint64(s.At))
	case opPauseFrame:
		return p.Has&(roce.HasPause|roce.HasPFC) != 0
	}
	return p.Has&roce.HasBTH != 0 && f.matchRoCE(s)
}

// matchRoCE judges conditions that only a RoCE packet can meet.
func (f *Filter) matchRoCE(s *Sighting) bool {
	p := s.Frame
	switch f.op {
	case opHost:
		return f.net.Contains(p.Src().Addr()) || f.net.Contains(p.Dst().Addr())
	case opSrc:
		return f.net.Contains(p.Src().Addr())
	case opDst:
		return f.net.Contains(p.Dst().Addr())
	case opQP:
		return f.has(uint64(p.BTH.DestQP)) || s.SrcQPN != 0 && f.has(uint64(s.SrcQPN))
	case opOpcode:
		return strings.HasPrefix(p.BTH.Opcode.String(), f.name)
	case opPSN:
		return f.has(uint64(p.BTH.PSN))
	case opSourcePort:
		return p.Has&roce.HasUDP != 0 && f.has(uint64(p.UDP.SrcPort))
	case opDSCP:
		return f.has(uint64(p.DSCP()))
	case opECN:
		return f.has(uint64(p.ECN()))
	case opICRC:
		return f.has(uint64(s.ICRC))
	case opNAK:
		return p.Has&roce.HasAETH != 0 && p.AETH.Syndrome.Kind() != roce.KindACK
	case opAgain:
		return s.Class == rc.Retransmission || s.Class == rc.Repeated
	}
	return false
}
