// Package tool is what a parser of one tool's output implements, and what it
// is given: lines with their place, a look ahead for recognition, the command
// and host where they are known, JSON as a tree with line numbers, and the
// place to put facts. Package evidence runs the parsers; its documentation
// tells how to add one.
package tool
