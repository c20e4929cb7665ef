package jsontree

import (
	"strings"
	"testing"
)

func TestParseKeepsLinesOrderAndDigits(t *testing.T) {
	doc, rest, err := Parse("\n{\n \"b\": 18446744073709551615,\n \"a\": [true, null, \"x\\u00e9\\n\"],\n \"c\": {\"d\": -1.5e3}\n}\nmore", 10)
	if err != nil || strings.TrimSpace(rest) != "more" {
		t.Fatalf("rest %q, error %v", rest, err)
	}
	if got := doc.Items[0].Key + doc.Items[1].Key; got != "ba" {
		t.Errorf("member order %q", got)
	}
	if u, ok := doc.Get("b").Uint(); !ok || u != 1<<64-1 {
		t.Errorf("b = %d, %v", u, ok)
	}
	// the text starts on line 10 with an empty line: { is on 11, "c" on 14
	if n := doc.Get("c", "d"); n.Line != 14 || n.Text != "-1.5e3" {
		t.Errorf("c.d = %+v", n)
	}
	if s := doc.Get("a").Items[2].Str(); s != "xé\n" {
		t.Errorf("escapes: %q", s)
	}
	if doc.Get("a", "x").Get("y").Str() != "" {
		t.Error("a path into a list must be nil")
	}
}

func TestParseTakesCutText(t *testing.T) {
	for _, text := range []string{
		`{"T": {"k": "v", "l": [1, 2`,
		`"T": {"k": "v", "l": [1, 2]}, "U": {`,
		"\"T\": {\n \"k\": \"v\"\n}\n}\n",
	} {
		doc, _, err := Parse(text, 1)
		if err != nil || doc.Get("T", "k").Str() != "v" {
			t.Errorf("%q: %+v, %v", text, doc, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"{ foo }", "[abc]", "{\"a\" 1}", strings.Repeat("[", 300), "{\"a\nb\": 1}"} {
		if _, _, err := Parse(text, 1); err == nil {
			t.Errorf("%.20q was taken", text)
		}
	}
}

func TestStarts(t *testing.T) {
	yes := []string{"{", "[", ` {"a": 1}`, `[{"a": 1}]`, `"WRED_PROFILE": {`, "[[1]]", "{}"}
	no := []string{"", "[1,0]<stdout>: x", "[0] NCCL INFO", "[    7.21] mlx5_core", "{ master }", `"quoted" text`, "class {", "}", "[edit]"}
	for _, s := range yes {
		if !Starts(s) {
			t.Errorf("%q starts a document", s)
		}
	}
	for _, s := range no {
		if Starts(s) {
			t.Errorf("%q does not start a document", s)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"a": [1, {"b": null}]}`)
	f.Add(`"x": {"y": "\u12`)
	f.Fuzz(func(t *testing.T, s string) {
		doc, rest, err := Parse(s, 1)
		if err == nil && doc == nil && strings.TrimSpace(s) != "" {
			t.Fatal("neither document nor error")
		}
		if len(rest) > len(s) {
			t.Fatal("rest grew")
		}
	})
}
