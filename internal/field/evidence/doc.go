// Package evidence turns what hosts, switches and communication libraries
// print into facts: files, directories, archives and standard input, in any
// mixture, recognised by content.
//
// # How text flows
//
// Read walks its inputs; archives are unpacked in memory, one member after
// the other. Each file is decoded (UTF-8, UTF-16), cut into lines and cleaned of
// terminal escapes. Prefixes of MPI, Slurm, torchrun and log collectors are
// taken off; the lines of each rank then make a stream of their own. In a
// stream, command lines set the context (host and command), JSON documents go
// to the JSON parsers, and every other line goes to an open session or starts
// a new one. What nobody takes is kept as not understood. Nothing is held but
// the open sessions and up to tool.Ahead lines a stream.
//
// # How to add a parser
//
// Write a package below this one (or a file in an existing one) with a value of
// tool.Parser for each tool, and put them into the function Parsers() of that
// package; table.go joins these lists. There is no registration at init.
//
// A text parser has two functions. Recognise is asked for a line that no
// session claims, with the lines behind it to look at, and answers with a
// score: tool.Sure for a line that nothing else prints ("DCBX mode: OS
// controlled"), tool.Likely for a table head that others might share,
// tool.Weak for a mere shape ("name: 12"). The highest score wins. New then
// opens a session, which is given that line and all that follow, each first to
// Match (how surely is it yours?), then to Take. Match must answer No for the
// first line of a further run of the tool, so that a new session starts there.
//
//	var Parser = tool.Parser{
//		Tool:      "cma_roce_mode",
//		Versions:  "mlnx-tools 5.x to 24.x",
//		Programs:  []string{"cma_roce_mode"},
//		Keys:      []string{"roce.cma.mode"},
//		Recognise: func(w *tool.Window) tool.Score { ... },
//		New:       func(ctx *tool.Context) tool.Session { return &mode{ctx: ctx} },
//	}
//
//	func (m *mode) Take(l *tool.Line, out *tool.Out) {
//		out.Text(l.N, m.ctx.NIC(m.ctx.After("-d")), "roce.cma.mode", l.Text)
//	}
//
// Programs names the words that start the tool's command line: such lines are
// recognised as commands even without a shell prompt, and the words stand in
// Context.Command. A whole configuration is read by tool.Lines, a session that
// gathers lines and hands them over at the end.
//
// A JSON parser has RecogniseJSON and ParseJSON, on a tree that keeps line
// numbers, order and the digits of numbers. Trees of files such as /sys are
// recognised by Context.Path: each file is a source of its own.
//
// Keys come from the vocabulary of package fact (add what is missing there);
// the unit follows from the key. Counters go to Out.Counter under the vendor's
// name. Say out.Absent where the source prints "-" or "N/A": that is not zero.
//
// docs/evidence.md shows the table: WEIR_UPDATE=1 go test ./internal/field/evidence
// writes it anew after a change.
//
// A test in this package runs every parser over the samples and the fuzz
// corpus and checks that each key put out stands in the vocabulary and in
// Parser.Keys.
package evidence
