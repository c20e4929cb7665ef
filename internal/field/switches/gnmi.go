package switches

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// GNMIConfig says how to subscribe to a switch.
type GNMIConfig struct {
	Address            string      // host:port
	Model              string      // "openconfig" (default) or "sonic"
	TLS                *tls.Config // nil: plain text
	Username, Password string      // sent with each call, if given
	Interval           time.Duration
}

// Bounds of a subscription.
const (
	maxMessage = 16 << 20
	flushEvery = 200 * time.Millisecond
	maxPending = 100_000 // readings between two flushes
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// subscriptions are the paths of a model.
func subscriptions(model string) (target string, paths []*gnmi.Path, err error) {
	path := func(elems ...*gnmi.PathElem) *gnmi.Path { return &gnmi.Path{Elem: elems} }
	e := func(name string, keys ...string) *gnmi.PathElem {
		p := &gnmi.PathElem{Name: name}
		for _, k := range keys {
			p.Key = map[string]string{k: "*"}
		}
		return p
	}
	switch model {
	case "", "openconfig":
		return "", []*gnmi.Path{
			path(e("interfaces"), e("interface", "name"), e("state")),
			path(e("interfaces"), e("interface", "name"), e("ethernet"), e("state"), e("counters")),
			path(e("qos"), e("interfaces"), e("interface", "interface-id"), e("output"), e("queues"), e("queue", "name"), e("state")),
		}, nil
	case "sonic":
		return "COUNTERS_DB", []*gnmi.Path{
			path(e("COUNTERS"), e("Ethernet*")),
			path(e("COUNTERS"), e("Ethernet*"), e("Queues")),
			path(e("COUNTERS"), e("Ethernet*"), e("PriorityGroups")),
			path(e("COUNTERS"), e("Ethernet*"), e("Pfcwd")),
		}, nil
	}
	return "", nil, fmt.Errorf("gNMI model %.40q: openconfig or sonic", model)
}

// RunGNMI subscribes to a switch until ctx ends, again after failures, and
// stores what it sends.
func (w *Writer) RunGNMI(ctx context.Context, c GNMIConfig, log *slog.Logger) error {
	target, paths, err := subscriptions(c.Model)
	if err != nil {
		return err
	}
	list := &gnmi.SubscriptionList{Mode: gnmi.SubscriptionList_STREAM, Encoding: gnmi.Encoding_JSON_IETF, Prefix: &gnmi.Path{Target: target}}
	for _, p := range paths {
		list.Subscription = append(list.Subscription, &gnmi.Subscription{Path: p, Mode: gnmi.SubscriptionMode_SAMPLE, SampleInterval: uint64(c.Interval)})
	}
	creds := insecure.NewCredentials()
	if c.TLS != nil {
		creds = credentials.NewTLS(c.TLS)
	}
	conn, err := grpc.NewClient(c.Address, grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer conn.Close()
	w.interval = c.Interval
	retry, failing := firstRetry, false
	for {
		begin := time.Now()
		err := w.stream(ctx, gnmi.NewGNMIClient(conn), list, c)
		if ctx.Err() != nil {
			return nil
		}
		w.cost.failures++
		if !failing {
			log.Warn("switch is not read", "switch", w.name, "source", w.source, "err", err)
		}
		failing = true
		if time.Since(begin) > lastRetry {
			retry, failing = firstRetry, false // it had been up
		}
		now := time.Now()
		w.Begin()
		if err := errors.Join(w.End(ctx, now, true), w.report(ctx, now, false)); err != nil {
			log.Error("store", "switch", w.name, "err", err)
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			return nil
		}
		retry = min(2*retry, lastRetry)
	}
}

// errQuiet ends a subscription that sends nothing any more.
var errQuiet = errors.New("the subscription is silent")

// stream subscribes once and stores updates in batches until it breaks.
func (w *Writer) stream(ctx context.Context, client gnmi.GNMIClient, list *gnmi.SubscriptionList, c GNMIConfig) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.Username != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "username", c.Username, "password", c.Password)
	}
	sub, err := client.Subscribe(ctx)
	if err != nil {
		return err
	}
	if err := sub.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
		return err
	}
	incoming := make(chan []Reading, 16)
	ended := make(chan error, 1)
	go func() {
		for {
			m, err := sub.Recv()
			if err != nil {
				ended <- err
				return
			}
			if n := m.GetUpdate(); n != nil {
				select {
				case incoming <- fromNotification(n):
				case <-ctx.Done():
					ended <- ctx.Err()
					return
				}
			}
		}
	}()
	silence := 3*c.Interval + 10*time.Second
	heard := time.Now()
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	var pending []Reading
	reported := time.Time{}
	for {
		select {
		case err := <-ended:
			return err
		case rs := <-incoming:
			heard = time.Now()
			if len(pending) < maxPending {
				pending = append(pending, rs...)
			}
		case now := <-flush.C:
			if now.Sub(heard) > silence {
				return errQuiet
			}
			if err := w.flush(ctx, now, pending); err != nil {
				return err
			}
			w.cost.spent += time.Since(now)
			pending = pending[:0]
			if now.Sub(reported) >= c.Interval && heard.After(reported) {
				reported = now
				w.cost.reads++
				if err := w.report(ctx, now, true); err != nil {
					return err
				}
			}
		}
	}
}

// flush stores what came since the last flush: of several values of one
// series the last.
func (w *Writer) flush(ctx context.Context, now time.Time, pending []Reading) error {
	if len(pending) == 0 {
		return nil
	}
	w.Begin()
	for i := len(pending) - 1; i >= 0; i-- {
		w.Add(now, pending[i])
	}
	return w.End(ctx, now, false)
}
