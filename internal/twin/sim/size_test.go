package sim

import (
	"testing"
	"unsafe"
)

// What each hop touches lies in whole cache lines.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name string
		got  uintptr
		want uintptr
	}{
		{"packet", unsafe.Sizeof(packet{}), 64},
		{"txPort", unsafe.Sizeof(txPort{}), 64},
		{"rxPort", unsafe.Sizeof(rxPort{}), 64},
		{"flight", unsafe.Sizeof(flight{}), 16},
		{"route", unsafe.Sizeof(route{}), 48},
		{"nicCount", unsafe.Sizeof(nicCount{}), 32},
	} {
		if c.got != c.want {
			t.Errorf("%s takes %d bytes, want %d", c.name, c.got, c.want)
		}
	}
}
