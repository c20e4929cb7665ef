package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/answer/alert"
	"weir/internal/cli"
	"weir/internal/input"
	"weir/internal/telemetry"
	"weir/units"
)

// TestMain lets the test binary be weir-server.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_SERVER") != "" {
		os.Exit(cli.MainProgram(NewCommand))
	}
	os.Exit(m.Run())
}

// process is a running weir-server.
type process struct {
	cmd *exec.Cmd
	url string
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "WEIR_TEST_SERVER=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			p.url = "http://" + addr
			go io.Copy(io.Discard, stderr)
			t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
			return p
		}
		t.Log(lines.Text())
	}
	t.Fatalf("weir-server ended: %v", cmd.Wait())
	return nil
}

// query returns the values of an instant query by instance.
func (p *process) query(t *testing.T, expr string) map[string]string {
	t.Helper()
	var out struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	p.get(t, "/api/v1/query?query="+url.QueryEscape(expr), &out)
	m := map[string]string{}
	for _, r := range out.Data.Result {
		m[r.Metric["instance"]] = r.Value[1].(string)
	}
	return m
}

func (p *process) get(t *testing.T, path string, out any) {
	t.Helper()
	r, err := http.Get(p.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(out); err != nil || r.StatusCode != 200 {
		t.Fatalf("%s: status %d, %v", path, r.StatusCode, err)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 15 s: %s", what)
}

// An agent is scraped into the store; the server is killed and goes on where
// it was, over the wrap of a counter of 32 bits; it ends cleanly on SIGTERM.
func TestServer(t *testing.T) {
	var counter atomic.Uint64
	counter.Store(4294967290)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "rdma_out_of_sequence_total{device=\"mlx5_0\",port=\"1\"} %d\n", counter.Load())
	}))
	defer agent.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		full := filepath.Join(dir, name)
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return full
	}
	host := strings.TrimPrefix(agent.URL, "http://")
	write("targets.json", fmt.Sprintf(`[{"targets":[%q],"labels":{"instance":"host-0"}},{"targets":["127.0.0.1:1"],"labels":{"instance":"host-1"}}]`, host))
	config := write("weir-server.yml", "schema: weir.server/1\nagents: {file: targets.json, interval: 1s}\n"+
		"alerts: {interval: 1s}\n")
	args := []string{"../../examples/two-nodes.yaml", "--data", filepath.Join(dir, "data"), "--config", config}
	p := start(t, args...)
	until(t, "both targets were asked", func() bool { return len(p.query(t, "up")) == 2 })
	if up := p.query(t, "up"); up["host-0"] != "1" || up["host-1"] != "0" {
		t.Errorf("up: %v", up)
	}
	var targets struct {
		Data struct{ ActiveTargets []targetJSON }
	}
	p.get(t, "/api/v1/targets", &targets)
	if a := targets.Data.ActiveTargets; len(a) != 2 || a[0].Health != "up" || a[1].Health != "down" || a[1].LastError == "" {
		t.Errorf("targets: %+v", a)
	}
	until(t, "the agent that does not answer is an alert", func() bool {
		var out struct {
			Data struct{ Alerts []alertJSON }
		}
		p.get(t, "/api/v1/alerts", &out)
		return len(out.Data.Alerts) == 1 && out.Data.Alerts[0].Labels["alertname"] == "WeirAgentDown" && out.Data.Alerts[0].Labels["instance"] == "host-1"
	})
	var rules struct {
		Data struct{ Groups []struct{ Rules []ruleJSON } }
	}
	p.get(t, "/api/v1/rules", &rules)
	if g := rules.Data.Groups; len(g) != 1 || len(g[0].Rules) != len(alert.Rules()) {
		t.Errorf("rules: %+v", g)
	} else {
		for _, r := range g[0].Rules {
			if r.Health != "ok" || (r.State != "inactive") != (r.Name == "WeirAgentDown") {
				t.Errorf("%+v", r)
			}
		}
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.cmd.Wait()
	counter.Store(4)
	p = start(t, args...)
	until(t, "the counter went on", func() bool { return p.query(t, "rdma_out_of_sequence_total")["host-0"] == "4294967300" })
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("end on SIGINT: %v", err)
	}
}

func TestConfigRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   `c.yml: found schema "": allowed "weir.server/1"`,
		"schema: x":                          `c.yml: found schema "x"`,
		"schema: weir.server/1\nagent: {}\n": `c.yml:2:1: unknown field "agent"`,
		"schema: weir.server/1\nagents: {interval: 1}\n":          "c.yml",
		"schema: weir.server/1\nagents: {interval: 5ms}\n":        "agents.interval below 1s",
		"schema: weir.server/1\nagents: {url: 'file:///etc/x'}\n": "agents.url",
		"schema: [": "c.yml:",
		"schema: weir.server/1\nswitches: [{name: leaf-0}]\n":                                                      "without gnmi, snmp and ssh",
		"schema: weir.server/1\nswitches: [{name: a, snmp: {address: h}}]\n":                                       "switches[0].snmp without credentials",
		"schema: weir.server/1\nswitches: [{name: a, ssh: {address: h, os: dos}}]\n":                               "os \"dos\": allowed a host and cumulus, ",
		"schema: weir.server/1\nswitches: [{name: a, gnmi: {address: 'h:1', model: x}}]\n":                         "openconfig or sonic",
		"schema: weir.server/1\nswitches: [{name: a, gnmi: {address: 'h:1', plaintext: true, username: admin}}]\n": "a password over plain text",
		"schema: weir.server/1\nalerts: {off: [Sun]}\n":                                                            `rule "Sun" in alerts.off: allowed RoCELeafDown, `,
		"schema: weir.server/1\nalerts: {thresholds: {RoCEMarksHigh: {above: 1, clear: 2}}}\n":                     "clear over above",
		"schema: weir.server/1\nalerts: {receivers: [{url: am}]}\n":                                                `receiver "am"`,
		"schema: weir.server/1\nalerts: {maintenance: [{start: noon}]}\n":                                          "alerts.maintenance[0]",
		"schema: weir.server/1\nalerts: {maintenance: [{days: [fri]}]}\n":                                          "from and to are the same",
	} {
		_, err := parseConfig("c.yml", []byte(text))
		if err == nil || !input.IsRefusal(err) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("schema: weir.server/1\nagents: {file: targets.json, interval: 1s}\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { parseConfig("c.yml", text) })
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nowhere.yaml"}, "nowhere.yaml: no such file"},
		{[]string{"../../examples/two-nodes.yaml", "--source", "sun"}, "--source sun: agents"},
		{[]string{"../../examples/two-nodes.yaml", "--source", "record"}, "agents, record:DIR, sim"},
		{[]string{"../../examples/two-nodes.yaml", "--retention", "1m"}, "at least 1h"},
		{[]string{"../../examples/two-nodes.yaml", "--listen", "0.0.0.0:0"}, "beyond loopback without authentication"},
		{[]string{"../../examples/two-nodes.yaml", "--config", "nowhere.yml"}, "nowhere.yml: no such file"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		cmd := exec.CommandContext(ctx, os.Args[0], append(c.args, "--data", t.TempDir())...)
		cmd.Env = append(os.Environ(), "WEIR_TEST_SERVER=1")
		out, err := cmd.CombinedOutput()
		cancel()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitRefused || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v, %s; want status 2 and %q", c.args, err, out, c.want)
		}
	}
}

// The configuration of docs/live.md is one that the server takes.
func TestDocumentedConfig(t *testing.T) {
	text, err := os.ReadFile("../../docs/live.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/live.md shows no configuration")
	}
	c, err := parseConfig("weir-server.yml", []byte(block))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Switches) != 2 || len(c.Alerts.windows) != 2 || c.Existing.URL == "" {
		t.Errorf("%+v", c)
	}
}

// A record is replayed slowed down: one reading a second, at the fabric's own rates.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	reg := telemetry.NewRegistry()
	n, err := reg.Add(telemetry.MustLookup("rdma_np_cnp_sent_total"), "host-0", "mlx5_0", "1")
	if err != nil {
		t.Fatal(err)
	}
	w, err := telemetry.Create(root, telemetry.Header{Interval: 100 * units.Microsecond}, reg, telemetry.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		// 5 notifications in 100 us are 50,000 a second.
		w.Begin(units.Time(i) * 100 * units.Microsecond)
		w.Set(n, uint64(5*i))
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, "../../examples/two-nodes.yaml", "--data", filepath.Join(t.TempDir(), "data"), "--source", "record:"+dir)
	until(t, "the fabric's rate", func() bool {
		v, err := strconv.ParseFloat(p.query(t, "rate(rdma_np_cnp_sent_total[5s])")["host-0"], 64)
		return err == nil && v > 45_000 && v < 55_000
	})
}
