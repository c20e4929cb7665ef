package server

import "net/http"

// dashboard is what the root of the server shows.
func dashboard(_ *Live) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte("weir-server: the Prometheus HTTP API is below /api/v1/\n"))
	})
}
