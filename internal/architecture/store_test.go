package architecture

import (
	"os/exec"
	"strings"
	"testing"
)

// The store's engine would triple the time of a first build of weir, so only
// weir-server has it.
func TestStoreStaysOutOfWeir(t *testing.T) {
	deps := func(program string) []string {
		cmd := exec.Command("go", "list", "-deps", program)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", program, err)
		}
		return strings.Fields(string(out))
	}
	engine := func(pkg string) bool {
		return strings.HasPrefix(pkg, "github.com/prometheus/prometheus/") || pkg == "weir/internal/store"
	}
	for _, p := range deps("./cmd/weir") {
		if engine(p) {
			t.Errorf("cmd/weir contains %s", p)
		}
	}
	found := false
	for _, p := range deps("./cmd/weir-server") {
		found = found || engine(p)
	}
	if !found {
		t.Error("cmd/weir-server does not contain the store: the names above are wrong")
	}
}
