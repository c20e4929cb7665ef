// Package roce encodes and decodes RoCEv2 packets (and RoCEv1's), their
// invariant checksum and the Ethernet pause frames that make their network
// lossless. It depends on the standard library alone.
package roce
