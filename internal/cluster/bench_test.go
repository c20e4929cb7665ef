package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A fabric of 4,096 cards from its short description.
func BenchmarkLoad4096(b *testing.B) {
	text, err := os.ReadFile("../../examples/fabric-4096.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("c.yaml", text, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// The same number of cards with every cable written out.
func BenchmarkLoadExplicit4096(b *testing.B) {
	var s strings.Builder
	s.WriteString("host: {count: 512, nic: {count: 8, speed: 400Gbps}}\nfabric:\n  topology: explicit\n  switches:\n")
	for i := range 64 {
		fmt.Fprintf(&s, "    - {name: leaf-%d}\n", i)
	}
	s.WriteString("  links:\n")
	for h := range 512 {
		for n := range 8 {
			fmt.Fprintf(&s, "    - {a: host-%d/nic-%d, b: leaf-%d}\n", h, n, h/64*8+n)
		}
	}
	text := []byte(s.String())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("c.yaml", text, nil); err != nil {
			b.Fatal(err)
		}
	}
}
