package web_test

import (
	"os"
	"testing"
	"time"
)

// TestPictures takes the pictures of docs/dashboard.md from a running server:
//
//	go run ./cmd/weir-server examples/pod-64x8.yaml --source sim --set routing.mode=ecmp --fault pfc-storm@host-7/nic-3
//	WEIR_PICTURES=http://127.0.0.1:8080 go test ./internal/web -run TestPictures
func TestPictures(t *testing.T) {
	server := os.Getenv("WEIR_PICTURES")
	if server == "" {
		t.Skip("WEIR_PICTURES names no server")
	}
	out := os.Getenv("WEIR_PICTURES_DIR")
	if out == "" {
		out = "../../docs/img"
	}
	b := newBrowser(t, 1366, 768)
	for _, p := range []struct{ name, path string }{
		{"overview", "/"},
		{"ports", "/ports?sort=-pauseRx"},
		{"heat", "/heat?cables=leaf-spine&side=upper"},
		{"port", "/port/leaf-0/port-64?range=60"},
		{"findings", "/findings"},
		{"job", "/job"},
		{"overview-zh-light", "/?lang=zh&theme=light"},
		{"ports-zh-light", "/ports?lang=zh&theme=light&sort=-marks"},
	} {
		b.open(server + p.path)
		b.until("a live "+p.name, 15*time.Second, `document.querySelector('[data-link=live]')`)
		time.Sleep(2500 * time.Millisecond)
		b.picture(out + "/" + p.name + ".png")
	}
}
