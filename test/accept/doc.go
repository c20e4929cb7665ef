// Package accept tries weir accept on real packets: four network namespaces on
// a bridge, with every link shaped by a token bucket. It has tests only; they
// need root, ip and tc.
package accept
