package dialect

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Secrets of outputs that hold blocks, each with the word "hush" in it, and what
// must stay.
func TestRedactText(t *testing.T) {
	for name, text := range map[string]string{
		"SONiC, as the switch prints it": "leaf-0# show runningconfiguration all\n{\n    \"SNMP_COMMUNITY\": {\n        \"hush1\": {\n            \"TYPE\": \"RO\"\n        },\n        \"hush2\": {\n            \"TYPE\": \"RW\"\n        }\n    },\n    \"TACPLUS\": {\n        \"global\": {\n            \"passkey\": \"hush\",\n            \"stays\": \"RO\"\n        }\n    }\n}\n\nleaf-0# next\nstays\n",
		"on one line":                    "{\"SNMP_COMMUNITY\": {\"hush\": {\"TYPE\": \"RO\"}}, \"stays\": {\"passkey\": \"hush\", \"n\": 1}}\n",
		"cut in the middle":              "{\n    \"SNMP_COMMUNITY\": {\n        \"hush1\": {\n            \"stays\": \"RO\"\n        },\n        \"hush2\": {\n",
		"a database's rows":              "{\"SNMP_COMMUNITY|hush\": {\"TYPE\": \"RO\"}, \"PORT|stays\": {}}\n",
		"lists, numbers":                 "{\"tokens\": [\"hush\", {\"a\": \"hush\"}], \"stays\": \"x\"}\n",
		"NVUE's YAML":                    "- set:\n    system:\n      snmp-server:\n        readonly-community:\n          hush1:\n            access:\n              any: {}\n          hush2: {}\n        stays: enabled\n",
		"lines of a configuration":       "snmp-server community hush ro\nstays\n",
		"a value that has escapes":       "{\"x\": \"a\\\"b password hush\\n\", \"stays\": \"<&>\"}\n",
		"several documents in turn":      "{\"password\": \"hush\"}\n[{\"secret\": \"hush\"}]\nstays\n",
	} {
		got := RedactText([]byte(text))
		if bytes.Contains(got, []byte("hush")) || !bytes.Contains(got, []byte("stays")) {
			t.Errorf("%s:\n%s", name, got)
		}
		if bytes.Count(got, []byte("\n")) != strings.Count(text, "\n") {
			t.Errorf("%s: other lines:\n%s", name, got)
		}
		if at := strings.IndexByte(text, '{'); at >= 0 && json.NewDecoder(strings.NewReader(text[at:])).Decode(new(any)) == nil {
			if err := json.NewDecoder(bytes.NewReader(got[bytes.IndexByte(got, '{'):])).Decode(new(any)); err != nil {
				t.Errorf("%s: no JSON any more: %v\n%s", name, err, got)
			}
		}
	}
}

func TestRedactTextKeepsWhatIsNoSecret(t *testing.T) {
	for _, text := range []string{"", "\n", "{", "[1, 2]\n", "{\"a\": {\"b\": [true, null, 1.50, \"x<y\"]}}\n{\n  \"c\": 1\n}\nrest", "  indented\n\tlines\n"} {
		if got := string(RedactText([]byte(text))); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzRedactText(f *testing.F) {
	f.Add("{\"SNMP_COMMUNITY\": {\"hush\": {\"TYPE\": \"RO\"}}, \"a\": [1, \"token x\"]}\nx")
	f.Add("community:\n  hush:\n    a: b\nkey {\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := RedactText([]byte(text))
		if json.Valid([]byte(text)) && !json.Valid(got) {
			t.Fatalf("%q became %q, which is no JSON", text, got)
		}
		if strings.Count(text, "\n") != bytes.Count(got, []byte("\n")) {
			t.Fatalf("%q has other lines than %q", got, text)
		}
	})
}
