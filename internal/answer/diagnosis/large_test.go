package diagnosis

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/cause"
	"weir/internal/fact"
)

// largeBundle makes the facts of a healthy cluster: eight cards a host with
// GID tables, addresses, settings and counters read twice, a rank a card.
func largeBundle(hosts int) []fact.Fact {
	var out []fact.Fact
	put := func(source int, s fact.Subject, key string, v fact.Value) {
		out = append(out, fact.Fact{Subject: s, Key: key, Value: v, Origin: fact.Origin{Source: fmt.Sprint("f", source), Line: len(out)}})
	}
	for h := range hosts {
		host := fmt.Sprintf("h%04d", h)
		var devices []string
		for n := range 8 {
			devices = append(devices, fmt.Sprintf("mlx5_%d:1", n))
			nic := fact.Subject{Kind: fact.NIC, Host: host, Name: fmt.Sprintf("mlx5_%d", n)}
			for i, version := range []string{"v1", "v2", "v1", "v2"} {
				addr := fmt.Sprintf("::ffff:10.%d.%d.%d", n, h/250, h%250+1)
				if i < 2 {
					addr = fmt.Sprintf("fe80::%x", h*8+n+1)
				}
				put(h*10, nic, fmt.Sprintf("gid.%d.address", i), fact.OfText(addr))
				put(h*10, nic, fmt.Sprintf("gid.%d.version", i), fact.OfText(version))
			}
			put(h*10, nic, "gid.count", fact.OfUint(4))
			put(h*10, nic, "link.address", fact.OfText(fmt.Sprintf("10.%d.%d.%d/16", n, h/250, h%250+1)))
			put(h*10, nic, "link.mtu", fact.OfUint(9000))
			put(h*10, nic, "rdma.rate", fact.OfUint(400e9))
			put(h*10, nic, "qos.pfc.enabled", fact.OfList([]string{"3"}))
			put(h*10, nic, "qos.dscp.26.priority", fact.OfUint(3))
			for c := range 40 {
				name := fmt.Sprintf("counter.vendor_%d", c)
				put(h*10+1, nic, name, fact.OfUint(uint64(h*1000+c)))
				put(h*10+2, nic, name, fact.OfUint(uint64(h*1000+c+7)))
			}
			put(h*10, nic, "counter.np_cnp_sent", fact.OfUint(100))
			put(h*10+2, nic, "counter.np_cnp_sent", fact.OfUint(140))
			rank := fact.Subject{Kind: fact.Process, Host: host, Name: fmt.Sprint(1000 + n)}
			put(h*10+3, rank, "nccl.env.NCCL_IB_GID_INDEX", fact.OfText("3"))
			put(h*10+3, rank, "nccl.env.NCCL_IB_HCA", fact.OfText("=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"))
			put(h*10+3, rank, "nccl.tc.dscp", fact.OfUint(26))
			put(h*10+3, rank, "nccl.layer.mlx5_0", fact.OfText("RoCE"))
			put(h*10+3, rank, "nccl.init_complete", fact.OfBool(true))
		}
		put(h*10+3, fact.Subject{Kind: fact.Process, Host: host, Name: "1000"}, "nccl.network_devices", fact.OfList(devices))
	}
	return out
}

// A healthy cluster has no finding of warning or above.
func TestHealthyClusterHasNoFinding(t *testing.T) {
	catalogue, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	r := Run(largeBundle(40), catalogue, cause.English)
	for _, f := range r.Findings {
		if f.Severity.String() != "info" {
			t.Errorf("%s %s: %s\n%v", f.Severity, f.Cause, f.Summary, f.Evidence)
		}
	}
}

func BenchmarkLargeBundle(b *testing.B) {
	catalogue, err := loadOnce()
	if err != nil {
		b.Fatal(err)
	}
	facts := largeBundle(1000)
	b.ReportMetric(float64(len(facts)), "facts")
	b.ReportAllocs()
	for b.Loop() {
		Run(facts, catalogue, cause.English)
	}
}

// Whatever keys and values come together, the answer is well formed.
func TestAnyFacts(t *testing.T) {
	catalogue, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, k := range fact.Vocabulary() {
		keys = append(keys, k.Name)
	}
	names := []string{"", "mlx5_0", "mlx5_bond_0", "eth2", "Ethernet0/3", "profile:X/3", "0"}
	rapid.Check(t, func(t *rapid.T) {
		var facts []fact.Fact
		for range rapid.IntRange(0, 60).Draw(t, "facts") {
			key := placeholders(t, rapid.SampledFrom(keys).Draw(t, "key"))
			k, _ := fact.Lookup(key)
			facts = append(facts, fact.Fact{
				Subject: fact.Subject{Kind: fact.Kind(rapid.IntRange(0, 12).Draw(t, "kind")), Host: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "host"), Name: rapid.SampledFrom(names).Draw(t, "name")},
				Key:     key, Value: anyValue(t, k.Form), Unit: k.Unit, Origin: fact.Origin{Source: "s", Line: rapid.IntRange(1, 9).Draw(t, "line")},
			})
		}
		r := Run(facts, catalogue, cause.Chinese)
		for i, f := range r.Findings {
			if f.Confidence < Threshold || f.Confidence > 1 || f.Summary == "" || i > 0 && f.Confidence > r.Findings[i-1].Confidence {
				t.Fatalf("finding %d is not well formed: %+v", i, f)
			}
			if _, ok := catalogue.Find(f.Cause); !ok {
				t.Fatalf("%s is no cause", f.Cause)
			}
		}
	})
}

func placeholders(t *rapid.T, name string) string {
	out := ""
	for i := 0; i < len(name); i++ {
		if name[i] != '{' {
			out += string(name[i])
			continue
		}
		for name[i] != '}' {
			i++
		}
		out += rapid.SampledFrom([]string{"0", "3", "26", "rx_prio3_pause", "out_of_sequence", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_IB_TC", "mtu_equal", "mlx5_0"}).Draw(t, "part")
	}
	return out
}

func anyValue(t *rapid.T, form fact.ValueKind) fact.Value {
	switch form {
	case fact.Uint:
		return fact.OfUint(rapid.SampledFrom([]uint64{0, 1, 3, 12, 110, 1500, 4096, 1 << 40, 1<<64 - 1}).Draw(t, "number"))
	case fact.Float:
		return fact.OfFloat(rapid.SampledFrom([]float64{-40, 0, 2.5, 1e11}).Draw(t, "real"))
	case fact.Bool:
		return fact.OfBool(rapid.Bool().Draw(t, "truth"))
	case fact.List:
		return fact.OfList(rapid.SliceOfN(rapid.SampledFrom([]string{"3", "0", "mlx5_0:1", "mlx5_1+mlx5_2", "", "x"}), 0, 9).Draw(t, "list"))
	}
	return fact.OfText(rapid.SampledFrom([]string{"", "fe80::1", "::ffff:10.0.0.1", "10.0.0.1/24", "v1", "v2", "Socket", "auto", "dscp", "SYS", "3", "-1", "DOWN", "nvidia_peermem: x", "mlx5_0,mlx5_1", "^=", "status=12 vendor err 129", "2.20.3"}).Draw(t, "text"))
}
