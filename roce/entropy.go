package roce

// FlowLabelMask has the 20 bits of a flow label.
const FlowLabelMask = 1<<20 - 1

// SourcePort returns the UDP source port, 49152 to 65535, for a 20-bit flow
// label: the label's low 14 bits, xor its high 6, in the dynamic port range
// (the convention of rdma-core's ibv_flow_label_to_udp_sport and of the Linux
// kernel). Senders are free to use any other: receivers look at the
// destination port alone.
func SourcePort(flowLabel uint32) uint16 {
	fl := flowLabel & FlowLabelMask
	return uint16(0xc000 | (fl&0x3fff ^ fl>>14))
}

// FlowLabel returns the flow label that connections without one take from
// their two queue pair numbers (Linux kernel, rdma_calc_flow_label). It is the
// same for both directions.
func FlowLabel(a, b QPN) uint32 {
	v := uint64(a&QPNMask) * uint64(b&QPNMask)
	v ^= v >> 20
	v ^= v >> 40
	return uint32(v & FlowLabelMask)
}

// SourcePortQPs returns the UDP source port of a connection between queue
// pairs a and b that has no flow label.
func SourcePortQPs(a, b QPN) uint16 { return SourcePort(FlowLabel(a, b)) }

// FlowLabelPorts returns the flow label that the Linux connection manager
// takes from the two ports of an IP connection.
func FlowLabelPorts(src, dst uint16) uint32 {
	return (uint32(src)*31 + uint32(dst)) & FlowLabelMask
}
