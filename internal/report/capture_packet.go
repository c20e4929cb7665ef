package report

import (
	"strconv"

	"weir/internal/wire/capture"
	"weir/rc"
	"weir/roce"
)

// AppendPacket appends one line, with its end, for a packet of a capture: frame
// number, time in seconds since the first frame, addresses, opcode, and what
// its headers say.
func AppendPacket(b []byte, s *capture.Sighting) []byte {
	p := s.Frame
	b = strconv.AppendUint(b, s.Number, 10)
	b = append(b, ' ')
	b = strconv.AppendFloat(b, s.At.Seconds(), 'f', 9, 64)
	b = append(b, ' ')
	switch {
	case p.Has&roce.HasPause != 0:
		b = append(append(b, p.Ethernet.Src.String()...), " PAUSE quanta "...)
		b = strconv.AppendUint(b, uint64(p.Pause.Quanta), 10)
		return append(b, '\n')
	case p.Has&roce.HasPFC != 0:
		b = append(append(b, p.Ethernet.Src.String()...), " PFC"...)
		for c := range 8 {
			if p.PFC.Enable>>c&1 != 0 {
				b = number(b, " class ", uint64(c))
				b = number(b, " quanta ", uint64(p.PFC.Quanta[c]))
			}
		}
		return append(b, '\n')
	}
	b = append(append(append(b, p.Src().String()...), " > "...), p.Dst().String()...)
	b = append(append(b, ' '), p.BTH.Opcode.String()...)
	b = append(b, " qp 0x"...)
	b = strconv.AppendUint(b, uint64(p.BTH.DestQP), 16)
	b = number(b, " psn ", uint64(p.BTH.PSN))
	if p.BTH.Opcode.HasPayload() {
		b = number(b, " bytes ", uint64(p.PayloadLen))
	}
	b = appendHeaders(b, p)
	return append(appendMarks(b, s), '\n')
}

func number(b []byte, name string, v uint64) []byte {
	return strconv.AppendUint(append(b, name...), v, 10)
}

func hex(b []byte, name string, v uint64) []byte {
	return strconv.AppendUint(append(append(b, name...), "0x"...), v, 16)
}

// appendHeaders appends what the extension headers say.
func appendHeaders(b []byte, p *roce.Packet) []byte {
	if p.Has&roce.HasDETH != 0 {
		b = hex(b, " from qp ", uint64(p.DETH.SrcQP))
	}
	if p.Has&roce.HasRETH != 0 {
		b = hex(b, " va ", p.RETH.VA)
		b = hex(b, " rkey ", uint64(p.RETH.RKey))
		b = number(b, " length ", uint64(p.RETH.Length))
	}
	if p.Has&roce.HasAtomicETH != 0 {
		b = hex(b, " va ", p.AtomicETH.VA)
		b = hex(b, " rkey ", uint64(p.AtomicETH.RKey))
		b = hex(b, " swap or add ", p.AtomicETH.SwapOrAdd)
		if p.BTH.Opcode == roce.RCCompareSwap {
			b = hex(b, " compare ", p.AtomicETH.Compare)
		}
	}
	if p.Has&roce.HasAETH != 0 {
		b = append(append(b, ' '), p.AETH.Syndrome.String()...)
		b = number(b, " msn ", uint64(p.AETH.MSN))
	}
	if p.Has&roce.HasAtomicAckETH != 0 {
		b = hex(b, " was ", p.Original)
	}
	if p.Has&roce.HasImmDt != 0 {
		b = hex(b, " immediate ", uint64(p.Immediate))
	}
	if p.Has&roce.HasIETH != 0 {
		b = hex(b, " invalidate rkey ", uint64(p.RKey))
	}
	if p.IsCM() {
		var m roce.CM
		if m.Decode(p.Payload) == nil {
			b = append(append(b, ' '), m.Kind.String()...)
			if m.Kind == roce.CMReject {
				b = append(append(b, ": "...), m.Reason.String()...)
			}
		}
	}
	return b
}

// appendMarks appends marking, ports and what the analysis made of the packet.
func appendMarks(b []byte, s *capture.Sighting) []byte {
	p := s.Frame
	if p.BTH.AckReq {
		b = append(b, " ackreq"...)
	}
	b = number(b, " dscp ", uint64(p.DSCP()))
	b = append(append(b, ' '), p.ECN().String()...)
	if p.Has&roce.HasUDP != 0 {
		b = number(b, " sport ", uint64(p.UDP.SrcPort))
	}
	if p.Has&roce.HasGRH != 0 {
		b = append(b, " RoCEv1"...)
	}
	if p.Has&roce.HasTunnel != 0 {
		b = number(b, " vni ", uint64(p.Tunnel.VNI))
	}
	if s.ICRC != roce.ICRCValid {
		b = append(append(b, " icrc "...), s.ICRC.String()...)
	}
	if s.Class > rc.New {
		b = append(append(append(b, " ["...), s.Class.String()...), ']')
	}
	if s.Err != nil {
		b = append(append(append(b, " ["...), s.Err.Error()...), ']')
	}
	return b
}
