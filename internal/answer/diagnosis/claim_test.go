package diagnosis

import (
	"strconv"
	"testing"
)

// TestUnite: places are named once, at most eight of them, and the rest is
// counted once, however often lists are joined.
func TestUnite(t *testing.T) {
	for _, c := range [...][3]string{
		{"", "", ""},
		{"b", "a", "a, b"},
		{"a, b", "b, c", "a, b, c"},
		{"a and 3 more", "b", "a, b and 3 more"},
		{"a, b, c, d, e, f, g, h and 2 more", "i and 1 more", "a, b, c, d, e, f, g, h and 4 more"},
	} {
		if got := unite(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	where := ""
	for i := range 2000 {
		where = unite(where, "host-"+strconv.Itoa(10000+i))
	}
	if want := "host-10000, host-10001, host-10002, host-10003, host-10004, host-10005, host-10006, host-10007 and 1992 more"; where != want {
		t.Errorf("%q", where)
	}
}
