// Package rnic is an RDMA adapter in software: RoCEv2 queue pairs in user
// space, over an ordinary UDP socket or an in-memory fabric, in the vocabulary
// of verbs.
//
// A Device has protection domains (PD), in which memory regions (MR) and queue
// pairs (QP) are made; completions arrive in completion queues (CQ). Local
// memory is given as slices, which are the queue pair's until the completion
// arrives; remote memory by address and key.
//
//	dev, err := rnic.Open(rnic.Config{Addr: netip.MustParseAddr("10.0.0.1")})
//	pd := dev.AllocPD()
//	mr, err := pd.RegisterMR(buf, rnic.RemoteWrite|rnic.RemoteRead)
//	cq := dev.CreateCQ(256)
//	qp, err := pd.CreateQP(rnic.QPConfig{Type: rnic.RC, SendCQ: cq, RecvCQ: cq})
//	err = qp.Connect(rnic.Peer{Addr: a, QPN: n, PSN: p}, rnic.DefaultPath())
//	err = qp.PostSend(&rnic.SendRequest{ID: 1, Op: rnic.OpWrite, Data: data, RemoteAddr: va, RKey: key})
//
// The protocol is that of packages rc, dcqcn and roce: packets, sequence
// numbers, NAKs, timers and rates are theirs, keys, addresses and memory are
// this package's. What comes from the network is never trusted: a packet for
// no queue pair, from another address than the peer's, with a wrong ICRC, key
// or bound costs a counter and, where the protocol asks for it, a NAK.
//
// # What an ordinary socket can check
//
// The ICRC of IPv4 covers the identification, which a socket does not tell. So
// it is checked against identification 0, which this package and most adapters
// send, and otherwise against all identifications at once: the CRC is linear,
// so 65,535 of 65,536 damaged packets are still found (Counters.ICRCLoose says
// how many packets were held against the weaker rule). Config.RawReceive reads
// packets with their headers, where the process may, and checks all of it.
package rnic
