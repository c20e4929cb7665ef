// Package layers plugs RoCE into github.com/gopacket/gopacket: layers for the
// RoCEv2 transport behind UDP port 4791, for RoCEv1 with its GRH, and for pause
// frames. Nothing is registered until Register is called.
package layers

import (
	"encoding/binary"
	"errors"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"weir/roce"
)

// The layer types, in the range that gopacket leaves to others.
var (
	LayerTypeTransport = gopacket.RegisterLayerType(4791, gopacket.LayerTypeMetadata{Name: "RoCE", Decoder: gopacket.DecodeFunc(decodeTransport)})
	LayerTypeGRH       = gopacket.RegisterLayerType(4792, gopacket.LayerTypeMetadata{Name: "GRH", Decoder: gopacket.DecodeFunc(decodeGRH)})
	LayerTypePause     = gopacket.RegisterLayerType(4793, gopacket.LayerTypeMetadata{Name: "MACControl", Decoder: gopacket.DecodeFunc(decodePause)})
)

// Register makes gopacket decode UDP port 4791, EtherType 0x8915 and EtherType 0x8808
// with the layers of this package. It changes gopacket's tables, so call it once,
// before decoding starts.
func Register() {
	layers.RegisterUDPPortLayerType(roce.Port, LayerTypeTransport)
	layers.EthernetTypeMetadata[roce.EtherTypeRoCEv1] = layers.EnumMetadata{
		DecodeWith: gopacket.DecodeFunc(decodeGRH), Name: "RoCEv1", LayerType: LayerTypeGRH,
	}
	layers.EthernetTypeMetadata[roce.EtherTypeMACControl] = layers.EnumMetadata{
		DecodeWith: gopacket.DecodeFunc(decodePause), Name: "MACControl", LayerType: LayerTypePause,
	}
}

// Transport is the RoCE layer: base transport header, the extension headers of the
// opcode, and the ICRC. Packet.Has says which of the embedded packet's headers
// are set; its link and network fields are not. Payload is the payload without
// pad and ICRC.
type Transport struct {
	layers.BaseLayer
	roce.Packet
	network []byte // for the ICRC of SerializeTo
}

// LayerType returns LayerTypeTransport.
func (*Transport) LayerType() gopacket.LayerType { return LayerTypeTransport }

// CanDecode returns LayerTypeTransport.
func (*Transport) CanDecode() gopacket.LayerClass { return LayerTypeTransport }

// NextLayerType returns that of a plain payload.
func (*Transport) NextLayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// LayerPayload returns the payload without pad and ICRC.
func (t *Transport) LayerPayload() []byte { return t.Packet.Payload }

// DecodeFromBytes reads the layer from what UDP carries. The data must be whole: their
// length is taken for that on the wire. Errors are of type roce.Error.
func (t *Transport) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	if err := t.Packet.DecodeTransport(data); err != nil {
		if err == roce.ErrTruncated || err == roce.ErrLength {
			df.SetTruncated()
		}
		return err
	}
	head := roce.BTHLen + t.BTH.Opcode.HeaderBytes()
	t.BaseLayer = layers.BaseLayer{Contents: data[:head], Payload: t.Packet.Payload}
	return nil
}

func decodeTransport(data []byte, b gopacket.PacketBuilder) error {
	t := &Transport{}
	if err := t.DecodeFromBytes(data, b); err != nil {
		return err
	}
	b.AddLayer(t)
	if len(t.Packet.Payload) == 0 {
		return nil
	}
	return b.NextDecoder(gopacket.LayerTypePayload)
}

// SetNetworkLayerForICRC gives SerializeTo the IP layer that the ICRC covers, and the UDP
// source port. Supported are *layers.IPv4 and *layers.IPv6.
func (t *Transport) SetNetworkLayerForICRC(ip gopacket.NetworkLayer, srcPort layers.UDPPort) error {
	t.Has &^= roce.HasIPv4 | roce.HasIPv6
	t.UDP.SrcPort = uint16(srcPort)
	switch ip := ip.(type) {
	case *layers.IPv4:
		src, dst := ip.SrcIP.To4(), ip.DstIP.To4()
		if src == nil || dst == nil {
			return roce.ErrBadAddress
		}
		t.Has |= roce.HasIPv4
		t.IPv4 = roce.IPv4{ID: ip.Id, Flags: uint8(ip.Flags), Src: [4]byte(src), Dst: [4]byte(dst)}
	case *layers.IPv6:
		src, dst := ip.SrcIP.To16(), ip.DstIP.To16()
		if src == nil || dst == nil {
			return roce.ErrBadAddress
		}
		t.Has |= roce.HasIPv6
		t.IPv6 = roce.IPv6{Src: roce.GID(src), Dst: roce.GID(dst)}
	default:
		return errors.New("layers: the ICRC needs an *IPv4 or *IPv6 layer")
	}
	return nil
}

// SerializeTo puts the headers before what is in b, which is taken for the payload, and
// pad and ICRC behind it. The ICRC is computed if opts.ComputeChecksums is set,
// which needs SetNetworkLayerForICRC; else it is t.ICRC.
func (t *Transport) SerializeTo(b gopacket.SerializeBuffer, opts gopacket.SerializeOptions) error {
	if opts.ComputeChecksums && t.Has&(roce.HasIPv4|roce.HasIPv6) == 0 {
		return errors.New("layers: call SetNetworkLayerForICRC before serializing")
	}
	p := t.Packet
	p.Has &= roce.HasIPv4 | roce.HasIPv6
	if p.Has == 0 {
		p.Has = roce.HasIPv4
	}
	p.Payload, p.PayloadLen = b.Bytes(), 0
	t.network = append(t.network[:0], make([]byte, p.Len())...)
	n, err := p.Encode(t.network)
	if err != nil {
		return err
	}
	at := roce.IPv4Len + roce.UDPLen
	if p.Has&roce.HasIPv6 != 0 {
		at = roce.IPv6Len + roce.UDPLen
	}
	whole := t.network[at:n]
	if !opts.ComputeChecksums {
		binary.LittleEndian.PutUint32(whole[len(whole)-roce.ICRCLen:], t.ICRC)
	}
	head := roce.BTHLen + t.BTH.Opcode.HeaderBytes()
	tail := len(whole) - head - len(p.Payload)
	front, err := b.PrependBytes(head)
	if err != nil {
		return err
	}
	copy(front, whole[:head])
	back, err := b.AppendBytes(tail)
	if err != nil {
		return err
	}
	copy(back, whole[len(whole)-tail:])
	b.PushLayer(LayerTypeTransport)
	return nil
}

// CheckICRC checks the ICRC of a packet that has a Transport layer.
func CheckICRC(p gopacket.Packet) roce.ICRCState {
	if p.Layer(LayerTypeTransport) == nil {
		return roce.ICRCUnchecked
	}
	var whole roce.Packet
	var err error
	if n := p.NetworkLayer(); n != nil {
		err = whole.DecodeIP(append(append([]byte{}, n.LayerContents()...), n.LayerPayload()...))
	} else if g, ok := p.Layer(LayerTypeGRH).(*GRH); ok {
		err = whole.DecodeGRH(append(append([]byte{}, g.Contents...), g.Payload...))
	}
	if err != nil {
		return roce.ICRCUnchecked
	}
	return whole.CheckICRC()
}

// GRH is the network header of RoCEv1.
type GRH struct {
	layers.BaseLayer
	roce.GRH
}

// LayerType returns LayerTypeGRH.
func (*GRH) LayerType() gopacket.LayerType { return LayerTypeGRH }

func decodeGRH(data []byte, b gopacket.PacketBuilder) error {
	g := &GRH{}
	if err := g.GRH.Decode(data); err != nil {
		b.SetTruncated()
		return err
	}
	end := min(len(data), roce.GRHLen+int(g.PayloadLen))
	g.BaseLayer = layers.BaseLayer{Contents: data[:roce.GRHLen], Payload: data[roce.GRHLen:end]}
	b.AddLayer(g)
	if g.NextHeader != roce.NextHeaderIBA {
		return roce.ErrVersion
	}
	return b.NextDecoder(LayerTypeTransport)
}

// Pause is a MAC control frame: PFC if IsPFC is set, else a plain PAUSE.
type Pause struct {
	layers.BaseLayer
	IsPFC bool
	PFC   roce.PFC
	Pause roce.Pause
}

// LayerType returns LayerTypePause.
func (*Pause) LayerType() gopacket.LayerType { return LayerTypePause }

func decodePause(data []byte, b gopacket.PacketBuilder) error {
	var p roce.Packet
	if err := p.DecodeEtherType(roce.EtherTypeMACControl, data); err != nil {
		return err
	}
	b.AddLayer(&Pause{
		BaseLayer: layers.BaseLayer{Contents: data}, IsPFC: p.Has&roce.HasPFC != 0, PFC: p.PFC, Pause: p.Pause,
	})
	return nil
}
