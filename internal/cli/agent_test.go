package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// The agent of a host with 8 cards stays below 30 MB of resident memory, its
// program's pages included. The limit is the issue's.
func TestAgentMemory(t *testing.T) {
	if os.Getenv("WEIR_LONG") == "" || runtime.GOOS != "linux" {
		t.Skip("WEIR_LONG=1 on Linux")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "weir")
	if out, err := exec.Command("go", "build", "-o", bin, "weir/cmd/weir").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write := func(name, text string) {
		full := filepath.Join(dir, "tree", name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for card := range 8 {
		p := fmt.Sprintf("sys/class/infiniband/mlx5_%d/ports/1/", card)
		for i := range 22 {
			write(fmt.Sprintf("%scounters/c%d", p, i), strconv.Itoa(i<<40)+"\n")
		}
		for i := range 45 {
			write(fmt.Sprintf("%shw_counters/h%d", p, i), strconv.Itoa(i)+"\n")
		}
		for i := range 256 {
			write(fmt.Sprintf("%sgids/%d", p, i), "0000:0000:0000:0000:0000:ffff:0a01:0203\n")
		}
	}
	cmd := exec.Command(bin, "agent", "--root", filepath.Join(dir, "tree"), "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	for range 200 {
		r, err := http.Get("http://" + addr + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kB resident at most", kb)
	if kb > 30_000 {
		t.Errorf("%d kB resident, more than 30 MB", kb)
	}
}
