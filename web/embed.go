// Package web holds the files of the dashboard, as web/build makes them from
// web/src. They are committed, so that nobody needs a JavaScript tool to build
// the program.
package web

import "embed"

// Dist is the bundle: dist/index.html, dist/app.js, dist/app.css, dist/icon.svg
// and the licences of what is in it.
//
//go:embed dist
var Dist embed.FS
