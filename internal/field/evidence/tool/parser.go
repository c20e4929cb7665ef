package tool

// A Score says how surely a line belongs to a tool's output.
type Score uint8

// The scores. Between them any value may be used; the highest wins. A session
// that is sure of a line by what came before still loses it to a parser that
// is sure of it as the first line of its tool; otherwise an open session wins
// against a new one of the same score.
const (
	No     Score = 0
	Weak   Score = 20 // has the shape, but so have lines of other tools ("name: 12")
	Likely Score = 50 // rarely printed by anything else
	Sure   Score = 80 // only this tool prints it
	Own    Score = 99 // the line names its tool wherever it stands: nobody else is asked
)

// A Parser reads the output of one tool. It is a row of a table: a value
// without state, whose functions may be called from several goroutines.
//
// Text tools set Recognise and New. JSON tools set RecogniseJSON and
// ParseJSON. A tool with both forms sets all four.
type Parser struct {
	Tool     string   // as people call it: "mlnx_qos", "nxos show queuing"
	Versions string   // what it was written and tested for: "iproute2 5.x to 6.x"
	Programs []string // how its command lines start: "ethtool", "dcb pfc show", "display"
	Keys     []string // vocabulary keys that it produces, with their placeholders

	// Recognise says whether the tool's output starts at line 0 of w, which
	// is never blank. It must look at line 0 first and return No at once where
	// that cannot be it: it is asked for every line that nobody claims.
	Recognise func(w *Window) Score
	// New opens a session; line 0 of the window is then passed to its Take.
	New func(ctx *Context) Session

	// Command, where set, is shown every command line that was found in the
	// text (a prompt, a script), whatever its program.
	Command func(ctx *Context, l *Line, out *Out)

	// RecogniseJSON says whether a document (or a list's first element) is
	// the tool's.
	RecogniseJSON func(doc *Node, ctx *Context) Score
	// ParseJSON reads the document.
	ParseJSON func(doc *Node, ctx *Context, out *Out)
}

// A Session reads one run of a tool, line by line. Up to four sessions of one
// stream stay open at a time, so that outputs which are mixed line by line
// (a benchmark's table and a library's log) are each read by their own.
// A session is ended when a command line or a new run of the same tool
// follows, when four other tools were seen since, and at the end of the input.
type Session interface {
	// Match says how surely the line continues this output, given what was
	// taken so far. It changes nothing. It returns No for the line that
	// starts another run. Blank lines are offered, too: a table that ends at
	// one takes it with Weak. An answer below Sure counts only while the
	// session is the one that took the last line, and Weak only until a few
	// lines followed that nobody knew.
	Match(l *Line) Score
	// Take reads a line, and puts facts into out. A line that matched but
	// turns out not to be readable goes to out.NotUnderstood.
	Take(l *Line, out *Out)
	// End is called once, after the last line; sums and conclusions are put
	// out here.
	End(out *Out)
}

// A Line is one line of text: decoded to UTF-8, without line end, terminal
// escapes, time stamps of log collectors and rank prefixes.
type Line struct {
	Text string
	N    int // line number in the source, from 1

	// Rank is the rank that a prefix of MPI, Slurm or torchrun named, "" without one.
	Rank string
	// Host is the host that a prefix named, "" without one.
	Host string
}
