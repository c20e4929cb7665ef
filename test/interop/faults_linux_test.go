package interop

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"weir/internal/wire/perf"
	"weir/roce"
)

func qpn(l *link) roce.QPN { return roce.QPN(l.him.qpn) }

// faults: bad cables in both directions.
func faults(out, in string, s setting) []row {
	var all []row
	for _, x := range []struct {
		name string
		bad  impairments
	}{
		{"1 % loss", impairments{loss: 0.01}},
		{"5 % loss", impairments{loss: 0.05}},
		{"5 % doubled", impairments{duplicate: 0.05}},
		{"5 % swapped", impairments{reorder: 0.05}},
		{"2 % lost, 2 % doubled, 2 % swapped", impairments{0.02, 0.02, 0.02}},
	} {
		short := x.bad.loss == 0.02
		all = append(all, row{out, "RC over " + x.name + " in both directions: WRITE, SEND, READ, FETCH_ADD, 1 MB", short, func(m *machine) error {
			return m.client(s, "", func(l *link) error {
				m.impair(x.bad)
				err := bulk(l)
				m.impair(impairments{})
				if c := l.dev.Counters(); err == nil && c.Retransmitted == 0 && c.Duplicates == 0 && c.OutOfSequence == 0 && x.bad.duplicate == 0 {
					err = fmt.Errorf("the cable was not bad: %+v", c)
				}
				return err
			}, nil)
		}}, row{in, "RC over " + x.name + " in both directions: WRITE, SEND, READ, FETCH_ADD, 1 MB", short, func(m *machine) error {
			m.impair(x.bad)
			defer m.impair(impairments{})
			ops := strings.Repeat("write:50000 send:3000 read:50000 fadd:1 ", 10)
			return m.server(s, "-b -T 17 -r 6", ops, func(l *link, text string) error {
				m.impair(impairments{})
				if n := strings.Count(text, "status=0"); n != 40 {
					return fmt.Errorf("%d of 40 operations succeed; %+v", n, l.dev.Counters())
				}
				if v := l.mr.Load(0); v != 0x1122334455667788+10 {
					return fmt.Errorf("the counter is %#x", v)
				}
				for i := range 50_000 {
					if l.mr.Byte(64+i) != byte((64+i)%251) {
						return errData
					}
				}
				return nil
			})
		}})
	}
	return all
}

// perftests: the tools as servers and as clients.
func perftests() []row {
	var all []row
	const asClient, asServer = "weir perf --perftest against the tools as servers", "the tools as clients against weir perf server --perftest"
	for _, x := range []struct {
		tool    string
		op      perf.Op
		size, n int
		qps     int
		latency bool
		mtu     int
		short   bool
	}{
		{"ib_write_bw", perf.Write, 65536, 100, 1, false, 1024, true},
		{"ib_write_bw", perf.Write, 65536, 100, 1, false, 4096, false},
		{"ib_write_bw", perf.Write, 65536, 40, 4, false, 4096, true},
		{"ib_read_bw", perf.Read, 65536, 50, 1, false, 4096, true},
		{"ib_send_bw", perf.Send, 65536, 100, 1, false, 4096, true},
		{"ib_write_lat", perf.Write, 8, 50, 1, true, 4096, true},
		{"ib_send_lat", perf.Send, 8, 50, 1, true, 4096, false},
		{"ib_read_lat", perf.Read, 8, 50, 1, true, 4096, false},
	} {
		spec := perf.Spec{Op: x.op, Transport: perf.RoCEv2, Size: x.size, Iterations: x.n, QPs: x.qps, Latency: x.latency, MTU: x.mtu}
		options := fmt.Sprintf("-d rxe0 -x $(%s) -n %d -s %d -m %d", gidIndex("::ffff:"+vmIP4), x.n, x.size, x.mtu)
		if x.qps > 1 {
			options += fmt.Sprintf(" -q %d", x.qps)
		}
		name := fmt.Sprintf("%s, %d x %d bytes, %d queue pairs, path MTU %d", x.tool, x.n, x.size, x.qps, x.mtu)
		all = append(all, row{asClient, name, x.short, func(m *machine) error {
			m.start(x.tool+" "+options, perf.DefaultPort)
			ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
			defer cancel()
			var r *perf.Result
			var err error
			m.host.Do(func() { r, err = (&perf.Client{Host: vmIP4, Spec: spec}).RunPerftest(ctx) })
			log := m.log()
			if err != nil {
				return fmt.Errorf("%w; server: %s", err, tail(log))
			}
			if r.Iterations != x.n*x.qps {
				return fmt.Errorf("%d messages", r.Iterations)
			}
			if x.latency && x.op == perf.Read {
				return nil // this server prints nothing
			}
			return contains(log, fmt.Sprintf("\n %d ", x.size))
		}}, row{asServer, name, x.short, func(m *machine) error {
			ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
			defer cancel()
			var l net.Listener
			var err error
			m.host.Do(func() { l, err = net.Listen("tcp", fmt.Sprintf("%s:%d", hostIP4, perf.DefaultPort)) })
			if err != nil {
				return err
			}
			defer l.Close()
			out := make(chan string, 1)
			go func() { out <- m.sh(fmt.Sprintf("timeout 80 %s %s %s 2>&1; echo status=$?", x.tool, options, hostIP4)) }()
			m.host.Do(func() { _, err = perf.ServePerftest(ctx, l, spec) })
			text := <-out
			if err != nil {
				return fmt.Errorf("%w; client: %s", err, tail(text))
			}
			return contains(text, "status=0", fmt.Sprintf("\n %d ", x.size))
		}})
	}
	return all
}
