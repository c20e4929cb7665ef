// Package bundle gathers what hosts and switches say at one moment, and writes
// it as one archive: a tar file, compressed with zstd, with a manifest.
//
// # Format
//
//	manifest.json          what was asked, of whom, when, and what came of it (type Manifest)
//	before/HOST.txt        counters, first reading
//	state/HOST.txt         settings and state
//	after/HOST.txt         counters, second reading
//	switches/SWITCH.txt    configuration and show outputs
//
// Each text holds, for each command, a prompt line (root@host-3:~# ethtool -S
// eth2) and what the command printed, as a terminal would show it. weir facts,
// diagnose, audit and import read the archive as it is, or unpacked.
//
// Secrets (passwords, keys, SNMP communities) are replaced before anything is
// written.
package bundle
