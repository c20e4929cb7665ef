package importer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/answer/importer"
	"weir/internal/cluster"
	"weir/internal/field/bundle"
	"weir/internal/field/remote"
	"weir/internal/twin"
)

// machines answer as the hosts and switches of pod do.
type machines map[string]map[string]string // host, or switch and command

func (m machines) Run(_ context.Context, name, command string, _ time.Duration) (remote.Result, error) {
	answers, ok := m[name]
	if !ok {
		return remote.Result{}, remote.ErrUnreachable
	}
	if text, ok := answers[command]; ok {
		return remote.Result{Stdout: []byte(text)}, nil
	}
	var out strings.Builder
	for _, c := range append(slices.Clone(bundle.Counters), bundle.State...) {
		if !strings.Contains(command, remote.Quote(c.Line)) {
			continue
		}
		for i := range 2 {
			line := strings.NewReplacer("{n}", fmt.Sprintf("eth%d", i+2), "{d}", fmt.Sprintf("mlx5_%d", i)).Replace(c.Line)
			if text, ok := answers[line]; ok {
				fmt.Fprintf(&out, "root@%s:~# %s\n%s\n", name, line, text)
			}
			if c.Each == "" {
				break
			}
		}
	}
	return remote.Result{Stdout: []byte(out.String())}, nil
}

// collected is the bundle that weir collect writes of them.
func collected(t *testing.T, m machines, switches ...bundle.Switch) string {
	t.Helper()
	var b bytes.Buffer
	_, err := bundle.Gather(t.Context(), bundle.Options{Cluster: "pod", Hosts: []string{"h1", "h2"}, Switches: switches, Runner: m, Console: m,
		Interval: time.Second, Now: func() time.Time { return time.Unix(1_790_000_000, 0) }, Sleep: func(context.Context, time.Duration) {}}, &b)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "pod.tar.zst")
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func collectedHosts() machines {
	m := machines{}
	for i, h := range []string{"h1", "h2"} {
		port := []string{"Ethernet0", "Ethernet4"}[i]
		counters := "NIC statistics:\n     rx_prio3_pause: 1\n     tx_prio3_pause: 2\n     rx_discards_phy: 0\n"
		m[h] = map[string]string{
			"lldpctl -f json": lldpctl("eth0", "mgmt", "ge-0/0/1", "eth2", "leaf-0", port, "eth3", "leaf-1", port),
			"rdma link show":  strings.SplitN(rdmaLink, "\n", 2)[1],
			"ip -d addr show": fmt.Sprintf("2: eth2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000\n    link/ether b8:ce:f6:00:00:0%[1]d brd ff:ff:ff:ff:ff:ff\n    inet 10.0.%[1]d.2/24 scope global eth2\n       valid_lft forever preferred_lft forever\n3: eth3: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000\n    link/ether b8:ce:f6:00:01:0%[1]d brd ff:ff:ff:ff:ff:ff\n    inet 10.1.%[1]d.2/24 scope global eth3\n       valid_lft forever preferred_lft forever\n", i+1),
			"ethtool -S eth2": counters,
			"ethtool -S eth3": counters,
			"ethtool eth2":    "Settings for eth2:\n\tSpeed: 100000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n",
			"ethtool eth3":    "Settings for eth3:\n\tSpeed: 100000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n",
		}
	}
	return m
}

// simulates holds an imported file against the cables that were told of, and
// runs it.
func simulates(t *testing.T, r *importer.Result, c *cluster.Cluster, want []string) {
	t.Helper()
	if got := links(c); !slices.Equal(got, want) {
		t.Errorf("links %q, want %q\n%s", got, want, r.Text)
	}
	if len(c.Hosts) != 2 || r.Hosts != 2 || len(r.Conflicts) > 0 || len(r.Findings) > 0 {
		t.Errorf("%d hosts, conflicts %+v, findings %+v", len(c.Hosts), r.Conflicts, r.Findings)
	}
	if h := &c.Hosts[1]; len(h.NICs) != 2 || h.NICs[1].Device != "mlx5_1" || h.NICs[1].Address != "10.1.2.2" || c.Ports[h.NICs[1].Ports[0]].Rate != 100_000_000_000 {
		t.Errorf("host %+v", h)
	}
	res, err := twin.Run(t.Context(), c, twin.Options{})
	if err != nil || res.Network.Totals.DataPackets == 0 {
		t.Errorf("the imported cluster does not simulate: %v", err)
	}
}

// What weir collect writes becomes a cluster that simulates.
func TestCollectedSONiC(t *testing.T) {
	m := collectedHosts()
	for i, l := range []string{"leaf-0", "leaf-1"} {
		up := []string{"Ethernet0", "Ethernet8"}[i]
		config := strings.Replace(strings.Replace(configDB, "leaf-0", l, 1), "{\n", "{\n \"SNMP_COMMUNITY\": {\"s3cr3t-word\": {\"TYPE\": \"RO\"}},\n \"TACPLUS\": {\"global\": {\"passkey\": \"s3cr3t-word\"}},\n", 1)
		m[l] = map[string]string{
			"show runningconfiguration all": config,
			"show lldp table":               lldpTable("Ethernet0", "h1", "b8:ce:f6:00:00:01", "Ethernet4", "h2", "b8:ce:f6:00:00:02", "Ethernet8", "spine-0", up),
		}
		for _, c := range bundle.SwitchCommands["sonic"] {
			if m[l][c] == "" {
				m[l][c] = "\n"
			}
		}
	}
	r, c := build(t, collected(t, m, bundle.Switch{Name: "leaf-0", OS: "sonic"}, bundle.Switch{Name: "leaf-1", OS: "sonic"}))
	simulates(t, r, c, podLinks)
	if q := &c.QoS; q.RoCE().Priority != 4 || q.ECN.Min != 262144 {
		t.Errorf("qos %+v", q)
	}
	if strings.Contains(fmt.Sprintf("%s %+v", r.Text, r), "s3cr3t-word") {
		t.Error("a secret came through")
	}
}

func TestCollectedEOS(t *testing.T) {
	m := collectedHosts()
	for h, port := range map[string]string{"h1": "Ethernet1/1", "h2": "Ethernet2/1"} {
		m[h]["lldpctl -f json"] = lldpctl("eth2", "leaf-0", port, "eth3", "leaf-1", port)
	}
	for i, l := range []string{"leaf-0", "leaf-1"} {
		m[l] = map[string]string{
			"show running-config": "hostname " + l + "\n!\nsnmp-server community s3cr3t-word ro\nqos map dscp 26 to traffic-class 3\nqos profile P\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   !\n   uc-tx-queue 3\n      bandwidth guaranteed percent 50\n      random-detect ecn minimum-threshold 500 kbytes maximum-threshold 1500 kbytes max-mark-probability 20\n!\ninterface Ethernet1/1\n   mtu 9214\n   service-profile P\ninterface Ethernet2/1\n   mtu 9214\n   service-profile P\ninterface Ethernet3/1\n   mtu 9214\n   service-profile P\n",
			"show lldp neighbors": fmt.Sprintf("Last table change time   : 0:10:00 ago\nNumber of table inserts  : 3\n\nPort          Neighbor Device ID       Neighbor Port ID    TTL\n---------- ------------------------ ---------------------- ---\nEt1/1         h1                       b8ce.f600.0%d01      120\nEt2/1         h2                       b8ce.f600.0%d02      120\nEt3/1         spine-0                  Ethernet%d/1         120\n", i, i, i+1),
		}
		for _, c := range bundle.SwitchCommands["eos"] {
			if m[l][c] == "" {
				m[l][c] = "\n"
			}
		}
	}
	r, c := build(t, collected(t, m, bundle.Switch{Name: "leaf-0", OS: "eos"}, bundle.Switch{Name: "leaf-1", OS: "eos"}))
	simulates(t, r, c, []string{"h1/nic-0-leaf-0/Ethernet1/1", "h1/nic-1-leaf-1/Ethernet1/1", "h2/nic-0-leaf-0/Ethernet2/1", "h2/nic-1-leaf-1/Ethernet2/1", "leaf-0/Ethernet3/1-spine-0/Ethernet1/1", "leaf-1/Ethernet3/1-spine-0/Ethernet2/1"})
	for i := range c.Nodes {
		if n := &c.Nodes[i]; strings.HasPrefix(n.Name, "leaf") && n.OS != "eos" {
			t.Errorf("%s: %s", n.Name, n.OS)
		}
	}
	if q := &c.QoS; q.RoCE().DSCP != 26 || q.RoCE().Priority != 3 || q.ECN.Min < 500_000 || q.ECN.Min > 512_000 {
		t.Errorf("qos %+v", q)
	}
	if strings.Contains(fmt.Sprintf("%s %+v", r.Text, r), "s3cr3t-word") {
		t.Error("a secret came through")
	}
}
