package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"weir/web"
)

// secure sets the headers that every answer carries: nothing but this server's
// own files may run, no other site may frame or read it.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// asset is one file of the bundle, as it is sent.
type asset struct {
	mime       string
	tag        string
	plain, zip []byte
}

// pages serves the bundle. All pages are one document, which finds out from
// its address what to show.
func pages() http.Handler {
	assets := map[string]*asset{}
	err := fs.WalkDir(web.Dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := web.Dist.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		a := &asset{mime: mime.TypeByExtension(path.Ext(name)), tag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: data}
		if a.mime == "" {
			a.mime = "text/plain; charset=utf-8"
		}
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		z.Write(data)
		z.Close()
		a.zip = b.Bytes()
		assets[strings.TrimPrefix(name, "dist")] = a
		return nil
	})
	if err != nil {
		panic("web: the files in the program cannot be read: " + err.Error())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/assets/")
		a := assets["/index.html"]
		if ok {
			a = assets["/"+name]
		} else if !isPage(r.URL.Path) {
			a = nil
		}
		if a == nil {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", a.mime)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", a.tag)
		h.Set("Vary", "Accept-Encoding")
		if r.Header.Get("If-None-Match") == a.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			w.Write(a.zip)
			return
		}
		w.Write(a.plain)
	})
}

func isPage(p string) bool {
	switch first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/"); first {
	case "", "ports", "heat", "port", "findings", "job":
		return true
	}
	return false
}

// sendJSON answers with JSON, packed if the client takes it.
func sendJSON(w http.ResponseWriter, r *http.Request, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if len(body) < 4096 || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Write(body)
		return
	}
	h.Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	z.Write(body)
	z.Close()
}
