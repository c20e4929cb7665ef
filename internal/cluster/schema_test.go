package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("cluster.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks YAML text against the schema as an editor would.
func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return fmt.Errorf("not YAML: %w", err)
	}
	return s.Validate(v)
}

// Whatever the parser takes, the schema takes.
func TestSchemaAcceptsGoodFiles(t *testing.T) {
	s := compiled(t)
	files := map[string]string{}
	for name, text := range roundTripFiles {
		files[name] = text
	}
	examples, _ := filepath.Glob("../../examples/*.yaml")
	for _, e := range examples {
		text, err := os.ReadFile(e)
		if err != nil {
			t.Fatal(err)
		}
		files[e] = string(text)
	}
	for name, text := range files {
		f, err := Parse("c.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := validate(t, s, string(f.Effective())); err != nil {
			t.Errorf("effective file of %s: %v", name, err)
		}
	}
}

// What the schema refuses, the parser refuses as well, and the schema catches
// every mistake that lies in one value or one mapping.
func TestSchemaRefusesBadFiles(t *testing.T) {
	s := compiled(t)
	for _, text := range []string{
		"qos: {ecm: {}}", "fabrik: {}", "qos: {ecn: {min: 10XB}}", "qos: {ecn: {min: 10us}}", "qos: {ecn: {min: -5}}", "qos: {ecn: {min: 1.5}}",
		"fabric: {host_link: {length: 30}}", "host: {count: many}", "host: {count: \"8\"}", "host: {count: 1.5}", "host: {count: -3}", "host: {count: 0}", "host: {count: {a: 1}}",
		"qos: lossless", "qos: [1]", "faults: none", "qos: {pfc: \"yes\"}", "qos: {pfc: 1}", "name: 12", "name: a/b", "host: {count: 1}\nhosts: [{count: 2}]",
		"qos: {roce: {priority: 9}}", "qos: {roce: {dscp: 64}}", "qos: {roce: {share: 120%}}", "qos: {roce: {share: 1.2}}", "qos: {mtu: 1500}", "transport: rdma",
		"host: {nic: {model: conectx-7}}", "host: {nic: {ports: 3}}", "host: {nic: {speed: 100}}", "host: {nic: {rails: {a/b: 1}}}", "host: {nic: {rails: {a: 64}}}",
		"job: {name: train}", "job: {collective: all_reduce, pattern: incast}", "job: {collective: all_reduse}", "jobs: [{name: x}]", "faults: [{id: pfc-storm}]",
		"qos: {classes: [{name: a, priority: 1}]}", "fabric: {links: [{a: x}]}", "fabric: {switches: [{tier: 1}]}", "job: {pattern: list, flows: [{src: a}]}",
		"routing: {hash_seed: some}", "routing: {hash_fields: [ttl]}", "rdma: {timeout: 32}", "dcqcn: {rp_ai_rate: fast}", "dcqcn: {rp_time_reset: -1}", "switch: {alpha: a}", "switch: {headroom: automatic}",
		"host: {cpu: {clock: 2.5}}", "nccl: {channels: 65}", "job: {collective: all_reduce, start: 5}",
	} {
		if err := validate(t, s, text); err == nil {
			t.Errorf("schema takes %s", text)
		}
		if _, err := Parse("c.yaml", []byte(text), nil); err == nil {
			t.Errorf("parser takes %s", text)
		}
	}
}
