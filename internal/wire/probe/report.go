package probe

import (
	"time"

	"weir/internal/finding"
)

// State is what probing found of a path as a whole.
type State string

// The states of a path.
const (
	Open     State = "open"
	Forward  State = "blocked towards the host"      // probes do not arrive
	Backward State = "blocked on the way back"       // probes arrive, answers do not
	Nobody   State = "no responder"                  // the host says that nobody listens
	Hardware State = "an RDMA card takes the port"   // a socket at the far end hears nothing
	Unknown  State = "silent, and nothing tells why" // not the same as filtered
)

// Report is what probing one host found.
type Report struct {
	Schema string `json:"schema"` // "weir.probe/1"
	Host   string `json:"host"`
	Addr   string `json:"address"`
	Local  string `json:"local_address"`
	State  State  `json:"state"`
	// Control is why the responder could not be asked; empty: it could.
	Control string `json:"control_error,omitempty"`

	Sent     int `json:"sent"`
	Arrived  int `json:"arrived"` // as the responder says; -1: not known
	Answered int `json:"answered"`

	RTT       *RTT       `json:"rtt,omitempty"`
	Ports     []PortLoss `json:"ports"`
	Reordered int        `json:"reordered"` // answers that overtook another one of their source port

	SentClass    uint8         `json:"sent_traffic_class"`
	Classes      []ClassChange `json:"traffic_classes"`
	SeenAddr     string        `json:"seen_address,omitempty"` // of this host, at the far end
	PortsChanged int           `json:"ports_rewritten"`

	LocalMTU  int `json:"local_interface_mtu"`
	RemoteMTU int `json:"remote_interface_mtu"` // 0: not known
	// PathMTU is the largest RoCE path MTU whose packets pass, in bytes, by
	// direction; 0: none.
	PathMTUTo   int `json:"path_mtu_to_bytes"`
	PathMTUFrom int `json:"path_mtu_from_bytes"`

	// Paths is the number of distinct ways that the routers' answers show, 0 if
	// no router answered; Hops are the routers by distance.
	Paths int        `json:"paths"`
	Hops  [][]string `json:"hops,omitempty"`

	Devices  []string          `json:"remote_rdma_devices,omitempty"`
	Findings []finding.Finding `json:"findings"`

	refused, banned bool
}

// RTT are round-trip times without the responder's own time, in microseconds.
type RTT struct {
	Min    float64 `json:"min_us"`
	Median float64 `json:"median_us"`
	P90    float64 `json:"p90_us"`
	P99    float64 `json:"p99_us"`
	Max    float64 `json:"max_us"`
}

// PortLoss is what became of the probes of one UDP source port.
type PortLoss struct {
	Port     uint16 `json:"port"`
	Sent     int    `json:"sent"`
	Arrived  int    `json:"arrived"` // -1: not known
	Answered int    `json:"answered"`
}

// ClassChange is a traffic class as sent and as it arrived at the far end, and
// as its answer arrived here.
type ClassChange struct {
	Sent uint8 `json:"sent"`
	To   uint8 `json:"arrived"`
	From uint8 `json:"answer_arrived"`
}

func micro(d time.Duration) float64 { return float64(d) / 1e3 }
