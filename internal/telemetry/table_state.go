package telemetry

func state(name, unit, help string, kind Kind, labels ...string) Metric {
	return Metric{Name: name, Unit: unit, Help: help, Kind: kind, Labels: labels}
}

// stateMetrics are what an agent tells of a port, card or host beside its
// counters. Those of a card have no port.
var stateMetrics = []Metric{
	state("rdma_port_rate_bits_per_second", "bits/s", "The port's rate.", Gauge, "netdev"),
	state("rdma_gid_info", "info", "An entry of the port's GID table in use: always 1.", Info, "index", "gid", "type", "netdev"),
	state("rdma_pcie_link_info", "info", "The card's PCIe link: always 1.", Info, "pci_addr", "speed", "width", "max_speed", "max_width", "numa_node"),
	state("rdma_pcie_link_degraded", "bool", "1 while the card's PCIe link is slower or narrower than the card can.", Gauge),
	state("rdma_gpu_distance_info", "info", "How far a GPU is from the card, in the words of nvidia-smi topo -m: PIX, PXB, PHB, NODE, SYS. Always 1.", Info, "gpu", "distance"),
	state("rdma_dcb_pfc_enabled", "bool", "1 if PFC is on for the priority.", Gauge, "netdev", "priority"),
	state("rdma_fec_info", "info", "The port's forward error correction: always 1.", Info, "netdev", "active", "configured"),
	state("rdma_module_temperature_celsius", "celsius", "Temperature of the plugged module.", Gauge, "netdev"),
	state("rdma_module_rx_power_nanowatts", "nanowatts", "Light that a lane of the module receives.", Gauge, "netdev", "lane"),
	state("rdma_user_info", "info", "A job, pod or other process that has the card open: always 1.", Info, "kind", "id", "step", "namespace", "name"),
	state("rdma_counter_disabled_info", "info", "A counter that is switched off, and the command that switches it on: always 1.", Info, "counter", "command"),
}
