package fact

// switchKeys: switches, their ports and queues, beyond linkKeys and qosKeys.
// Subjects are switches, ports and queues ("port/queue").
var switchKeys = [...]Key{
	{"switch.system", "", Text, "operating system: nxos, eos, nvue, sonic ..."},
}
