package capture

import (
	"context"
	"os"
	"testing"
)

func BenchmarkFile(b *testing.B) {
	name := os.Getenv("WEIR_CAPTURE")
	if name == "" {
		b.Skip("WEIR_CAPTURE names no file")
	}
	for b.Loop() {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		a := New(Options{})
		if err := a.Read(context.Background(), f); err != nil {
			b.Fatal(err)
		}
		f.Close()
		st, _ := os.Stat(name)
		b.SetBytes(st.Size())
	}
}
