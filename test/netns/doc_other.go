//go:build !linux

// Package netns makes network namespaces for tests; it is for Linux alone.
package netns
