package evidence

import "testing"

// A line's own indentation survives the tag of mpirun, and lines of one rank
// are one stream whatever follows the tag.
func TestTagKeepsIndentation(t *testing.T) {
	for tagged, want := range map[string]string{
		"[1,3]<stdout>:pci/0000:04:00.0:":             "pci/0000:04:00.0:",
		"[1,3]<stdout>:  reporter fw":                 "  reporter fw",
		"[1,3]<stdout>: local address: LID 0000":      " local address: LID 0000",
		"[prterun-n1-7@1,3]<stdout>: #bytes":          "#bytes",
		"[prterun-n1-7@1,3]<stdout>:   state healthy": "  state healthy",
	} {
		text, lb := certainPrefix(tagged)
		if text != want || lb.rank != "3" {
			t.Errorf("%q: text %q, rank %q; want %q, 3", tagged, text, lb.rank, want)
		}
	}
	_, a := certainPrefix("[1,3]<stdout>:a")
	_, b := certainPrefix("[1,3]<stdout>: b")
	if a.stream != b.stream {
		t.Errorf("streams %q and %q of one rank", a.stream, b.stream)
	}
}
