package web

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// maxClients is how many pages may be open at a time.
const maxClients = 200

// A hub hands every frame to all open pages. A page that is slow misses
// frames; it never holds the others up.
type hub struct {
	mu      sync.Mutex
	newest  []byte
	clients map[chan []byte]bool
}

func (h *hub) send(frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest = frame
	for c := range h.clients {
		select {
		case <-c: // the frame that it has not taken yet
		default:
		}
		c <- frame
	}
}

func (h *hub) last() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.newest
}

func (h *hub) join() (chan []byte, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) >= maxClients {
		return nil, false
	}
	if h.clients == nil {
		h.clients = map[chan []byte]bool{}
	}
	c := make(chan []byte, 1)
	if h.newest != nil {
		c <- h.newest
	}
	h.clients[c] = true
	return c, true
}

func (h *hub) leave(c chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
}

// serveLive sends a frame a second as server-sent events, until the client is
// gone.
func (s *Server) serveLive(w http.ResponseWriter, r *http.Request) {
	frames, ok := s.hub.join()
	if !ok {
		fail(w, http.StatusServiceUnavailable, errors.New("too many pages are open"))
		return
	}
	defer s.hub.leave(frames)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies that would collect frames
	out := http.NewResponseController(w)
	const patience = 10 * time.Second // with a client that takes nothing
	send := func(parts ...[]byte) error {
		out.SetWriteDeadline(time.Now().Add(patience))
		for _, p := range parts {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	if send([]byte("retry: 1000\n\n")) != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case f := <-frames:
			if send([]byte("event: frame\ndata: "), f, []byte("\n\n")) != nil {
				return
			}
		}
	}
}
