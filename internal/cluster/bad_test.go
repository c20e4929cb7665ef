package cluster

import (
	"errors"
	"strings"
	"testing"

	"weir/internal/input"
)

// Every refused file gets one line: place, what was found, what is allowed.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"unknown key", "qos:\n  ecm:\n    min: 1KB\n", `c.yaml:2:3: found unknown key "ecm": allowed roce, cnp, classes, mtu, port_mtu, pfc, ecn, watchdog; did you mean "ecn"?`},
		{"unknown key at the top", "host:\n  count: 2\nfabrik: {}\n", `c.yaml:3:1: found unknown key "fabrik": allowed name, seed, hosts, host, fabric, switch, qos, transport, transports, routing, rdma, dcqcn, nccl, jobs, job, faults, prices; did you mean "fabric"?`},
		{"moved key", "dcqcn:\n  np_cnp_dscp: 48\n", `c.yaml:2:3: found key "np_cnp_dscp": allowed the key qos.cnp.dscp`},
		{"wrong unit", "qos:\n  ecn:\n    min: 10XB\n", `c.yaml:3:10: "10XB" is not a size: a number with unit B, KB, MB, GB (1000) or KiB, MiB, GiB (1024), as in 150KB`},
		{"time as size", "qos: {ecn: {min: 10us}}\n", `c.yaml:1:18: "10us" is not a size: a number with unit B, KB, MB, GB (1000) or KiB, MiB, GiB (1024), as in 150KB`},
		{"no unit", "fabric: {host_link: {length: 30}}\n", `c.yaml:1:30: "30" is not a length: a number with unit m, as in 30m`},
		{"count as text", "host:\n  count: many\n", `c.yaml:2:10: "many" is not a whole number: a whole number from 1 to 1048576`},
		{"count in quotes", "host:\n  count: \"8\"\n", `c.yaml:2:10: found "8" in quotes: allowed a whole number from 1 to 1048576`},
		{"count with fraction", "host:\n  count: 1.5\n", `c.yaml:2:10: "1.5" is not a whole number: a whole number from 1 to 1048576`},
		{"negative count", "host:\n  count: -3\n", `c.yaml:2:10: found count -3: allowed 1 to 1048576`},
		{"mapping for scalar", "host:\n  count:\n    a: 1\n", `c.yaml:3:6: found a mapping: allowed a whole number from 1 to 1048576`},
		{"scalar for mapping", "qos: lossless\n", `c.yaml:1:6: found "lossless": allowed a mapping of keys to values`},
		{"list for mapping", "qos: [1]\n", `c.yaml:1:6: found a list: allowed a mapping of keys to values`},
		{"scalar for list", "faults: none\n", `c.yaml:1:9: found "none": allowed a list`},
		{"nothing for scalar", "host:\n  count:\n", `c.yaml:2:10: found no value: allowed a whole number from 1 to 1048576`},
		{"truth value", "qos:\n  pfc: yes\n", `c.yaml:2:8: found pfc "yes": allowed true or false`},
		{"number for name", "name: 12\n", `c.yaml:1:7: found 12, which YAML reads as a number or truth value: allowed a name of up to 255 letters, digits, dots, hyphens and underscores, not . or ..; put it in quotes`},
		{"bad name", "name: a/b\n", `c.yaml:1:7: "a/b" is not a name: a name of up to 255 letters, digits, dots, hyphens and underscores, not . or ..`},
		{"name of no file", "host: {names: [a, ..], count: 2}\n", `c.yaml:1:19: ".." is not a name: a name of up to 255 letters, digits, dots, hyphens and underscores, not . or ..`},
		{"duplicate key", "host:\n  count: 2\n  gpus: 8\n  count: 3\n", `c.yaml:4:3: found "count" again: allowed each key once in a mapping; the first is on line 2`},
		{"duplicate section", "qos: {}\nhost: {}\nqos: {}\n", `c.yaml:3:1: found "qos" again: allowed each key once in a mapping; the first is on line 1`},
		{"host and hosts", "host: {count: 1}\nhosts: [{count: 2}]\n", `c.yaml:2:1: found hosts beside host: allowed one of them`},
		{"not YAML", "host: [1, 2\n", `c.yaml:1:7: not valid YAML: sequence end token ']' not found`},
		{"tab", "host:\n\tcount: 2\n", `c.yaml:2:1: not valid YAML: found character ' ' that cannot start any token`},
		{"two documents", "name: a\n---\nname: b\n", `c.yaml:3:1: found a second document: allowed one YAML document in a file`},
		{"tag", "name: !!str a\n", `c.yaml:1:7: found a YAML tag: allowed a name of up to 255 letters, digits, dots, hyphens and underscores, not . or ..`},
		{"merge key", "host: &h {count: 1}\nqos:\n  <<: *h\n", `c.yaml:3:3: found a merge key or a key that is not plain: allowed plain names as keys`},
		{"unknown alias", "host: *nowhere\n", `c.yaml:1:7: found alias "nowhere": allowed an anchor that was defined before`},
		{"priority 9", "qos:\n  roce:\n    priority: 9\n", `c.yaml:3:15: found priority 9: allowed 0 to 7`},
		{"DSCP 64", "qos:\n  roce: {dscp: 64}\n", `c.yaml:2:16: found dscp 64: allowed 0 to 63`},
		{"same DSCP", "qos:\n  cnp: {dscp: 26}\n", `c.yaml:2:15: found DSCP 26 for roce and cnp: allowed a code point of its own for each class`},
		{"priority both lossless and not", "qos:\n  cnp: {priority: 3}\n", `c.yaml:2:19: found priority 3 both lossless (roce) and not (cnp): allowed one or the other`},
		{"shares above one", "qos:\n  classes: [{name: storage, dscp: 10, priority: 1, share: 60%}]\n", `c.yaml:2:59: found shares of together 110%: allowed at most 100%`},
		{"strict with share", "qos: {roce: {strict: true}}\n", `c.yaml:1:22: found a share for strict class roce: allowed strict: true or a share`},
		{"third lossless class", "qos:\n  classes:\n    - {name: a, dscp: 10, priority: 1, lossless: true}\n    - {name: b, dscp: 12, priority: 2, lossless: true}\n", `c.yaml:4:50: found 3 lossless priorities on spectrum-4: allowed at most 2`},
		{"class without DSCP", "qos:\n  classes:\n    - {name: a, priority: 1}\n", `c.yaml:3:8: found a class without dscp: allowed a class with name, dscp, priority`},
		{"class name twice", "qos: {classes: [{name: roce, dscp: 10, priority: 1}]}\n", `c.yaml:1:24: found class "roce" twice: allowed a name of its own for each class; roce and cnp are taken`},
		{"share", "qos: {ecn: {probability: 120%}}\n", `c.yaml:1:26: "120%" is not a share: a percentage between 0% and 100% or a number between 0 and 1`},
		{"ECN max above the buffer", "host: {nic: {speed: 100Gbps}}\nswitch: {model: spectrum-2}\nqos:\n  ecn:\n    max: 50MiB\n", `c.yaml:5:10: found ECN max 50MiB above the buffer of spectrum-2: allowed at most 42MiB`},
		{"ECN min above max", "qos:\n  ecn:\n    min: 200KB\n    max: 100KB\n", `c.yaml:3:10: found ECN min 200KB above max 100KB: allowed min up to max`},
		{"headroom above the buffer", "host: {count: 2, nic: {count: 1, speed: 100Gbps}}\nswitch: {model: spectrum-1, headroom: 10MB}\n", `c.yaml:2:39: found headroom of together 40MB for the 4 ports of leaf-0: allowed less than the buffer of 16MiB: shorter cables, fewer lossless priorities or switch.headroom`},
		// 2 x 2 ms at 100 Gb/s are 50 MB on each host's cable.
		{"cables too long", "host: {count: 2, nic: {count: 1, speed: 100Gbps}}\nfabric:\n  host_link: {delay: 2ms}\nswitch: {model: spectrum-1}\n", `c.yaml:3:3: found headroom of together 100.041MB for the 4 ports of leaf-0: allowed less than the buffer of 16MiB: shorter cables, fewer lossless priorities or switch.headroom`},
		{"port MTU", "qos: {mtu: 4096, port_mtu: 1500}\n", `c.yaml:1:28: found a port MTU of 1500 for an RDMA MTU of 4096: allowed at least 4156`},
		{"MTU", "qos: {mtu: 1500}\n", `c.yaml:1:12: found mtu 1500: allowed 256, 512, 1024, 2048, 4096`},
		{"7 leaves with 8 rails", "host: {count: 4}\nfabric:\n  topology: rail-optimised\n  leaves: 7\n", `c.yaml:4:11: found 7 leaves with 8 rails: allowed 8, one for each rail and pod`},
		{"leaves not in pods", "fabric: {topology: fat-tree, pods: 2, leaves: 5}\n", `c.yaml:1:47: found 5 leaves in 2 pods: allowed a multiple of the pods`},
		{"cores", "host: {count: 64}\nfabric: {topology: fat-tree, pods: 2, leaves: 8, spines: 8, cores: 6}\n", `c.yaml:2:68: found 6 cores for 4 spines in each pod: allowed a multiple of the spines of a pod`},
		{"odd MLAG", "host: {nic: {ports: 2, model: connectx-6-dx, speed: 100G}}\nfabric: {leaves: 3, mlag: true}\n", `c.yaml:2:18: found 3 leaves in MLAG pairs: allowed an even number of leaves in each pod`},
		{"MLAG for one port", "fabric: {leaves: 2, mlag: true}\n", `c.yaml:1:27: found MLAG pairs for cards with 1 port: allowed mlag with nic.ports: 2`},
		{"planes and ports", "host: {nic: {ports: 2}}\nfabric: {planes: 4}\n", `c.yaml:2:18: found 4 planes for cards with 2 ports: allowed as many planes as ports, or cards with 1 port`},
		{"too many ports", "host: {count: 80, nic: {speed: 100Gbps}}\nfabric:\n  topology: single-switch\nswitch: {model: tomahawk-3}\n", `c.yaml:3:13: found 640 ports of together 64000Gbps on leaf-0 (tomahawk-3): allowed 32 ports of 400Gbps, or up to 128 slower ones`},
		{"port too fast", "host: {nic: {speed: 400Gbps}}\nswitch: {model: spectrum-2}\n", `c.yaml:2:17: found a port of 400Gbps on leaf-0 (spectrum-2): allowed at most 200Gbps`},
		{"NIC speed", "host:\n  nic:\n    model: connectx-6-dx\n    speed: 400Gbps\n", `c.yaml:4:12: found 400Gbps on connectx-6-dx: allowed 10Gbps, 25Gbps, 40Gbps, 50Gbps, 100Gbps, 200Gbps`},
		{"unknown NIC", "host:\n  nic:\n    model: conectx-7\n", `c.yaml:3:12: found model "conectx-7": allowed connectx-5, connectx-6, connectx-6-dx, connectx-7, connectx-8, bluefield-3, thor2, e810, pollara-400; did you mean "connectx-7"?`},
		{"NIC ports", "host: {nic: {ports: 3}}\n", `c.yaml:1:21: found ports 3: allowed 1 to 2`},
		{"bond of one", "host: {nic: {bond: true}}\n", `c.yaml:1:20: found a bond of one port: allowed bond with ports: 2`},
		{"bond across planes", "host: {nic: {ports: 2, bond: true}}\nfabric: {planes: 2}\n", `c.yaml:1:30: found a bond across 2 planes: allowed bond with planes: 1`},
		{"adaptive routing", "switch: {model: trident-3}\nhost: {nic: {speed: 100Gbps}}\nrouting:\n  mode: adaptive\n", `c.yaml:4:9: found adaptive routing on trident-3: allowed ecmp, or a switch model that has it: spectrum-2, spectrum-3, spectrum-4, tomahawk-4, tomahawk-5`},
		{"spray", "switch: {model: spectrum-3}\nhost: {nic: {speed: 100Gbps}}\nrouting: {mode: spray}\n", `c.yaml:3:17: found spray routing on spectrum-3: allowed ecmp, or a switch model that has it: spectrum-4, tomahawk-5, jericho-2c-plus`},
		{"out of order", "host: {nic: {model: e810}}\nrdma: {out_of_order: true}\n", `c.yaml:2:22: found out-of-order placement on e810: allowed false, or a card that has it`},
		{"selective repeat", "host: {nic: {model: connectx-5}}\nrdma: {recovery: selective-repeat}\n", `c.yaml:2:18: found selective-repeat on connectx-5: allowed go-back-n, or a card that has it`},
		{"switch OS", "switch:\n  model: spectrum-4\n  os: vrp\n", `c.yaml:3:7: found vrp on spectrum-4: allowed nvue, sonic`},
		{"rail of unknown device", "host:\n  nic:\n    count: 2\n    devices: [mlx5_0, mlx5_1]\n    rails: {mlx5_0: 0, mlx5_3: 1}\n", `c.yaml:5:32: found device "mlx5_3": allowed the class's devices; did you mean "mlx5_0"?`},
		{"devices and cards", "host: {nic: {count: 3, devices: [a, b]}}\n", `c.yaml:1:24: found 2 devices for 3 cards: allowed one device for each card (nic.count)`},
		{"device twice", "host: {nic: {count: 2, devices: [a, a]}}\n", `c.yaml:1:24: found device "a" twice: allowed each device once`},
		{"GPU of a device", "host: {gpus: 1, nic: {count: 1, gpus: {mlx5_0: 4}}}\n", `c.yaml:1:33: found GPU 4: allowed 0 to 0, or -1`},
		{"addresses", "host: {nic: {count: 2, addresses: [10.0.0.1]}}\n", `c.yaml:1:24: found 1 address for 2 cards: allowed one address for each card, host by host`},
		{"address", "host: {nic: {count: 1, addresses: [10.0.0.256]}}\n", `c.yaml:1:36: found "10.0.0.256": allowed an IPv4 address, as in 10.0.0.1`},
		{"names", "host: {count: 3, names: [a, b]}\n", `c.yaml:1:18: found 2 names for 3 hosts: allowed one name for each host`},
		{"host named twice", "host:\n  count: 2\n  names: [gpu1, gpu1]\n", `c.yaml:3:17: found "gpu1" twice: allowed a name of its own for each node; a host has this one`},
		{"host named as a leaf", "host: {count: 1, names: [leaf-0]}\n", `c.yaml:1:26: found "leaf-0" twice: allowed a name of its own for each node; a host has this one`},
		{"cores in leaf-spine", "fabric:\n  cores: 4\n", `c.yaml:2:10: found fabric.cores, which has no effect here: allowed with topology fat-tree`},
		{"GPU without GPUs", "host: {gpus: 0, gpu: h100}\n", `c.yaml:1:22: found host.gpu, which has no effect here: allowed with gpus of at least 1`},
		{"link to unknown node", "fabric:\n  topology: explicit\n  switches: [{name: sw1}]\n  links:\n    - {a: host-0/nic-0, b: sw2}\n", `c.yaml:5:28: found unknown node "sw2": allowed a host or switch of the file; did you mean "sw1"?`},
		{"link to unknown NIC", "host: {nic: {count: 1}}\nfabric: {topology: explicit, switches: [{name: sw1}], links: [{a: host-0/nic-4, b: sw1}]}\n", `c.yaml:2:67: found unknown port "nic-4" of host-0: allowed nic-0`},
		{"link without end", "fabric: {topology: explicit, switches: [{name: sw1}], links: [{a: sw1}]}\n", `c.yaml:1:64: found a link without b: allowed a link with a, b`},
		{"link to itself", "fabric: {topology: explicit, switches: [{name: sw1}], links: [{a: sw1, b: sw1}]}\n", `c.yaml:1:75: found a link from sw1 to itself: allowed two different nodes`},
		{"port cabled twice", "host: {count: 2, nic: {count: 1}}\nfabric:\n  topology: explicit\n  switches: [{name: sw1}]\n  links:\n    - {a: host-0, b: sw1/Ethernet0}\n    - {a: host-1, b: sw1/Ethernet0}\n", `c.yaml:7:22: found port "sw1/Ethernet0" twice: allowed one cable to a port`},
		{"NIC cabled twice", "host: {count: 1, nic: {count: 1}}\nfabric: {topology: explicit, switches: [{name: sw1}], links: [{a: host-0, b: sw1}, {a: host-0/nic-0, b: sw1}]}\n", `c.yaml:2:88: found port "host-0/nic-0" twice: allowed one cable to a port`},
		{"one-sided MLAG", "fabric:\n  topology: explicit\n  switches:\n    - {name: sw1, mlag: sw2}\n    - {name: sw2}\n", `c.yaml:4:25: found sw1 in an MLAG with sw2, which is not in one with sw1: allowed pairs whose members name each other`},
		{"switch named twice", "fabric: {topology: explicit, switches: [{name: sw1}, {name: sw1}]}\n", `c.yaml:1:61: found "sw1" twice: allowed a name of its own for each node; a switch has this one`},
		{"job without work", "job:\n  name: train\n", `c.yaml:1:1: found a job with neither collective nor pattern nor training: allowed collective: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast; or pattern: incast, permutation, all-pairs, list; or training: {model: ...}`},
		{"job with both", "job: {collective: all_reduce, pattern: incast}\n", `c.yaml:1:40: found both collective and pattern: allowed one of them in a job`},
		{"operation", "job:\n  collective: all_reduse\n", `c.yaml:2:15: found collective "all_reduse": allowed all_reduce, all_gather, reduce_scatter, all_to_all, broadcast; did you mean "all_reduce"?`},
		{"nodes", "host: {count: 4}\njob: {collective: all_reduce, nodes: 5}\n", `c.yaml:2:38: found 5 nodes: allowed at most 4, the hosts of the file`},
		{"unknown host in a job", "host: {count: 4}\njob: {collective: all_reduce, hosts: [host-0, host-9]}\n", `c.yaml:2:47: found unknown host "host-9": allowed a host of the file; did you mean "host-0"?`},
		{"end below begin", "host: {count: 4}\njob: {collective: all_reduce, begin: 2M, end: 1M}\n", `c.yaml:2:47: found end 1MiB below begin 2MiB: allowed begin up to end`},
		{"size and begin", "host: {count: 4}\njob: {collective: all_reduce, size: 2M, begin: 1M}\n", `c.yaml:2:37: found size beside begin or end: allowed size, or begin and end`},
		{"GPUs of a job", "host: {count: 4, gpus: 4}\njob: {collective: all_reduce, gpus_per_host: 8}\n", `c.yaml:2:46: found 8 GPUs on host-0: allowed at most 4`},
		{"collective without GPUs", "host: {count: 4, gpus: 0}\njob: {collective: all_reduce}\n", `c.yaml:2:19: found a collective on host-0, which has no GPU: allowed hosts with GPUs`},
		{"priority of a job", "host: {count: 4}\njob: {collective: all_reduce, priority: 5}\n", `c.yaml:2:41: found priority 5: allowed the priority of a class of qos`},
		{"senders", "host: {count: 3, nic: {count: 1}}\njob: {pattern: incast, senders: 8}\n", `c.yaml:2:33: found 8 senders: allowed at most 2, the NICs of the other hosts`},
		{"receiver", "host: {count: 3, nic: {count: 1}}\njob: {pattern: incast, receiver: host-7/nic-0}\n", `c.yaml:2:34: found unknown node "host-7": allowed a host or switch of the file; did you mean "host-0"?`},
		{"senders of a permutation", "host: {count: 3, nic: {count: 1}}\njob: {pattern: permutation, senders: 8}\n", `c.yaml:2:38: found job.senders, which has no effect here: allowed with pattern incast`},
		{"permutation", "host: {count: 3, nic: {count: 1}}\nfabric: {leaves: 1}\njob: {pattern: permutation, scope: other-leaf}\n", `c.yaml:3:36: found no permutation with scope other-leaf: allowed enough hosts on each side, or a wider scope`},
		{"flow to itself", "host: {count: 2, nic: {count: 1}}\njob: {pattern: list, flows: [{src: host-0/nic-0, dst: host-0/nic-0}]}\n", `c.yaml:2:55: found a flow from a NIC to itself: allowed two different NICs`},
		{"flow from a switch", "host: {count: 2, nic: {count: 1}}\njob: {pattern: list, flows: [{src: leaf-0, dst: host-0/nic-0}]}\n", `c.yaml:2:36: found "leaf-0", a switch: allowed a host's NIC, as host-0/nic-0`},
		{"list without flows", "job: {pattern: list}\n", `c.yaml:1:16: found pattern list without flows: allowed flows: with src and dst each`},
		{"job names", "host: {count: 2}\njobs: [{name: a, collective: all_reduce}, {name: a, collective: all_reduce}]\n", `c.yaml:2:50: found job "a" twice: allowed a name of its own for each job`},
		{"fault without place", "faults: [{id: pfc-storm}]\n", `c.yaml:1:11: found a fault without place: allowed a fault with id, place`},
		{"fault at unknown place", "faults: [{id: pfc-storm, place: leaf-9}]\n", `c.yaml:1:33: found unknown node "leaf-9": allowed a node (leaf-2), a NIC or port (host-7/nic-3, leaf-2/port-5), a link (leaf-2~spine-1), a pair (host-1,host-2) or fabric`},
		{"fault that ends first", "faults: [{id: pfc-storm, place: fabric, start: 2ms, end: 1ms}]\n", `c.yaml:1:58: found a fault from 2ms to 1ms: allowed an end after the start`},
		{"fault on no link", "host: {count: 1}\nfaults: [{id: link-down-flap, place: host-0~spine-0}]\n", `c.yaml:2:38: found no link between "host-0" and "spine-0": allowed two nodes that a cable joins`},
		{"rate floor", "host: {nic: {speed: 100Gbps}}\ndcqcn: {rp_min_rate: 200Gbps}\n", `c.yaml:2:22: found a floor of 200Gbps above the NIC's 100Gbps: allowed less than the slowest NIC`},
		{"too many hosts", "host: {count: 1048576}\n", `c.yaml:1:15: found 8388608 host ports: allowed at most 524288`},
		{"deep nesting", "host: " + strings.Repeat("[", 100) + "\n", `c.yaml:1:71: found nesting this deep: allowed at most 64 levels`},
		{"wide mapping", strings.Repeat("a: b\n", 300), `c.yaml:257:1: found a mapping this long: allowed at most 256 keys`},
		{"wide flow mapping", "host: {" + strings.Repeat("a: b,\n", 300) + "}\n", `c.yaml:256:5: found a mapping this long: allowed at most 256 keys`},
		{"long line", "name: " + strings.Repeat("a", 70000) + "\n", `c.yaml:1:65537: found a line this long: allowed lines of at most 65536 bytes`},
		{"many anchors", "faults: [" + strings.Repeat("&a\n", 1100) + "]\n", `c.yaml:1025:1: found more anchors, aliases and tags than fit: allowed at most 1024`},
		{"deep indentation", "host:\n" + strings.Repeat(" ", 600) + "a: b\n", `c.yaml:2:513: found nesting this deep: allowed at most 512 columns of indentation`},
		{"long file", strings.Repeat("# comment\n", 500000), `c.yaml:1:1: found a file of more than 4 MiB: allowed at most 4 MiB`},
		{"alias of itself", "host: &h\n  nic: *h\n", `c.yaml:2:8: found alias "h": allowed an anchor that was defined before`},
		{"NUL", "host: \x00\n", `c.yaml:1:7: found a NUL byte: allowed text in UTF-8`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("c.yaml", []byte(tt.file), nil)
			checkRefusal(t, err, tt.want)
		})
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	var e *input.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a refusal", err)
	}
	if err.Error() != want {
		t.Errorf("\n got %s\nwant %s", err, want)
	}
}
