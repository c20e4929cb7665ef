package roce

import (
	"encoding/binary"
	"strconv"
)

// The connection manager talks in management datagrams: UD SEND ONLY to queue
// pair 1 with queue key 0x80010000 (volume 1, section 12.6; the header is that
// of section 13.4.3).
const (
	CMQPN  QPN    = 1
	CMQKey uint32 = 0x80010000
	// MADLen is the length of a management datagram in bytes.
	MADLen = 256

	madHeaderLen = 24
	madClassCM   = 0x07
)

// CMKind is the attribute of a connection manager message.
type CMKind uint16

// The messages.
const (
	CMConnectRequest    CMKind = 0x10
	CMReceipt           CMKind = 0x11 // MRA: "got it, working on it"
	CMReject            CMKind = 0x12
	CMConnectReply      CMKind = 0x13
	CMReadyToUse        CMKind = 0x14
	CMDisconnectRequest CMKind = 0x15
	CMDisconnectReply   CMKind = 0x16
	CMServiceRequest    CMKind = 0x17 // SIDR
	CMServiceReply      CMKind = 0x18
	CMLoadAlternate     CMKind = 0x19
	CMAlternateReply    CMKind = 0x1a
)

var cmNames = [...]string{
	"ConnectRequest", "MessageReceiptAck", "ConnectReject", "ConnectReply", "ReadyToUse", "DisconnectRequest",
	"DisconnectReply", "ServiceIDRequest", "ServiceIDReply", "LoadAlternatePath", "AlternatePathReply",
}

// String returns the message's name, such as "ConnectRequest".
func (k CMKind) String() string {
	if i := int(k) - int(CMConnectRequest); i >= 0 && i < len(cmNames) {
		return cmNames[i]
	}
	return "CM attribute " + strconv.Itoa(int(k))
}

// CMReason is why a connection was rejected (section 12.6.7.2).
type CMReason uint16

// CMConsumerReject is the reason that an application gives.
const CMConsumerReject CMReason = 28

// cmReasons holds the texts of the codes 1 to 33.
var cmReasons = [...]string{
	1: "no queue pair", "no EE context", "no resources", "timeout", "unsupported request", "invalid communication id",
	"invalid communication instance", "invalid service id: nobody listens there", "invalid transport type",
	"stale connection: the queue pair number is still known from an older one", "RDC does not exist",
	"primary remote GID rejected", "primary remote LID rejected", "invalid primary SL", "invalid primary traffic class",
	"invalid primary hop limit", "invalid primary packet rate", "alternate remote GID rejected",
	"alternate remote LID rejected", "invalid alternate SL", "invalid alternate traffic class",
	"invalid alternate hop limit", "invalid alternate packet rate", "connection manager redirected", "port redirected",
	"invalid path MTU", "insufficient responder resources", "rejected by the application", "RNR retry count rejected",
	"duplicate communication id", "unsupported class version", "invalid primary flow label", "invalid alternate flow label",
}

// String returns the reason in words, "reason 99" if it is unknown.
func (r CMReason) String() string {
	if int(r) < len(cmReasons) && cmReasons[r] != "" {
		return cmReasons[r]
	}
	return "reason " + strconv.Itoa(int(r))
}

// CM is a connection manager message, as far as an observer needs it. Which
// fields are set depends on Kind; the others are zero.
type CM struct {
	Kind          CMKind
	TransactionID uint64
	// LocalID is the sender's number for the connection, RemoteID the
	// receiver's. Service id messages carry their request id in LocalID.
	LocalID, RemoteID uint32

	// ConnectRequest and ConnectReply: the sender's queue pair and first PSN. ServiceIDReply: the queue
	// pair. DisconnectRequest: the receiver's queue pair.
	QPN QPN
	PSN PSN

	// ConnectRequest.
	ServiceID  uint64
	MTU        int   // path MTU in bytes, 0 if the code is unknown
	RetryCount uint8 // 0 to 7
	RNRRetry   uint8 // 0 to 7, 7: for ever; in a ConnectReply too
	AckTimeout uint8 // code: see AckTimeout
	FlowLabel  uint32
	SrcGID     GID
	DstGID     GID

	Reason CMReason // ConnectReject
	Status uint8    // ServiceIDReply: 0 is good
}

// Port returns the port of a service id of the RDMA IP CM service (annex A11)
// and its protocol number, 6 for the TCP port space, 17 for UDP; ok is false
// for other service ids.
func (c *CM) Port() (protocol uint8, port uint16, ok bool) {
	if c.ServiceID>>24 != 1 {
		return 0, 0, false
	}
	return uint8(c.ServiceID >> 16), uint16(c.ServiceID), true
}

// IsCM reports whether p is a datagram to the connection manager's queue pair.
func (p *Packet) IsCM() bool {
	return p.Has&HasDETH != 0 && p.BTH.DestQP == CMQPN && p.DETH.QKey == CMQKey
}

// MTUBytes returns the path MTU of a verbs code: 1 to 5 for 256 to 4096, else 0.
func MTUBytes(code uint8) int {
	if code < 1 || code > 5 {
		return 0
	}
	return 128 << code
}

// Decode reads c from a management datagram. It returns ErrTruncated if b is
// shorter than the message's fields and ErrNotRoCE if the datagram is of
// another class than the connection manager's.
func (c *CM) Decode(b []byte) error {
	*c = CM{}
	if len(b) < madHeaderLen+8 {
		return ErrTruncated
	}
	if b[1] != madClassCM {
		return ErrNotRoCE
	}
	be := binary.BigEndian
	c.TransactionID = be.Uint64(b[8:])
	c.Kind = CMKind(be.Uint16(b[16:]))
	b = b[madHeaderLen:]
	c.LocalID, c.RemoteID = be.Uint32(b), be.Uint32(b[4:])
	switch c.Kind {
	case CMConnectRequest:
		return c.decodeRequest(b)
	case CMConnectReply:
		if len(b) < 28 {
			return ErrTruncated
		}
		c.QPN, c.PSN = QPN(be.Uint32(b[12:])>>8), PSN(be.Uint32(b[20:])>>8)
		c.RNRRetry = b[27] >> 5
	case CMReject:
		if len(b) < 12 {
			return ErrTruncated
		}
		c.Reason = CMReason(be.Uint16(b[10:]))
	case CMDisconnectRequest:
		if len(b) < 12 {
			return ErrTruncated
		}
		c.QPN = QPN(be.Uint32(b[8:]) >> 8)
	case CMServiceRequest:
		if len(b) < 16 {
			return ErrTruncated
		}
		c.RemoteID, c.ServiceID = 0, be.Uint64(b[8:])
	case CMServiceReply:
		if len(b) < 20 {
			return ErrTruncated
		}
		c.RemoteID, c.Status = 0, b[4]
		c.QPN, c.ServiceID = QPN(be.Uint32(b[8:])>>8), be.Uint64(b[12:])
	}
	return nil
}

// decodeRequest reads the fields of table 99, section 12.6.5.
func (c *CM) decodeRequest(b []byte) error {
	if len(b) < 96 {
		return ErrTruncated
	}
	be := binary.BigEndian
	c.RemoteID = 0
	c.ServiceID = be.Uint64(b[8:])
	c.QPN = QPN(be.Uint32(b[32:]) >> 8)
	v := be.Uint32(b[44:])
	c.PSN, c.RetryCount = PSN(v>>8), uint8(v&7)
	c.MTU, c.RNRRetry = MTUBytes(b[50]>>4), b[50]&7
	c.SrcGID, c.DstGID = GID(b[56:]), GID(b[72:])
	c.FlowLabel = be.Uint32(b[88:]) >> 12
	c.AckTimeout = b[95] >> 3
	return nil
}
