// Package architecture holds the rules of the repository that tests keep: the
// floors of ARCHITECTURE.md, one documentation comment a package, and nothing
// that belongs to one machine.
package architecture
