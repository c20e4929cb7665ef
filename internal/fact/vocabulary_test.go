package fact

import (
	"strings"
	"testing"
)

func TestVocabularyIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Vocabulary() {
		if seen[k.Name] {
			t.Errorf("%s stands twice", k.Name)
		}
		seen[k.Name] = true
		if k.Form == Absent || strings.Contains(k.Name, " ") || k.Name == "" {
			t.Errorf("%+v", k)
		}
		if (k.Form == Text || k.Form == List || k.Form == Bool) && k.Unit != "" {
			t.Errorf("%s is no number and has the unit %s", k.Name, k.Unit)
		}
		if got, ok := Lookup(k.Name); !ok || got.Name != k.Name {
			t.Errorf("%s is found as %q", k.Name, got.Name)
		}
	}
}

func TestLookup(t *testing.T) {
	for key, want := range map[string]string{
		"qos.trust":                     "qos.trust",
		"qos.dscp.26.priority":          "qos.dscp.{dscp}.priority",
		"counter.Nak Sequence Error":    "counter.{name...}",
		"sysctl.net.ipv4.tcp_ecn":       "sysctl.{name...}",
		"qos.tc.3.rate_limit":           "qos.tc.{tc}.rate_limit",
		"nccl.channel.transport.NET/IB": "nccl.channel.transport.{name}",
		"qos.dscp.26":                   "",
		"qos.dscp..priority":            "",
		"nothing":                       "",
		"":                              "",
	} {
		got, ok := Lookup(key)
		if got.Name != want || ok != (want != "") {
			t.Errorf("%q is %q, expected %q", key, got.Name, want)
		}
	}
	if u := UnitOf("dcqcn.ai_rate"); u != "bits_per_s" {
		t.Errorf("unit %q", u)
	}
}
