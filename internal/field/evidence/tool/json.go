package tool

import "weir/internal/input/jsontree"

// A Node is a JSON value with the line it starts on; see package jsontree.
type Node = jsontree.Node

// A NodeKind says what a Node is.
type NodeKind = jsontree.NodeKind

// The kinds of JSON value.
const (
	Null   = jsontree.Null
	Object = jsontree.Object
	Array  = jsontree.Array
	String = jsontree.String
	Number = jsontree.Number
	True   = jsontree.True
	False  = jsontree.False
)

// ErrTooLarge tells that a document has more values, or a deeper nesting, than is read.
var ErrTooLarge = jsontree.ErrTooLarge

// ParseJSON reads the document that starts in text, whose first line has the
// given number; see jsontree.Parse.
func ParseJSON(text string, line int) (doc *Node, rest string, err error) {
	return jsontree.Parse(text, line)
}

// JSONStart reports whether a line starts a JSON document, or a cut one.
func JSONStart(text string) bool { return jsontree.Starts(text) }
