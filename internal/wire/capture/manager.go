package capture

import (
	"weir/roce"
	"weir/units"
)

// maxExchanges bounds the connection manager's exchanges that are kept.
const maxExchanges = 1 << 12

// exchange is one connection as the connection manager set it up.
type exchange struct {
	id           uint64 // transaction id of the request
	client       roce.GID
	server       roce.GID
	protocol     uint8
	port         uint16
	hasPort      bool
	serviceID    uint64
	service      bool // SIDR
	localID      uint32
	remoteID     uint32
	clientQPN    roce.QPN
	serverQPN    roce.QPN
	mtu          int
	ackTimeout   uint8
	retryCount   uint8
	requests     uint64 // ConnectRequests: more than one is a repeat
	replied      bool
	ready        bool
	disconnected bool
	rejected     bool
	reason       roce.CMReason
	status       uint8
	firstPacket  uint64
	lastPacket   uint64
	firstAt      units.Time
	setAt        units.Time // of the reply
}

// manage takes a datagram of the connection manager.
func (a *Analyser) manage(at units.Time) {
	p := &a.packet
	var m roce.CM
	if m.Decode(p.Payload) != nil {
		return
	}
	src, dst := p.Src(), p.Dst()
	e := a.exchangeOf(&m, src, dst)
	if e == nil {
		return
	}
	e.lastPacket = a.frames
	switch m.Kind {
	case roce.CMConnectRequest, roce.CMServiceRequest:
		e.requests++
		e.clientQPN, e.mtu = m.QPN, m.MTU
		e.ackTimeout, e.retryCount = m.AckTimeout, m.RetryCount
	case roce.CMConnectReply:
		e.replied, e.serverQPN, e.remoteID, e.setAt = true, m.QPN, m.LocalID, at
		a.introduce(e)
	case roce.CMServiceReply:
		e.replied, e.serverQPN, e.status, e.setAt = true, m.QPN, m.Status, at
	case roce.CMReadyToUse:
		e.ready = true
	case roce.CMReject:
		e.rejected, e.reason = true, m.Reason
	case roce.CMDisconnectRequest, roce.CMDisconnectReply:
		e.disconnected = true
	}
}

// exchangeOf finds the exchange that a message belongs to, or begins one.
func (a *Analyser) exchangeOf(m *roce.CM, src, dst roce.GID) *exchange {
	for i := len(a.exchanges) - 1; i >= 0 && i >= len(a.exchanges)-256; i-- {
		e := a.exchanges[i]
		fromClient := e.client == src && e.server == dst
		fromServer := e.client == dst && e.server == src
		if !fromClient && !fromServer {
			continue
		}
		switch m.Kind {
		case roce.CMConnectRequest, roce.CMServiceRequest:
			if fromClient && e.id == m.TransactionID {
				return e
			}
		case roce.CMDisconnectRequest, roce.CMDisconnectReply:
			// These have a transaction of their own; the communication ids tell.
			ids := [2]uint32{m.LocalID, m.RemoteID}
			if fromClient && ids == [2]uint32{e.localID, e.remoteID} || fromServer && ids == [2]uint32{e.remoteID, e.localID} {
				return e
			}
		default:
			if e.id == m.TransactionID {
				return e
			}
		}
	}
	if m.Kind != roce.CMConnectRequest && m.Kind != roce.CMServiceRequest || len(a.exchanges) == maxExchanges {
		return nil
	}
	e := &exchange{
		id: m.TransactionID, client: src, server: dst, serviceID: m.ServiceID,
		service: m.Kind == roce.CMServiceRequest, localID: m.LocalID,
		firstPacket: a.frames, firstAt: a.at,
	}
	e.protocol, e.port, e.hasPort = m.Port()
	a.exchanges = append(a.exchanges, e)
	return e
}

// introduce makes partners of the two flows of a connection that was just agreed.
func (a *Analyser) introduce(e *exchange) {
	to := a.flows.get(&flowKey{src: e.client, dst: e.server, qpn: e.serverQPN})
	back := a.flows.get(&flowKey{src: e.server, dst: e.client, qpn: e.clientQPN})
	if to == nil || back == nil || to.peer != nil || back.peer != nil {
		return
	}
	to.join(back)
}
