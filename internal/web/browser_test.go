package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A browser is a headless Chromium with one page.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser starts Chromium with a profile of its own; without one installed
// the test is skipped.
func newBrowser(t *testing.T, width, height int) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes longer than -short allows")
	}
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		t.Skip("no Chromium installed (Debian package chromium)")
	}
	opts := append([]chromedp.ExecAllocatorOption{},
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.WindowSize(width, height),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-default-apps", true), chromedp.Flag("disable-extensions", true), chromedp.Flag("hide-scrollbars", false), chromedp.Flag("mute-audio", true),
		chromedp.Flag("lang", "en-GB"), chromedp.Flag("force-prefers-color-scheme", "dark"),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if _, err := chromedp.Run(ctx, chromedp.EmulateViewport(int64(width), int64(height))); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	return &browser{t, ctx}
}

// run runs one action within a time.
func run[T any](b *browser, within time.Duration, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, within)
	defer stop()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

func (b *browser) open(address string) {
	b.t.Helper()
	run(b, 20*time.Second, chromedp.Navigate(address))
	run(b, 20*time.Second, chromedp.WaitVisible("header nav"))
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return run(b, 20*time.Second, chromedp.Evaluate[T](expression))
}

// keys types into whatever has the focus, as a keyboard does: a character comes
// only if the page does not prevent its key. chromedp.KeyEvent sends it in any
// case, as an event of its own.
func (b *browser) keys(text string) {
	b.t.Helper()
	run(b, 10*time.Second, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, r := range text {
			for _, k := range kb.Encode(r) {
				switch k.Type {
				case kb.KeyChar:
					continue
				case kb.KeyDown:
					k.Type, k.Text = input.DispatchKeyEventTypeKeyDown, string(r)
				}
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *k); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// until waits for an expression to be true, and says what is on the screen if
// it does not come. The time is what a quiet machine needs at most; a busy one
// gets four times that.
func (b *browser) until(what string, within time.Duration, expression string) {
	b.t.Helper()
	end := time.Now().Add(4 * within)
	// An element that is not there yet makes the expression throw.
	for !eval[bool](b, "(() => { try { return !!("+expression+"); } catch { return false; } })()") {
		if time.Now().After(end) {
			b.t.Fatalf("%s: not within %v; on the screen:\n%.1500s", what, 4*within, eval[string](b, "document.body.innerText"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (b *browser) picture(name string) {
	b.t.Helper()
	png := run(b, 20*time.Second, chromedp.CaptureScreenshot())
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}
