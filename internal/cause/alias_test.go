package cause

import (
	"strings"
	"testing"
)

// One name, one setting; and the first words of the vendors' marking statements
// are names.
func TestNamesOfSettings(t *testing.T) {
	settings, err := Settings()
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for i := range settings {
		s := &settings[i]
		for _, n := range append([]string{s.Name}, s.Aliases...) {
			n = strings.ToLower(n)
			if o := owner[n]; o != "" && o != s.Name {
				t.Errorf("%s is a name of %s and of %s", n, o, s.Name)
			}
			owner[n] = s.Name
		}
	}
	for _, n := range []string{"random-detect", "WRED_PROFILE", "low-limit", "drop-profile", "min-threshold", "priority-flow-control", "PORT_QOS_MAP"} {
		if owner[strings.ToLower(n)] == "" {
			t.Errorf("%s is no name of a setting", n)
		}
	}
}
