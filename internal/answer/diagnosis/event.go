package diagnosis

import (
	"net/netip"
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/finding"
)

// Numbers of errors that a log carries: ibv_wc_status of the verbs API, errno
// of Linux, and the vendor syndromes of mlx5 (129: retries exceeded, 136:
// remote access, 81: local protection on scatter to host memory).
const (
	statusLocalLength     = 1
	statusLocalProtection = 4
	statusFlushed         = 5
	statusRemoteInvalid   = 9
	statusRemoteAccess    = 10
	statusRemoteOperation = 11
	statusRetry           = 12
	statusRNR             = 13

	errnoNoMemory    = 12
	errnoNoDevice    = 19
	errnoInvalid     = 22
	errnoNetDown     = 100
	errnoUnreachable = 101
	errnoTimedOut    = 110
	errnoNoRoute     = 113

	none = -1
)

// An event is one failed call, failed completion or asynchronous event. Numbers that the
// source does not give are none.
type event struct {
	subject       fact.Subject
	kind          string // completion, verbs, async_event, socket, cuda
	call          string
	words         string // error text
	device        string
	name          string // asynchronous event
	peer          string
	status, errno int
	vendor        int
	gidIndex      int
	local, remote netip.Addr
	facts         []*fact.Fact
	stated        bool // a person wrote it down
}

// eventsOf gathers the facts of events: those of one subject on one line.
func eventsOf(facts []fact.Fact) []event {
	type place struct {
		source  string
		line    int
		subject fact.Subject
	}
	at := map[place]int{}
	var out []event
	for i := range facts {
		f := &facts[i]
		isWarning := f.Key == "nccl.warning"
		if !isWarning && !strings.HasPrefix(f.Key, "nccl.error.") && !strings.HasPrefix(f.Key, "perftest.error") {
			continue
		}
		p := place{f.Origin.Source, f.Origin.Line, f.Subject}
		n, ok := at[p]
		if !ok {
			n = len(out)
			at[p] = n
			out = append(out, event{subject: f.Subject, status: none, errno: none, vendor: none, gidIndex: none})
		}
		out[n].take(f)
	}
	return slices.DeleteFunc(out, func(e event) bool { return e.kind == "" })
}

func (e *event) take(f *fact.Fact) {
	e.facts = append(e.facts, f)
	v := f.Value.String()
	switch f.Key {
	case "nccl.error.kind":
		e.kind = v
	case "nccl.error.call":
		e.call = v
	case "nccl.error.text":
		e.words = v
	case "nccl.error.device":
		e.device = v
	case "nccl.error.event":
		e.name = strings.ToLower(v)
	case "nccl.error.peer":
		e.peer = v
	case "nccl.error.status", "perftest.error.status":
		e.status = int(whole(f))
	case "nccl.error.errno":
		e.errno = int(whole(f))
	case "nccl.error.vendor", "perftest.error.vendor":
		e.vendor = int(whole(f))
	case "nccl.error.gid_index":
		e.gidIndex = int(whole(f))
	case "nccl.error.local_gid":
		e.local, _ = netip.ParseAddr(v)
	case "nccl.error.remote_gid":
		e.remote, _ = netip.ParseAddr(v)
	case "perftest.error":
		if e.kind = v; v == "connect" {
			e.call = "ibv_modify_qp"
		}
	case "perftest.error.text":
		e.words = v
	}
}

// quote makes an evidence line of the event.
func (e *event) quote() finding.Evidence {
	for _, f := range e.facts {
		if f.Key == "nccl.warning" || f.Key == "perftest.error.text" {
			return quote(f)
		}
	}
	f := e.facts[0]
	words := []string{}
	for _, w := range []string{e.call, e.words, e.name, e.device} {
		if w != "" {
			words = append(words, w)
		}
	}
	ev := seen(f, "%s", strings.Join(words, ": "))
	if e.stated {
		ev = quote(f)
	}
	return ev
}

// noAnswer reports an event that says: nothing came back, or there is no way
// to the peer. It is the message that has the most causes.
func (e *event) noAnswer() bool {
	return e.status == statusRetry || e.modifyQP() && (e.errno == errnoTimedOut || e.errno == errnoUnreachable || e.errno == errnoNoRoute || e.errno == errnoNetDown)
}

// noEntry reports an event that says: the GID or device asked for is not
// there or does not fit.
func (e *event) noEntry() bool {
	return e.modifyQP() && (e.errno == errnoNoDevice || e.errno == errnoInvalid) || strings.Contains(e.call, "query_gid")
}

func (e *event) modifyQP() bool { return strings.Contains(e.call, "modify_qp") }

// noMemory reports that memory could not be pinned or a queue not made.
func (e *event) noMemory() bool {
	return e.errno == errnoNoMemory && (strings.Contains(e.call, "reg_mr") || strings.Contains(e.call, "reg_dmabuf") || strings.Contains(e.call, "create_") || strings.Contains(e.call, "alloc_pd"))
}

// access reports that the card could not reach memory that it was told to use.
func (e *event) access() bool {
	return e.status == statusLocalProtection || e.status == statusRemoteAccess || e.status == statusLocalLength || strings.Contains(e.name, "access violation") || e.status == statusRemoteInvalid || e.status == statusRemoteOperation
}

// portDown reports an asynchronous event of a port.
func (e *event) portDown() bool {
	return e.kind == "async_event" && (strings.Contains(e.name, "port error") || strings.Contains(e.name, "port active") || strings.Contains(e.name, "port_err") || strings.Contains(e.name, "port down"))
}

// any returns the events that a test holds for.
func (x *index) any(test func(*event) bool) []*event {
	var out []*event
	for i := range x.events {
		if test(&x.events[i]) {
			out = append(out, &x.events[i])
		}
	}
	return out
}

// quoteEvents makes evidence of the first few events.
func quoteEvents(events []*event) []finding.Evidence {
	var out []finding.Evidence
	for _, e := range events[:min(len(events), 3)] {
		out = append(out, e.quote())
	}
	return out
}
