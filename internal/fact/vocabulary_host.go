package fact

// hostKeys: the machine's software and kernel. Subjects are hosts, processes
// and NICs.
var hostKeys = [...]Key{
	{"host.name", "", Text, "host name as the machine prints it"},
	{"host.kernel", "", Text, "kernel release"},
	{"host.module.{name}", "", Bool, "a kernel module is loaded"},
	{"host.module_error", "", Text, "why a kernel module could not be loaded; starts with its name"},
	{"host.peermem", "", Bool, "a peer memory module (nvidia_peermem, nv_peer_mem) is loaded"},
	{"host.memlock", "bytes", Uint, "limit of locked memory"},
	{"host.memlock_unlimited", "", Bool, "there is no such limit"},
	{"host.iommu", "", Text, "kernel option or state of the IOMMU"},
	{"host.cpu_frequency_low", "", Bool, "the CPU does not run at its highest frequency"},
	{"sysctl.{name...}", "", Text, "a kernel setting"},
	{"kernel.event", "", Text, "kind of a kernel message that matters: link_down, link_up, pcie_power, pcie_error, tx_timeout, firmware_error, module_error, xid, machine_check, oom"},
	{"kernel.message", "", Text, "its text"},
	{"devlink.reporter.{name}.state", "", Text, "healthy or error"},
	{"devlink.reporter.{name}.errors", "", Uint, "errors that the reporter saw"},
	{"devlink.reporter.{name}.recoveries", "", Uint, "recoveries that the reporter made"},
	{"devlink.param.{name}", "", Text, "a device parameter"},
	{"env.{name}", "", Text, "an environment variable other than NCCL's"},
	{"command.program", "", Text, "a program that a command line started"},
	{"command.line", "", Text, "the command line"},
	{"stated.{name...}", "", Text, "a value that a person wrote down (key: value)"},
}

// topologyKeys: which GPU is near which NIC. Subjects are GPUs, NICs and hosts.
var topologyKeys = [...]Key{
	{"topo.path.{peer}", "", Text, "way to a peer (GPU1, NIC0): X, NV#, PIX, PXB, PHB, NODE, SYS; for AMD XGMI, PCIE"},
	{"topo.hops.{peer}", "", Uint, "hops to a peer"},
	{"topo.weight.{peer}", "", Uint, "distance weight to a peer"},
	{"topo.cpus", "", Text, "CPU affinity"},
	{"topo.numa", "", Text, "NUMA node or nodes"},
	{"topo.nic.{index}", "", Text, "device name of a NIC of the matrix"},
	{"topo.gpus", "", Uint, "GPUs in the matrix"},
	{"topo.nics", "", Uint, "NICs in the matrix"},
	{"topo.nearest_path", "", Text, "best way from the GPU to any NIC"},
	{"topo.nearest_nics", "", List, "NICs that are reached that way"},
	{"topo.unassigned_nics", "", List, "NICs that are no GPU's nearest by PIX or PXB though other NICs are"},
	{"topo.flat", "", Bool, "every GPU-NIC way is the same, so the matrix tells nothing: as in a virtual machine"},
	{"topo.nvlink", "", Bool, "some pair of GPUs has NVLink or XGMI"},
	{"topo.gpus_without_near_nic", "", Uint, "GPUs that reach every NIC only across the CPU interconnect (SYS)"},
}
