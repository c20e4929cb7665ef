// Command build bundles the dashboard: web/src and the packages of
// web/package-lock.json become web/dist, which is committed.
//
//	npm ci --prefix web && go run ./web/build          write web/dist
//	npm ci --prefix web && go run ./web/build --check  compare with it
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	check := len(os.Args) == 2 && os.Args[1] == "--check"
	if len(os.Args) > 2 || len(os.Args) == 2 && !check {
		fmt.Fprintln(os.Stderr, "usage: go run ./web/build [--check]")
		os.Exit(2)
	}
	if err := run("web", check); err != nil {
		fmt.Fprintln(os.Stderr, "web/build:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	files, err := bundle(dir)
	if err != nil {
		return err
	}
	dist := filepath.Join(dir, "dist")
	if check {
		return compare(dist, files)
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dist, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compare tells which committed files are not what the sources give.
func compare(dist string, files map[string][]byte) error {
	var stale []string
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dist, name)); err != nil || !bytes.Equal(got, want) {
			stale = append(stale, name)
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("not what web/src gives, run go run ./web/build: %s", strings.Join(stale, ", "))
	}
	return nil
}

// bundle returns the files of dist by name.
func bundle(dir string) (map[string][]byte, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := api.Build(api.BuildOptions{
		AbsWorkingDir:       root,
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: "src/main.tsx", OutputPath: "app"}, {InputPath: "src/app.css", OutputPath: "app"}},
		Outdir:              "dist",
		Bundle:              true,
		Format:              api.FormatESModule,
		Target:              api.ES2022,
		JSX:                 api.JSXAutomatic,
		JSXImportSource:     "preact",
		MinifyWhitespace:    true,
		MinifyIdentifiers:   true,
		MinifySyntax:        true,
		LegalComments:       api.LegalCommentsNone, // the licences stand in LICENSES.txt
		Charset:             api.CharsetUTF8,
	})
	if len(r.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(r.Errors, api.FormatMessagesOptions{}), ""))
	}
	files := map[string][]byte{}
	for _, f := range r.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join(root, "src", name)); err != nil {
			return nil, err
		}
	}
	if files["LICENSES.txt"], err = licences(root, "preact", "uplot"); err != nil {
		return nil, err
	}
	return files, nil
}

// licences joins those of the packages in the bundle.
func licences(root string, packages ...string) ([]byte, error) {
	var b bytes.Buffer
	for _, p := range packages {
		text, err := os.ReadFile(filepath.Join(root, "node_modules", p, "LICENSE"))
		if err != nil {
			return nil, fmt.Errorf("%w (npm ci --prefix web?)", err)
		}
		fmt.Fprintf(&b, "%s\n\n%s\n", p, text)
	}
	return b.Bytes(), nil
}
