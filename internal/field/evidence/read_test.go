package evidence

import (
	"context"
	"strings"
	"testing"

	"weir/internal/fact"
)

// read reads one text with all parsers.
func read(t *testing.T, name, text string) *Report {
	t.Helper()
	r, err := Read(context.Background(), Parsers(), Text(name, text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// values returns what the report says of a key, "subject=value" each.
func values(r *Report, key string) []string {
	var out []string
	for _, f := range r.Facts {
		if f.Key == key {
			out = append(out, f.Subject.String()+"="+f.Value.String())
		}
	}
	return out
}

func expect(t *testing.T, r *Report, key string, want ...string) {
	t.Helper()
	if got := values(r, key); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: got %q, want %q", key, got, want)
	}
}

func TestPromptGivesHostAndInterface(t *testing.T) {
	r := read(t, "x", "[root@gpu7 ~]# mlnx_qos -i ens5np0\nDCBX mode: OS controlled\nPriority trust state: pcp\nsomething else\n")
	expect(t, r, "qos.trust", "gpu7/ens5np0=pcp")
	if f := r.Facts[len(r.Facts)-1]; f.Origin.Line != 3 || f.Origin.Source != "x" || f.Origin.Tool != "mlnx_qos" || f.Subject.Kind != fact.NIC {
		t.Errorf("origin %+v", f)
	}
	if len(r.NotUnderstood) != 1 || r.NotUnderstood[0].Origin.Line != 4 || r.NotUnderstood[0].Text != "something else" {
		t.Errorf("not understood: %+v", r.NotUnderstood)
	}
}

func TestInterleavedRanksAreReadApart(t *testing.T) {
	a := strings.Split("DCBX mode: OS controlled\nPriority trust state: dscp\nPFC configuration:\n\tpriority    0   1\n\tenabled     0   1", "\n")
	b := strings.Split("DCBX mode: Firmware controlled\nPriority trust state: pcp\nPFC configuration:\n\tpriority    0   1\n\tenabled     1   0", "\n")
	for _, form := range []string{"[1,%]<stdout>:", "%: ", "[%] ", "[rank%]: ", "gpu%: ", "[pod/gpu%/c] ", "2025-01-01T00:00:00.1Z stdout F [%] "} {
		var text strings.Builder
		for i := range a {
			text.WriteString(strings.ReplaceAll(form, "%", "0") + a[i] + "\n" + strings.ReplaceAll(form, "%", "1") + b[i] + "\n")
		}
		r := read(t, "x", text.String())
		var owners []string
		for _, f := range r.Facts {
			if f.Key == "qos.trust" || f.Key == "qos.pfc.enabled" {
				owners = append(owners, f.Value.String())
			}
		}
		if got := strings.Join(owners, " "); got != "dscp 1 pcp 0" && got != "dscp pcp 1 0" {
			t.Errorf("%s: %q, not understood %v", form, got, r.NotUnderstood)
		}
	}
}
