package verdict

import (
	"strings"
	"testing"
)

// One healthy collective beside every kind of other job: each takes its part
// of the NICs, and no setting is blamed for it.
func TestOtherJobsAreNamed(t *testing.T) {
	const base = `
host: {count: 4, gpus: 1, gpu: a100, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
jobs:
  - {name: train, collective: all_reduce, algorithm: ring, begin: 32M, end: 32M}
`
	const flows = "pattern: list, flows: [{src: host-0/nic-0, dst: host-1/nic-0, size: 32MiB}, {src: host-2/nic-0, dst: host-3/nic-0, size: 32MiB}]}\n"
	for name, job := range map[string]string{
		"TCP":              "  - {name: storage, transport: tcp, " + flows,
		"RDMA":             "  - {name: storage, " + flows,
		"incast with CNPs": "  - {name: storage, pattern: incast, receiver: host-1/nic-0, size: 16MiB}\n",
		"collective":       "  - {name: second, collective: all_reduce, algorithm: ring, begin: 32M, end: 32M}\n",
	} {
		v := text(t, base+job)
		check(t, name, v, ByOthers, "")
		if !strings.Contains(v.Sentence, "% of the line rate of host-") {
			t.Errorf("%s: %s", name, v.Sentence)
		}
	}
	// What is over before, or after, takes nothing.
	v := text(t, base+"  - {name: late, start: 1s, "+flows)
	check(t, "alone", v, "NIC", "")
}

// Others do not hide a fault.
func TestOtherJobsHideNoFault(t *testing.T) {
	v := text(t, `
host: {count: 4, gpus: 1, gpu: a100, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps, pcie: 40Gbps}}
fabric: {topology: single-switch}
jobs:
  - {name: train, collective: all_reduce, algorithm: ring, begin: 32M, end: 32M}
  - {name: storage, transport: tcp, pattern: list, flows: [{src: host-0/nic-0, dst: host-1/nic-0, size: 8MiB}]}
`)
	if len(v.Findings) != 1 || v.Findings[0].Cause != "pcie-bottleneck" {
		t.Errorf("%q, findings %+v", v.LimitedBy, v.Findings)
	}
}
