package switches

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/cache"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/subscribe"
	"google.golang.org/grpc"

	"weir/internal/store"
)

const samples = "../../../../shared/samples/switch/"

func openStore(t *testing.T) *store.Local {
	t.Helper()
	l, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func value(t *testing.T, l store.Store, expr string) float64 {
	t.Helper()
	got, err := l.Query(context.Background(), expr, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		return math.NaN()
	}
	return got[0].Value
}

func check(t *testing.T, l store.Store, want map[string]float64) {
	t.Helper()
	for expr, v := range want {
		if got := value(t, l, expr); got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
			t.Errorf("%s is %v, want %v", expr, got, v)
		}
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 10 s: %s", what)
}

// server is the gNMI server of the OpenConfig project, on loopback.
type server struct {
	cache *cache.Cache
	grpc  *grpc.Server
	addr  string
}

func serve(t *testing.T, addr string, targets ...string) *server {
	t.Helper()
	s := &server{cache: cache.New(targets), grpc: grpc.NewServer()}
	sub, err := subscribe.NewServer(s.cache)
	if err != nil {
		t.Fatal(err)
	}
	s.cache.SetClient(sub.Update)
	gnmi.RegisterGNMIServer(s.grpc, sub)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	go s.grpc.Serve(l)
	t.Cleanup(s.grpc.Stop)
	return s
}

// path reads "a/b[k=v]/c".
func path(s string) *gnmi.Path {
	p := &gnmi.Path{}
	for _, e := range strings.Split(s, "/") {
		name, key, ok := strings.Cut(e, "[")
		elem := &gnmi.PathElem{Name: name}
		if ok {
			k, v, _ := strings.Cut(strings.TrimSuffix(key, "]"), "=")
			elem.Key = map[string]string{k: strings.ReplaceAll(v, "|", "/")}
		}
		p.Elem = append(p.Elem, elem)
	}
	return p
}

func (s *server) set(t *testing.T, target, p string, v *gnmi.TypedValue) {
	t.Helper()
	n := &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: &gnmi.Path{Target: target}, Update: []*gnmi.Update{{Path: path(p), Val: v}}}
	if err := s.cache.GnmiUpdate(n); err != nil {
		t.Fatal(err)
	}
}

func uintValue(n uint64) *gnmi.TypedValue {
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: n}}
}

func text(s string) *gnmi.TypedValue {
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: s}}
}

func jsonValue(s string) *gnmi.TypedValue {
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(s)}}
}

// A subscription with SONiC's paths: JSON objects of strings, as COUNTERS_DB has
// them, arrive as samples; the connection comes back by itself.
func TestGNMISonic(t *testing.T) {
	s := serve(t, "127.0.0.1:0", "COUNTERS_DB")
	s.set(t, "COUNTERS_DB", "COUNTERS/Ethernet*/Port", jsonValue(`{"Ethernet0":{"SAI_PORT_STAT_IF_IN_OCTETS":"9007199254740993","SAI_PORT_STAT_PFC_3_RX_PKTS":"203","EST_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US":"20000003","SAI_PORT_STAT_UNKNOWN":"1"}}`))
	s.set(t, "COUNTERS_DB", "COUNTERS/Ethernet*/Queues", jsonValue(`{"Ethernet0:3":{"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS":"76","PFC_WD_STATUS":"stormed"},"Ethernet4:4":{"PFC_WD_STATUS":"operational"}}`))
	s.set(t, "COUNTERS_DB", "COUNTERS/Ethernet*/PriorityGroups", jsonValue(`{"Ethernet0:3":{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS":"5"}}`))
	l := openStore(t)
	w := NewWriter(l, nil, "leaf-0", "gnmi", map[string]string{"Ethernet0": "port-0"}, nil)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- w.RunGNMI(ctx, GNMIConfig{Address: s.addr, Model: "sonic", Interval: 100 * time.Millisecond}, slog.New(slog.DiscardHandler))
	}()
	until(t, "the first update", func() bool { return value(t, l, `weir_switch_up{switch="leaf-0",source="gnmi"}`) == 1 })
	until(t, "all updates", func() bool {
		return value(t, l, `roce_switch_pg_dropped_packets_total{switch="leaf-0",port="port-0",priority="3"}`) == 5
	})
	check(t, l, map[string]float64{
		`roce_switch_port_bytes_total{switch="leaf-0",port="port-0",direction="rx"}`:                      9007199254740992,
		`roce_switch_pfc_pause_frames_total{switch="leaf-0",port="port-0",priority="3",direction="rx"}`:   203,
		`roce_switch_pfc_pause_duration_total{switch="leaf-0",port="port-0",priority="3",direction="rx"}`: 20000003,
		`roce_switch_queue_ecn_marked_packets_total{switch="leaf-0",port="port-0",queue="3"}`:             76,
		`roce_switch_pfc_watchdog_stormed{switch="leaf-0",port="port-0",queue="3"}`:                       1,
		`roce_switch_pfc_watchdog_stormed{switch="leaf-0",port="Ethernet4",queue="4"}`:                    0,
	})
	s.set(t, "COUNTERS_DB", "COUNTERS/Ethernet*/PriorityGroups", jsonValue(`{"Ethernet0:3":{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS":"6"}}`))
	until(t, "a later update", func() bool { return value(t, l, `roce_switch_pg_dropped_packets_total`) == 6 })
	s.grpc.Stop()
	until(t, "the loss of the switch", func() bool { return value(t, l, `weir_switch_up`) == 0 })
	check(t, l, map[string]float64{`roce_switch_pg_dropped_packets_total`: math.NaN()})
	again := serve(t, s.addr, "COUNTERS_DB")
	again.set(t, "COUNTERS_DB", "COUNTERS/Ethernet*/PriorityGroups", jsonValue(`{"Ethernet0:3":{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS":"7"}}`))
	until(t, "the way back", func() bool { return value(t, l, `roce_switch_pg_dropped_packets_total`) == 7 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The same with OpenConfig's paths and leaves. The server of the OpenConfig
// project wants a target, which a switch does not.
func TestNotifications(t *testing.T) {
	n := func(target string, pairs ...any) *gnmi.Notification {
		n := &gnmi.Notification{Prefix: &gnmi.Path{Target: target}}
		for i := 0; i < len(pairs); i += 2 {
			n.Update = append(n.Update, &gnmi.Update{Path: path(pairs[i].(string)), Val: pairs[i+1].(*gnmi.TypedValue)})
		}
		return n
	}
	show := func(rs []Reading) string {
		var out []string
		for _, r := range rs {
			s := fmt.Sprintf("%s %d", r.Port, r.Value)
			for _, l := range r.Labels {
				s += " " + l.Name + "=" + l.Value
			}
			out = append(out, s)
		}
		return strings.Join(out, "; ")
	}
	for _, c := range []struct {
		n    *gnmi.Notification
		want string
	}{
		{n("", "interfaces/interface[name=Ethernet1|1]/state/counters/in-octets", uintValue(18446744073709551615)), "Ethernet1/1 18446744073709551615 direction=rx"},
		{n("", "interfaces/interface[name=Ethernet1|1]/ethernet/state/counters/out-mac-pause-frames", uintValue(9)), "Ethernet1/1 9 direction=tx"},
		{n("", "interfaces/interface[name=Ethernet1|1]/state/oper-status", text("UP")), "Ethernet1/1 1 state=up"},
		{n("", "interfaces/interface[name=Ethernet1|1]/state/oper-status", text("LOWER_LAYER_DOWN")), "Ethernet1/1 1 state=down"},
		{n("", "qos/interfaces/interface[interface-id=et-0]/output/queues/queue[name=UC3]/state/ecn-marked-pkts", uintValue(6)), "et-0 6 queue=3"},
		{n("", "interfaces/interface[name=e1]/state", jsonValue(`{"openconfig-interfaces:counters":{"openconfig-interfaces:out-octets":"12"},"oper-status":"UP","mtu":9000}`)), "e1 12 direction=tx; e1 1 state=up"},
		{n("", "interfaces", jsonValue(`{"openconfig-interfaces:interface":[{"name":"e2","state":{"counters":{"in-discards":"4"}}}]}`)), "e2 4 direction=rx"},
		{n("", "interfaces/interface[name=e1]/state/counters/in-octets", text("no number")), ""},
		{n("", "system/state/hostname", text("leaf")), ""},
		{n("COUNTERS_DB", "COUNTERS/Ethernet8/SAI_PORT_STAT_IF_OUT_DISCARDS", text("4")), "Ethernet8 4 direction=tx"},
		{n("COUNTERS_DB", "COUNTERS/Ethernet8", jsonValue(`{"SAI_PORT_STAT_PFC_3_TX_PKTS":"41"}`)), "Ethernet8 41 priority=3 direction=tx"},
		{n("COUNTERS_DB", "COUNTERS/Ethernet8", jsonValue(`{"SAI_PORT`)), ""},
	} {
		got := show(fromNotification(c.n))
		if got != c.want && !(strings.Contains(c.want, ";") && len(got) == len(c.want)) {
			t.Errorf("%v: %q, want %q", c.n, got, c.want)
		}
	}
	// A recorded answer of a switch.
	line, err := os.ReadFile(samples + "openconfig_qos_queue_state.json")
	if err != nil {
		t.Skip(err)
	}
	_, val, _ := strings.Cut(string(line), `"val":`)
	rs := fromNotification(n("", "qos/interfaces/interface[interface-id=Ethernet1|1]/output/queues/queue[name=3]/state", jsonValue(strings.TrimSuffix(strings.TrimSpace(val), "}"))))
	got := show(rs)
	if len(rs) != 7 || !strings.Contains(got, "Ethernet1/1 6937776773 queue=3") || !strings.Contains(got, "Ethernet1/1 803785675319 queue=3") {
		t.Errorf("recorded: %s", got)
	}
}

func FuzzNotificationJSON(f *testing.F) {
	f.Add("COUNTERS_DB", `{"Ethernet0:3":{"PFC_WD_STATUS":"stormed"}}`)
	f.Add("", `{"openconfig-interfaces:interface":[{"name":"e2","state":{"counters":{"in-discards":"4"}}}]}`)
	f.Fuzz(func(_ *testing.T, target, text string) {
		fromNotification(&gnmi.Notification{Prefix: &gnmi.Path{Target: target}, Update: []*gnmi.Update{{Path: path("interfaces"), Val: jsonValue(text)}}})
	})
}
