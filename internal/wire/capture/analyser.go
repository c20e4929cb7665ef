package capture

import (
	"context"
	"errors"
	"io"

	"weir/internal/cause"
	"weir/internal/qos"
	"weir/rc"
	"weir/roce"
	"weir/roce/pcapfile"
	"weir/units"
)

// Options of an analysis. The zero value is good.
type Options struct {
	// LinkSpeed turns pause quanta into time; 0: it is not known.
	LinkSpeed units.BitRate
	// Intent is what the cluster file wants of DSCP, ECN and MTU; nil: no
	// cluster file.
	Intent *qos.Intent
	// Causes supplies what refutes a finding, what decides it and how to repair. It
	// is called once, if there are findings; nil: they come without.
	Causes func() (*cause.Catalogue, error)
	// Filter leaves out what does not match it; nil: everything counts.
	Filter *Filter
	// Packet, if set, is called for each RoCE packet and pause frame that counts,
	// in order, after it was analysed: for listings.
	Packet func(*Sighting)
}

// Sighting is one packet as Options.Packet gets it. Its contents are valid
// during the call.
type Sighting struct {
	Number uint64     // of the frame in the capture, from 1
	At     units.Time // since the first frame
	Frame  *roce.Packet
	ICRC   roce.ICRCState
	Err    error    // why decoding ended early; nil if it did not
	Class  rc.Class // of a request of a connection; rc.NotRequest for all others
	Round  bool     // the first packet of a return of the sender
	// SrcQPN is the sender's queue pair; 0: not known (yet).
	SrcQPN roce.QPN
}

// An Analyser takes the packets of a capture one by one. It is not safe for
// concurrent use. Its memory is bounded whatever the capture holds.
type Analyser struct {
	options Options
	packet  roce.Packet
	seen    Sighting // of packet
	flows   flowTable

	frames, bytes     uint64
	roceV2, roceV1    uint64
	malformed         uint64 // to port 4791 or of RoCE's types, and not decodable
	fragments         uint64
	untracked         uint64 // packets of flows beyond maxFlows
	otherLinks        uint64 // frames of unknown link types
	empty, firstEmpty uint64 // frames of 0 bytes on the wire, and the first of them
	otherLink         pcapfile.LinkType
	opcodes           [256]uint64
	icrc, icrcV1      [3]uint64
	ecn               [4]uint64
	pfcFrames         uint64
	pauseFrames       uint64
	tunnelled         uint64
	vlanTagged        uint64

	damages    map[*flow]*damage
	pausers    []*pauser
	exchanges  []*exchange
	details    int
	pages      int // left of maxPages
	start      int64
	at         units.Time // of the last frame, since the first
	end        units.Time
	dropped    uint64 // by the capturing side
	backwards  uint64 // frames whose clock went back
	firstError uint64
	stopped    *pcapfile.FormatError
}

// New returns an Analyser for one capture.
func New(o Options) *Analyser {
	return &Analyser{options: o, flows: newFlowTable(), damages: map[*flow]*damage{}, pages: maxPages}
}

// Read analyses a capture file or stream, plain or compressed with gzip or
// zstd, until it ends, is cut or turns out corrupt; what was read before counts,
// and the report says where and why it ended. It returns an error if r fails or
// is no capture at all, and ctx's error when that is done.
func (a *Analyser) Read(ctx context.Context, r io.Reader) error {
	ahead := newReadAhead(ctx, r)
	defer ahead.Close()
	d, err := pcapfile.NewReader(ahead)
	if err != nil {
		return err
	}
	err = a.Drain(ctx, d)
	var damaged *damagedStream
	if errors.As(err, &damaged) {
		a.stopped = &pcapfile.FormatError{Offset: d.Offset(), Reason: damaged.Error()}
		return nil
	}
	return err
}

// Drain analyses the packets of a source until it ends. See Read.
func (a *Analyser) Drain(ctx context.Context, src Source) error {
	var rec pcapfile.Record
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch err := src.Next(&rec); {
		case err == nil:
			a.Add(&rec)
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &a.stopped):
			if a.stopped.InPacket {
				a.frames++
			}
			return nil
		default:
			return err
		}
	}
}

// farthest bounds times against the first packet's: corrupt clocks must not overflow.
const farthest = 9e15 // ns, 104 days

// Add analyses one packet. It allocates only for flows, connections and PSN
// ranges that are new.
func (a *Analyser) Add(rec *pcapfile.Record) {
	a.frames++
	a.bytes += uint64(rec.WireLen)
	if a.frames == 1 {
		a.start = rec.Time
	}
	at := units.Time(min(max(rec.Time-a.start, -farthest), farthest)) * units.Nanosecond
	if at < a.at {
		a.backwards++
	}
	a.at = at
	a.end = max(a.end, at)
	p := &a.packet
	err := decodeLink(p, rec.LinkType, rec.Data)
	a.seen = Sighting{Number: a.frames, At: at, Frame: p, Err: err}
	switch {
	case p.Has&(roce.HasPause|roce.HasPFC) != 0:
		if a.options.Filter.match(&a.seen) {
			a.pause(at)
			a.show()
		}
	case p.Has&roce.HasBTH == 0:
		a.other(rec, err)
	default:
		if err == nil {
			a.seen.ICRC = p.CheckICRC()
		}
		if a.options.Filter.match(&a.seen) {
			a.transport(at, err)
			a.show()
		}
	}
}

// show passes the packet on for listings.
func (a *Analyser) show() {
	if a.options.Packet != nil {
		a.options.Packet(&a.seen)
	}
}

// other counts a frame that is not RoCE, or not recognisably so.
func (a *Analyser) other(rec *pcapfile.Record, err error) {
	switch {
	case rec.WireLen == 0:
		a.empty++
		note(&a.firstEmpty, a.frames)
	case !knownLink(rec.LinkType):
		a.otherLinks++
		a.otherLink = rec.LinkType
	case err == roce.ErrFragment && a.packet.Has&roce.HasUDP != 0:
		a.fragments++
	case err != nil && err != roce.ErrNotRoCE && a.packet.Has&(roce.HasUDP|roce.HasGRH) != 0:
		a.malformed++
		note(&a.firstError, a.frames)
	}
}

// transport takes a packet with a BTH; err says whether decoding ended early.
func (a *Analyser) transport(at units.Time, err error) {
	p := &a.packet
	state := a.seen.ICRC
	if err != nil && err != roce.ErrTruncated {
		a.malformed++
		note(&a.firstError, a.frames)
	}
	v1 := p.Has&roce.HasGRH != 0
	if v1 {
		a.roceV1++
		a.icrcV1[state]++
	} else {
		a.roceV2++
		a.icrc[state]++
		a.opcodes[p.BTH.Opcode]++
		a.ecn[p.ECN()]++
	}
	if p.Has&roce.HasTunnel != 0 {
		a.tunnelled++
	}
	if p.Has&roce.HasVLAN != 0 {
		a.vlanTagged++
	}
	f := a.flows.get(&flowKey{src: p.Src(), dst: p.Dst(), qpn: p.BTH.DestQP, v1: v1})
	if f == nil {
		a.untracked++
		return
	}
	kind := kindOf(p.BTH.Opcode)
	s := f.streams[kind]
	if s == nil {
		s = &stream{firstPSN: p.BTH.PSN, firstPacket: a.frames, firstAt: at, lastAt: at}
		f.streams[kind] = s
	}
	added := a.count(f, s, state)
	if err == nil && state != roce.ICRCWrong {
		a.follow(f, s, kind, added, at)
	}
	s.lastAt, s.lastPacket = at, a.frames
	switch {
	case p.Has&roce.HasDETH != 0:
		a.seen.SrcQPN = p.DETH.SrcQP
	case f.peer != nil:
		a.seen.SrcQPN = f.peer.qpn
	}
}

// count enters a packet into its row and reports whether its PSN is new there.
func (a *Analyser) count(f *flow, s *stream, state roce.ICRCState) bool {
	p := &a.packet
	s.packets++
	s.bytes += uint64(p.PayloadLen)
	s.lastPSN = p.BTH.PSN
	added, exact := s.psns.add(p.BTH.PSN, &a.pages)
	if !exact {
		s.inexact = true
	} else if !added && p.BTH.Opcode.IsReadResponse() {
		s.repeated++
	}
	if p.Has&roce.HasUDP != 0 {
		s.addPort(p.UDP.SrcPort)
	}
	s.addDSCP(p.DSCP())
	s.ecn[p.ECN()]++
	switch state {
	case roce.ICRCUnchecked:
		s.unchecked++
	case roce.ICRCWrong:
		s.wrong++
	}
	if state == roce.ICRCWrong || len(a.damages) > 0 {
		a.damaged(f, state)
	}
	return added || !exact
}

// damaged keeps the account of wrong ICRCs of a flow; valid ones count once
// there was a wrong one.
func (a *Analyser) damaged(f *flow, state roce.ICRCState) {
	d := a.damages[f]
	if state == roce.ICRCWrong {
		if d == nil {
			d = &damage{}
			for _, s := range f.streams {
				if s != nil {
					d.valid += s.packets - s.wrong - s.unchecked
				}
			}
			a.damages[f] = d
		}
		d.look(&a.packet, a.frames)
		if f.conn != nil {
			f.conn.damaged++
		}
	} else if d != nil && state == roce.ICRCValid {
		d.valid++
	}
}

// follow takes a good packet into the story of its connection.
func (a *Analyser) follow(f *flow, s *stream, kind Kind, added bool, at units.Time) {
	p := &a.packet
	transport := p.BTH.Opcode.Transport()
	switch {
	case kind == Notification:
		if f.peer != nil && f.peer.conn != nil {
			f.peer.conn.congest.cnp(at, a.frames)
		}
	case kind == Response:
		a.response(f, s, added, at)
	case transport == roce.RC && p.BTH.Opcode.Known(), transport == roce.UC && p.BTH.Opcode.Known():
		a.request(f, s, at)
		if p.ECN() == roce.CE {
			f.conn.congest.mark(at, a.frames)
		}
	case transport == roce.UD && p.IsCM():
		a.manage(at)
		fallthrough
	default:
		if p.BTH.Opcode.IsLast() {
			s.messages++
		}
	}
}

// CaptureDropped notes that the capturing side lost n frames, so that gaps are no
// proof of loss.
func (a *Analyser) CaptureDropped(n uint64) { a.dropped += n }
