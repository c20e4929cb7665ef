// Package interop holds the software RNIC against Linux's rdma_rxe and Debian's
// perftest, which run in a virtual machine. It has tests only; docs/interop.md
// is what they found.
//
//	WEIR_INTEROP=short go test ./test/interop      the short form, about two minutes
//	WEIR_INTEROP=long  go test ./test/interop      all rows
//
// WEIR_INTEROP_IMAGE names a directory with an image that vm/build.sh has made;
// without it the test builds one (about a minute, from Debian packages).
// WEIR_INTEROP_DOCS names the file to write the table to. The tests need
// root, qemu-system-x86_64, and what vm/build.sh names.
package interop
