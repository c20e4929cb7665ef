package cluster

import (
	"os"
	"testing"

	"weir/units"
)

// The examples of the project load into the sizes that their comments promise.
func TestExamples(t *testing.T) {
	for _, tt := range []struct {
		file                         string
		hosts, nics, switches, links int
		speed                        units.BitRate
	}{
		// 2 hosts x 8 cards on one switch.
		{"two-nodes.yaml", 2, 16, 1, 16, 100 * units.Gbps},
		// 512 cards; 8 leaves x 64 x 100 Gb/s need 32 x 200 Gb/s of uplinks each: 512 + 8 x 32.
		{"pod-64x8.yaml", 64, 512, 12, 768, 100 * units.Gbps},
		{"incast-8to1.yaml", 9, 9, 1, 9, 100 * units.Gbps},
		// 64 hosts to a leaf: 8 pods x 8 rails = 64 leaves, 32 x 800 Gb/s up from each, to 32 spines of 64 ports.
		// 8 planes of 32 leaves and 16 spines, 32 x 800 Gb/s up from each leaf.
		{"llama3-405b-16k.yaml", 2048, 16384, 8 * 48, 16384 + 8*32*32, 400 * units.Gbps},
		{"bert-large-256.yaml", 256, 2048, 24, 2048 + 8*16*4, 200 * units.Gbps},
		{"pointpillars-64x8.yaml", 64, 512, 9, 512 + 64, 100 * units.Gbps},
		{"resnet-50-32.yaml", 32, 256, 9, 256 + 64, 200 * units.Gbps},
		// One host under each of two leaves, an uplink to each spine.
		{"eight-cards-collision.yaml", 2, 16, 10, 16 + 2*8, 100 * units.Gbps},
		{"fixed-source-port.yaml", 2, 2, 4, 2 + 2*2, 200 * units.Gbps},
		{"fabric-4096.yaml", 512, 4096, 96, 4096 + 64*32, 400 * units.Gbps},
	} {
		c, err := Load(os.DirFS("../../examples"), tt.file, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
			continue
		}
		nics := 0
		for _, h := range c.Hosts {
			nics += len(h.NICs)
		}
		if len(c.Hosts) != tt.hosts || nics != tt.nics || len(c.Nodes)-len(c.Hosts) != tt.switches || len(c.Links) != tt.links {
			t.Errorf("%s: %d hosts, %d NICs, %d switches, %d links; want %d, %d, %d, %d", tt.file, len(c.Hosts), nics, len(c.Nodes)-len(c.Hosts), len(c.Links), tt.hosts, tt.nics, tt.switches, tt.links)
		}
		if r := c.Ports[c.Hosts[0].NICs[0].Ports[0]].Rate; r != tt.speed {
			t.Errorf("%s: NIC runs at %v, want %v", tt.file, r, tt.speed)
		}
		if len(c.Jobs) != 1 {
			t.Errorf("%s: %d jobs, want 1", tt.file, len(c.Jobs))
		}
	}
}
