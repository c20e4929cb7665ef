package perf

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The control connection carries one JSON object a line. The client says hello
// with its spec and queue pairs; the server answers with its own; each says
// ready; the client says done; the server answers with what it spent.

// DefaultPort is the TCP port of the control connection: perftest's.
const DefaultPort = 18515

const protocolVersion = 1

type message struct {
	Weir   int        `json:"weir_perf,omitempty"` // in the first message of each side: protocolVersion
	Error  string     `json:"error,omitempty"`
	Spec   *Spec      `json:"spec,omitempty"`
	Addr   string     `json:"address,omitempty"` // of the device
	QPs    []remoteQP `json:"qps,omitempty"`
	MTU    int        `json:"mtu_bytes,omitempty"`
	Buffer int        `json:"receive_buffer_bytes,omitempty"`
	Token  string     `json:"token,omitempty"` // of TCP data connections
	Ready  bool       `json:"ready,omitempty"`
	Done   bool       `json:"done,omitempty"`
	Cost   *Cost      `json:"cost,omitempty"`
	Result *Result    `json:"result,omitempty"` // of the server's direction
}

// maxLine bounds a line: 256 queue pairs take about 30 KB.
const maxLine = 1 << 16

// talk is one end of a control connection.
type talk struct {
	conn net.Conn
	r    *bufio.Reader
}

func newTalk(c net.Conn) *talk { return &talk{conn: c, r: bufio.NewReaderSize(c, maxLine)} }

func (t *talk) send(m *message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = t.conn.Write(append(b, '\n'))
	return err
}

// receive reads the next message, within the time.
func (t *talk) receive(within time.Duration) (*message, error) {
	if err := t.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	defer t.conn.SetReadDeadline(time.Time{})
	line, err := t.r.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("a line of more than %d bytes", maxLine)
		} else if errors.Is(err, io.EOF) {
			err = errors.New("the other side closed the connection")
		}
		return nil, err
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("not a message of weir perf: %w", err)
	}
	if m.Error != "" {
		return nil, fmt.Errorf("the other side says: %s", m.Error)
	}
	return &m, nil
}

// patience is how long a side waits for the next step of the handshake.
const patience = 30 * time.Second
