package dialect

import "bytes"

// scoreWindow is how much of a text recognition looks at.
const scoreWindow = 1 << 20

// A Mark is a piece of text that speaks for a system, or against it.
type Mark struct {
	Text  string
	Worth int
}

// ScoreMarks adds up the marks that occur in the first MiB of text, each once,
// and returns the sum between 0 and 100. A line feed in a mark stands for the
// start of a line.
func ScoreMarks(text []byte, marks []Mark) int {
	text = text[:min(len(text), scoreWindow)]
	score := 0
	for _, m := range marks {
		mark := []byte(m.Text)
		if bytes.Contains(text, mark) || mark[0] == '\n' && bytes.HasPrefix(text, mark[1:]) {
			score += m.Worth
		}
	}
	return max(0, min(100, score))
}
