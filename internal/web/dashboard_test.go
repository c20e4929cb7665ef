package web_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const pod = `
host: {count: 12, gpus: 8, nic: {count: 1, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 2}
job: {collective: all_reduce, size: 64MB}
`

// newPod is a fabric in which host-11 stalls its leaf, which stalls a spine.
func newPod(t *testing.T) *scene {
	s := newScene(t, pod, 250*time.Millisecond)
	for h := range 12 {
		s.host(fmt.Sprintf("host-%d", h), "mlx5_0", 40)
		s.leaf(fmt.Sprintf("leaf-%d", h/6), fmt.Sprintf("port-%d", h%6), 20)
		s.rate(float64(100*h), "rdma_np_cnp_sent_total", "instance", fmt.Sprintf("host-%d", h), "device", "mlx5_0", "port", "1")
	}
	for leaf := range 2 {
		for port := range 6 {
			s.held(fmt.Sprintf("leaf-%d", leaf), fmt.Sprintf("port-%d", port), 0)
		}
	}
	s.held("leaf-1", "port-5", 0.96)
	s.held("spine-0", "port-1", 0.5)
	s.rate(120_000, "roce_switch_queue_ecn_marked_packets_total", "switch", "leaf-1", "port", "port-5", "queue", "3")
	return s
}

// TestDashboard looks at what a person sees, in a real browser.
func TestDashboard(t *testing.T) {
	b := newBrowser(t, 1366, 768)
	s := newPod(t)
	s.run()
	server := serve(t, s.server.Handler())
	step := func(name string, f func(t *testing.T, b *browser)) {
		t.Run(name, func(t *testing.T) { f(t, &browser{t, b.ctx}) })
	}
	step("overview", func(t *testing.T, b *browser) {
		b.open(server.URL + "/?lang=en")
		b.until("the verdict of a storm", 10*time.Second, `document.querySelector('[data-test=verdict]').dataset.code === 'storm'`)
		text := eval[string](b, `document.querySelector('[data-test=verdict]').innerText`)
		if !strings.Contains(text, "Pause storm: host-11 holds others back 96 % of the time") || !strings.Contains(text, "old") {
			t.Errorf("verdict: %q", text)
		}
		b.until("the pause tree", 5*time.Second, `/host-11[^]*leaf-1\/port-5[^]*96 %[^]*spine-0\/port-1[^]*50 %/.test(document.querySelector('[data-test=tree]').innerText)`)
		b.until("the paused port on top", 5*time.Second, `/^leaf-1\/port-5/.test(document.querySelector('[data-top=pauseRx] tbody').innerText)`)
		b.until("marks", 5*time.Second, `/leaf-1\/port-5\s+120 k\/s/.test(document.querySelector('[data-top=marks] tbody').innerText)`)
		b.until("the map shows who pauses", 5*time.Second, `document.querySelector('[data-node=host-11]').classList.contains('pauses') && !document.querySelector('[data-node=host-1]').classList.contains('pauses')`)
		if n := colours(b, "map"); n < 5 {
			t.Errorf("the map has %d colours", n)
		}
		if over := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%v pixels stick out at 1366x768", over)
		}
	})
	step("ports", func(t *testing.T, b *browser) {
		b.open(server.URL + "/ports?lang=en&sort=-pauseRx")
		b.until("rates", 10*time.Second, `document.querySelectorAll('.row .line').length >= 10`)
		for _, want := range []string{"host-11/nic-0", "leaf-1/port-5", "40.0 Gb/s", "40 %", "96 %", "120 k/s", "1.10 k/s"} {
			b.until("the first row shows "+want, 5*time.Second, fmt.Sprintf(`[...document.querySelectorAll('.row')].sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))[0].innerText.includes(%q)`, want))
		}
		b.until("curves", 5*time.Second, `(() => { const c = document.querySelector('.row canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return d.some((v, i) => i % 4 === 3 && v > 0); })()`)
		b.keys("/")
		b.until("the search field", 5*time.Second, `document.activeElement.id === 'search'`)
		b.keys("host-1 ")
		b.until("a search that finds host-1 but not host-11", 5*time.Second, `document.querySelector('[data-test=count]').innerText.startsWith('1 of ')`)
		b.until("the address holds the state", 5*time.Second, `location.search.includes('q=host-1') && location.search.includes('sort=-pauseRx')`)
		run(b, 20*time.Second, chromedp.Reload())
		b.until("the same after a reload", 10*time.Second, `document.querySelector('[data-test=count]')?.innerText.startsWith('1 of ') && document.querySelectorAll('.row').length === 1`)
	})
	step("port", func(t *testing.T, b *browser) {
		b.open(server.URL + "/port/leaf-1/port-5?lang=en&range=60")
		b.until("charts", 10*time.Second, `document.querySelectorAll('[data-chart] canvas').length >= 4`)
		b.until("the pause line at 96 %", 10*time.Second, `/Held back\s+9[567] %/.test(document.querySelector('.facts').innerText)`)
		if n := colours(b, "", `document.querySelector('[data-chart=pause] canvas')`); n < 3 {
			t.Errorf("the chart has %d colours", n)
		}
		// One cursor for all charts: the legend of another chart shows a value.
		eval[bool](b, `(() => { const o = document.querySelector('[data-chart=throughput] .u-over'), r = o.getBoundingClientRect(); o.dispatchEvent(new MouseEvent('mousemove', {clientX: r.left + r.width - 30, clientY: r.top + 40, bubbles: true})); return true; })()`)
		b.until("the shared cursor", 5*time.Second, `/9[567] %/.test(document.querySelector('[data-chart=pause] .u-legend').innerText)`)
	})
	step("heat map", func(t *testing.T, b *browser) {
		b.open(server.URL + "/heat?lang=en&side=upper")
		b.until("a row that stands out", 10*time.Second, `(() => { const c = document.querySelector('[data-test=heat]'); if (c.height < 12) return false; const px = (y) => [...c.getContext('2d').getImageData(c.width - 1, y, 1, 1).data].join(); return px(11) !== px(3) && px(3) === px(4); })()`)
	})
	step("findings", func(t *testing.T, b *browser) {
		b.open(server.URL + "/findings?lang=en")
		b.until("the finding", 25*time.Second, `document.querySelector('[data-test=finding]') && /Evidence/.test(document.querySelector('[data-test=finding]').innerText)`)
		if text := eval[string](b, `document.querySelector('.findings').innerText`); !strings.Contains(text, "leaf-1") && !strings.Contains(text, "host-11") {
			t.Errorf("the finding names no place: %q", text)
		}
	})
	step("job", func(t *testing.T, b *browser) {
		b.open(server.URL + "/job?lang=en")
		// 40 Gb/s of a host are 5 GB/s on the wire; payload is 0.98 of it.
		b.until("the measured bandwidth", 10*time.Second, `/^4\.[89]\d GB\/s/.test(document.querySelector('[data-test=measured]')?.innerText ?? '')`)
		if eval[int](b, `document.querySelectorAll('.hostbar').length`) != 12 {
			t.Error("not all hosts are there")
		}
	})
	step("chinese and light", func(t *testing.T, b *browser) {
		for path, want := range map[string]string{"/": "风暴", "/ports": "被暂停", "/heat": "热力图", "/port/host-0/nic-0": "吞吐", "/findings": "置信度", "/job": "总线带宽"} {
			b.open(server.URL + path + "?lang=zh&theme=light")
			b.until(path+" in Chinese", 15*time.Second, fmt.Sprintf(`document.body.innerText.includes(%q) && document.documentElement.lang === 'zh-CN'`, want))
			if bg := eval[string](b, `getComputedStyle(document.body).backgroundColor`); bg != "rgb(243, 245, 248)" {
				t.Errorf("%s: background %s", path, bg)
			}
			if words := eval[string](b, `document.querySelector('nav').innerText`); !strings.Contains(words, "端口") || strings.Contains(words, "Ports") {
				t.Errorf("%s: navigation %q", path, words)
			}
		}
	})
	step("keyboard", func(t *testing.T, b *browser) {
		b.open(server.URL + "/?lang=en&theme=dark")
		b.keys("gp")
		b.until("g p opens the ports", 5*time.Second, `location.pathname === '/ports' && document.querySelectorAll('.row').length > 3`)
		b.keys("jj")
		b.until("a selected row", 5*time.Second, `document.querySelector('.row.selected')`)
		b.keys("\r")
		b.until("Enter opens it", 5*time.Second, `location.pathname.startsWith('/port/')`)
		b.keys("t")
		b.until("t changes the theme", 5*time.Second, `document.documentElement.dataset.theme === 'light' && location.search.includes('theme=light')`)
		b.keys("?")
		b.until("? shows the keys", 5*time.Second, `document.querySelector('[role=dialog]')`)
	})
	step("live", func(t *testing.T, b *browser) {
		b.open(server.URL + "/?lang=en")
		b.until("a live page", 10*time.Second, `document.querySelector('[data-link=live]')`)
		begin := time.Now()
		s.rate(4000, "roce_switch_pg_dropped_packets_total", "switch", "leaf-0", "port", "port-2", "priority", "3")
		b.until("drops on the screen", 8*time.Second, `document.querySelector('[data-top=drops]')?.innerText.includes('leaf-0/port-2')`)
		// The second reading of the new counter, up to half a second on, is the
		// first that shows a rate.
		took := time.Since(begin)
		t.Logf("drops were on the screen %v after the switch began to count them", took.Round(10*time.Millisecond))
		if took > 2500*time.Millisecond && os.Getenv("WEIR_LONG") != "" {
			t.Errorf("%v", took)
		}
		b.until("the verdict turns", 5*time.Second, `document.querySelector('[data-test=verdict]').innerText.includes('Packets are dropped')`)
		s.rate(0, "roce_switch_pg_dropped_packets_total", "switch", "leaf-0", "port", "port-2", "priority", "3")
		b.keys(" ")
		b.until("a frozen page", 5*time.Second, `document.querySelector('.status.frozen')`)
	})
	step("own origin only", func(t *testing.T, b *browser) {
		b.open(server.URL + "/ports")
		if other := eval[[]string](b, `performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin + '/'))`); len(other) > 0 {
			t.Errorf("loaded from elsewhere: %v", other)
		}
		if n := eval[int](b, `document.querySelectorAll('script:not([src]),[style*="url("],[onclick]').length`); n > 0 {
			t.Errorf("%d inline scripts", n)
		}
		// The policy itself: a script that is put into the page does not run.
		if eval[bool](b, `(() => { const e = document.createElement('script'); e.textContent = 'window.ran = true'; document.head.append(e); return !!window.ran; })()`) {
			t.Error("an inline script runs")
		}
	})
}

// colours counts the colours of a canvas.
func colours(b *browser, test string, element ...string) int {
	e := fmt.Sprintf(`document.querySelector('[data-test=%s]')`, test)
	if len(element) > 0 {
		e = element[0]
	}
	return eval[int](b, `(() => { const c = `+e+`, d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer); return new Set(d).size; })()`)
}

// TestReconnect takes the server away and brings it back.
func TestReconnect(t *testing.T) {
	b := newBrowser(t, 1366, 768)
	s := newPod(t)
	s.run()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	first := &http.Server{Handler: s.server.Handler()}
	go first.Serve(listener)
	b.open("http://" + address + "/?lang=en")
	b.until("a live page", 10*time.Second, `document.querySelector('[data-link=live]')`)
	first.Close()
	b.until("the loss told", 8*time.Second, `/connection lost/.test(document.querySelector('[data-test=status]').innerText)`)
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	second := &http.Server{Handler: s.server.Handler()}
	go second.Serve(listener)
	t.Cleanup(func() { second.Close() })
	b.until("the page live again by itself", 15*time.Second, `document.querySelector('[data-link=live]')`)
}
