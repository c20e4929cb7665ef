package diagnosis

import "testing"

func TestMisspelled(t *testing.T) {
	for name, want := range map[string]string{
		"NCCL_IB_GID_INDX":            "NCCL_IB_GID_INDEX",          // a letter lost
		"NCLL_IB_HCA":                 "NCCL_IB_HCA",                // another prefix
		"NCCL_IB_QPS_PER_CONECTION":   "NCCL_IB_QPS_PER_CONNECTION", // a letter of a pair
		"NCCL_SOCKET_IFNAEM":          "NCCL_SOCKET_IFNAME",         // swapped
		"UCX_IB_GID_INDEXX":           "UCX_IB_GID_INDEX",           // one too many
		"NCCL_IBHCA":                  "NCCL_IB_HCA",                // no underscore
		"NCCL_IB_GID_INDEX":           "",
		"NCCL_TESTS_DEVICE":           "", // of the test, not of the library
		"NCCL_SOMETHING_NEW_AND_LONG": "", // unknown is not misspelled
		"UCX_TLS":                     "",
	} {
		meant, ok := misspelled(name)
		if ok != (want != "") || ok && meant != want {
			t.Errorf("misspelled(%s) = %q, %v; want %q", name, meant, ok, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "xbc", 1}, {"abcd", "badc", 2}, {"", "ab", 2}} {
		if got := distance(c.a, c.b, 9); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// No two known names are so near that one is taken for a slip of the other.
func TestKnownNamesAreNotMisspelled(t *testing.T) {
	for name := range variableSet() {
		if meant, ok := misspelled(name); ok {
			t.Errorf("%s is known, and taken for %s", name, meant)
		}
	}
}

func TestVersionOf(t *testing.T) {
	for text, want := range map[string][3]int{"2.22.3+cuda12.4": {2, 22, 3}, "<= 2.22.3": {2, 22, 3}, "2.20.3-1": {2, 20, 3}, "2.7": {2, 7, 0}} {
		a, b, c, ok := versionOf(text)
		if !ok || [3]int{a, b, c} != want {
			t.Errorf("versionOf(%s) = %d.%d.%d %v", text, a, b, c, ok)
		}
	}
	if _, _, _, ok := versionOf("before commit b6475625"); ok {
		t.Error("a sentence was taken as a version")
	}
}
