package cluster

import (
	"encoding/json"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of cluster files, for
// editors. It comes from the table that the parser works from. Rules that join
// several keys (ECN max within the buffer, leaves and rails) are the parser's
// alone.
func Schema() []byte {
	s := root.schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "weir cluster file"
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // only strings, numbers, lists and maps are in it
	}
	return append(out, '\n')
}

type object = map[string]any

const (
	numberPattern = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	namePattern   = `^[A-Za-z0-9._-]+$`
)

// withUnit is the pattern of a number with one of units.
func withUnit(units ...string) string {
	return `^\s*` + numberPattern + `\s*(` + strings.Join(units, "|") + `)\s*$`
}

var (
	sizePattern      = withUnit("B", "[kK]B", "[MGT]B", "[KMGT]iB")
	testSizePattern  = withUnit("B", "[kK]B", "[MGT]B", "[KMGT]iB", "[kKmMgG]")
	timePattern      = withUnit("ps", "ns", "us", "µs", "ms", "s", "m", "min", "h")
	ratePattern      = withUnit("bps", "[kKMGT]bps", "[MGT]b/s", "[MGT]")
	lengthPattern    = withUnit("m", "cm", "km")
	frequencyPattern = withUnit("Hz", "MHz", "GHz")
	sharePattern     = `^\s*((100(\.0*)?|[0-9]{1,2}(\.[0-9]*)?|\.[0-9]+)\s*%|0(\.[0-9]*)?|1(\.0*)?|\.[0-9]+)\s*$`
)

// schema returns the schema of a key's value.
func (k *key) schema() object {
	s := k.kindSchema()
	if k.auto != "" {
		s = object{"anyOf": []any{object{"const": k.auto}, s}}
	}
	if k.doc != "" {
		s["description"] = k.doc
	}
	if k.def != "" {
		s["description"] = strings.TrimSpace(k.doc + " Default: " + k.def + ".")
	}
	return s
}

func (k *key) kindSchema() object {
	switch k.kind {
	case mapping:
		return k.mappingSchema()
	case list:
		return object{"type": []any{"array", "null"}, "items": k.keys[0].schema()}
	case table:
		return object{"type": []any{"object", "null"}, "propertyNames": object{"pattern": namePattern, "maxLength": maxText}, "additionalProperties": k.keys[0].schema()}
	case count:
		s := object{"type": "integer"}
		if len(k.choices) > 0 {
			var e []any
			for _, c := range k.choices {
				e = append(e, json.Number(c))
			}
			return object{"enum": e}
		}
		k.limits(s, 1)
		return s
	case number:
		s := object{"type": "number"}
		k.limits(s, 1)
		return s
	case size:
		return k.quantity(sizePattern, true, 1)
	case testSize:
		return k.quantity(testSizePattern, true, 1)
	case duration:
		return k.quantity(timePattern, k.min == 0, 0)
	case micros:
		return k.quantity(timePattern, true, 1e6)
	case rate:
		return k.quantity(ratePattern, k.min == 0, 0)
	case megabits:
		return k.quantity(ratePattern, true, 1e6)
	case length:
		return object{"type": "string", "pattern": lengthPattern}
	case frequency:
		return object{"type": "string", "pattern": frequencyPattern}
	case share:
		return object{"anyOf": []any{object{"type": "number", "minimum": 0, "maximum": 1}, object{"type": "string", "pattern": sharePattern}}}
	case toggle:
		return object{"type": "boolean"}
	case name:
		return object{"type": "string", "pattern": namePattern, "maxLength": maxText}
	case choice:
		return object{"enum": k.choices}
	}
	return object{"type": "string", "maxLength": maxText}
}

// quantity is a text with unit or, if bare, a plain whole number in units of
// scale base units; scale 0 allows only 0.
func (k *key) quantity(pattern string, bare bool, scale float64) object {
	text := object{"type": "string", "pattern": pattern}
	if !bare {
		return text
	}
	if scale == 0 {
		return object{"anyOf": []any{object{"const": 0}, text}}
	}
	n := object{"type": "integer", "minimum": 0}
	k.limits(n, scale)
	return object{"anyOf": []any{n, text}}
}

func (k *key) limits(s object, scale float64) {
	if k.kind == count || k.min != 0 {
		s["minimum"] = k.min / scale
	}
	if k.max != 0 {
		s["maximum"] = k.max / scale
	}
}

func (k *key) mappingSchema() object {
	props := object{}
	var need []string
	var not []any
	for i := range k.keys {
		c := &k.keys[i]
		props[c.name] = c.schema()
		if c.need {
			need = append(need, c.name)
		}
		if c.single != "" {
			one := c.keys[0].schema()
			one["description"] = c.doc
			props[c.single] = one
			not = append(not, object{"not": object{"type": "object", "required": []string{c.name, c.single}}})
		}
	}
	s := object{"type": []any{"object", "null"}, "properties": props, "additionalProperties": false}
	if need != nil {
		s["required"] = need
		s["type"] = "object"
	}
	if not != nil {
		s["allOf"] = not
	}
	if k.name == "job" {
		s["type"] = "object"
		s["oneOf"] = []any{object{"required": []string{"collective"}}, object{"required": []string{"pattern"}}, object{"required": []string{"training"}}}
	}
	return s
}
