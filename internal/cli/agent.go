package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/field/host"
	"weir/internal/input"
	"weir/internal/listen"
)

type agentFlags struct {
	listen    listen.Options
	root      string
	exclude   []string
	intervals map[string]string
	access    bool
	once      bool
}

func newAgent(s *Streams) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Export the RDMA counters and settings of this host to Prometheus",
		Long: `Agent serves the counters and the state of this host's RDMA cards at /metrics, in the
Prometheus text format, for weir-server or any Prometheus. It reads files below /sys and
/proc, ethtool statistics and netlink, and changes nothing: a counter that is switched
off is reported with the command that switches it on. Each source is read at most as
often as its interval says, rarer after failures or when it is expensive.`,
		Example: `  weir agent
  weir agent --listen 10.0.0.7:9779 --web-config web.yml
  weir agent --once | grep pfc_pause
  weir agent --list-access`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runAgent(cmd.Context(), s, &f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.listen.Address, "listen", "127.0.0.1:9779", "address to listen on")
	fs.StringVar(&f.listen.WebConfig, "web-config", "", "TLS and authentication: a web configuration file of Prometheus' exporter-toolkit")
	fs.BoolVar(&f.listen.Insecure, "insecure", false, "allow plain text beyond loopback")
	fs.StringVar(&f.root, "root", "/", "where the file system to read is mounted")
	fs.StringSliceVar(&f.exclude, "exclude-devices", nil, "RDMA devices not to touch, as in mlx5_4,mlx5_5")
	fs.StringToStringVar(&f.intervals, "interval", nil, "read a source less often: SOURCE=TIME, as in module=10m (repeatable; --list-access names them)")
	fs.BoolVar(&f.access, "list-access", false, "print every file, request and capability that is used, and end")
	fs.BoolVar(&f.once, "once", false, "print one answer and end")
	return cmd
}

// agentMemory is what the Go runtime of an agent tries to stay below. With
// the program's own pages it stays under 30 MB.
const agentMemory = 12 << 20

func runAgent(ctx context.Context, s *Streams, f *agentFlags) error {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return inputError(f.root, err)
	}
	defer root.Close()
	o := host.Options{Root: root, Kernel: host.System(), Exclude: f.exclude, Now: s.Now, Intervals: map[string]time.Duration{}}
	for name, text := range f.intervals {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second {
			return refused(fmt.Errorf("--interval %s=%s: a time of 1s or more, as in 10m", name, text))
		}
		if known := host.New(o).Sources(); !slices.Contains(known, name) {
			return refused(fmt.Errorf("--interval %s=%s: source %s", name, text, strings.Join(known, ", ")))
		}
		o.Intervals[name] = d
	}
	a := host.New(o)
	switch {
	case f.access:
		w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
		for _, line := range a.Access() {
			fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
		}
		return w.Flush()
	case f.once:
		if err := a.Write(ctx, s.Out); err != nil {
			return failed(err)
		}
		return nil
	}
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(agentMemory)
	return serveAgent(ctx, s, f, a)
}

func serveAgent(ctx context.Context, s *Streams, f *agentFlags, a *host.Agent) error {
	l, err := listen.Open(ctx, f.listen)
	if err != nil {
		if input.IsRefusal(err) {
			return refused(err)
		}
		return failed(err)
	}
	defer l.Close()
	fmt.Fprintf(s.Err, "listening on %v\n", l.Addr())
	log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := listen.Serve(ctx, l, agentHandler(a), f.listen, log); err != nil {
		return failed(err)
	}
	return nil
}

// maxScrapes is how many answers an agent works on at a time.
const maxScrapes = 4

func agentHandler(a *host.Agent) http.Handler {
	slots := make(chan struct{}, maxScrapes)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many scrapes at a time", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		// An error is the reader's going away: the status is already sent.
		_ = a.Write(r.Context(), w)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "weir agent: the metrics are at /metrics")
	})
	return mux
}
