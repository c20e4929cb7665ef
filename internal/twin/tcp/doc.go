// Package tcp is a TCP connection's machinery as pure state machines: the
// congestion window (CUBIC, RFC 9438; DCTCP, RFC 8257; Reno, RFC 5681), a
// sender with selective acknowledgement, loss recovery, tail loss probe and
// retransmission timer, and a receiver. It knows no clock, socket or payload:
// time and descriptors of segments come in as arguments. One direction of a
// connection is a Sender at one end and a Receiver at the other.
//
// What it leaves out: handshake and close, delayed acknowledgement (the caller
// decides when to acknowledge), Nagle's algorithm (libraries turn it off),
// limited transmit, undo of spurious recovery. Congestion notifications come
// back as a count of marked bytes, which the one bit of RFC 8257 approximates.
//
// No type here is safe for concurrent use.
package tcp
