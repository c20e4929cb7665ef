package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/internal/twin"
	"weir/internal/twin/fabric"
	"weir/internal/twin/sim"
	"weir/internal/wire/tap"
	"weir/roce"
	"weir/units"
)

// captureStart is the time of simulated time 0 in captures: 2000-01-01, so
// that the same run gives the same bytes.
const captureStart = 946_684_800 * 1_000_000_000

// A portCapture writes the frames that pass one cable.
type portCapture struct {
	cluster *cluster.Cluster
	name    string
	file    *os.File
	buf     *bufio.Writer
	out     *tap.Writer
	paths   map[pathKey]*tap.Path
	err     error

	// Each size of a collective has a simulator of its own, whose clock and
	// queue pairs begin anew: their frames follow those of the last one, and
	// their queue pairs get other numbers.
	part        uint32
	begun, last units.Time
}

// pathKey is one direction of a connection, in one class.
type pathKey struct {
	fields fabric.Fields
	prio   uint8
}

// startCapture opens the file of --pcap and hooks the tap into the run; nil
// without the flag.
func (f *simulateFlags) startCapture(c *cluster.Cluster, o *twin.Options) (*portCapture, error) {
	if f.pcap == "" {
		return nil, nil
	}
	if c.Transport != cluster.RoCEv2 {
		return nil, refused(fmt.Errorf("--pcap with transport %s: it writes RoCEv2 packets", c.Transport))
	}
	name, place, given := cutPlace(f.pcap)
	if !given {
		place = firstNIC(c)
	}
	port, err := tappedPort(c, place)
	if err != nil {
		return nil, refused(fmt.Errorf("--pcap %s: %w", f.pcap, err))
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".weir-*")
	if err != nil {
		return nil, failed(err)
	}
	p := &portCapture{cluster: c, name: name, file: file, buf: bufio.NewWriterSize(file, 1<<20), paths: map[pathKey]*tap.Path{}}
	if p.out, err = tap.NewWriter(p.buf, tap.Options{Start: captureStart}); err != nil {
		return nil, errors.Join(failed(err), p.close(false))
	}
	o.Prepare = func(s *sim.Sim) error {
		p.part++
		p.begun = p.last
		clear(p.paths)
		s.Tap(port, p.frame)
		if peer := c.Ports[port].Peer; peer != cluster.PortID(cluster.None) {
			s.Tap(peer, p.frame)
		}
		return nil
	}
	return p, nil
}

// cutPlace splits FILE:PLACE at the last colon.
func cutPlace(text string) (name, place string, given bool) {
	if i := strings.LastIndexByte(text, ':'); i > 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// firstNIC is the first NIC of the first job.
func firstNIC(c *cluster.Cluster) string {
	ref := cluster.NICRef{}
	if len(c.Jobs) > 0 {
		switch job := &c.Jobs[0]; {
		case len(job.Hosts) > 0:
			ref.Host = job.Hosts[0]
		case len(job.Flows) > 0:
			ref = job.Flows[0].Src
		}
	}
	return twin.NICName(c, ref)
}

func tappedPort(c *cluster.Cluster, text string) (cluster.PortID, error) {
	place, err := c.Place(text)
	if err != nil {
		return 0, err
	}
	switch place.Kind {
	case cluster.PortPlace:
		return place.Port, nil
	case cluster.NICPlace:
		return c.Hosts[place.NIC.Host].NICs[place.NIC.NIC].Ports[0], nil
	}
	return 0, errors.New("a place that is no NIC or port: host-7/nic-3 or leaf-2/port-5")
}

// frame writes one frame. The first error is kept for the end.
func (p *portCapture) frame(f *sim.Frame) {
	if p.err != nil {
		return
	}
	at := p.begun + f.At
	p.last = at
	switch f.Kind {
	case sim.PauseFrame:
		pfc := roce.PFC{Enable: 1 << f.Prio}
		pfc.Quanta[f.Prio] = f.Quanta
		p.err = p.out.PFC(at, p.mac(f.Port), pfc)
	case sim.CNPFrame:
		p.err = p.out.CNP(at, p.path(f))
	default:
		p.err = p.out.Packet(at, p.path(f), &tap.Packet{Packet: f.Packet, Message: f.Message, Marked: f.Marked})
	}
}

func (p *portCapture) mac(id cluster.PortID) roce.MAC {
	port := &p.cluster.Ports[id]
	return tap.MAC(uint32(port.Node), port.Index)
}

// path returns the addresses of a frame's connection. MAC addresses are those
// of the cable's two ends, as routers would set them.
func (p *portCapture) path(f *sim.Frame) *tap.Path {
	key := pathKey{f.Fields, f.Prio}
	if path, ok := p.paths[key]; ok {
		return path
	}
	path := &tap.Path{
		SrcMAC: p.mac(f.Port), DstMAC: p.mac(p.cluster.Ports[f.Port].Peer),
		Src: ipv4GID(f.Fields.SrcIP), Dst: ipv4GID(f.Fields.DstIP),
		DestQP: roce.QPN(f.Fields.DstQP+p.part<<18) & roce.QPNMask, SrcPort: f.Fields.SrcPort, Priority: f.Prio,
	}
	class := p.class(f)
	path.TrafficClass = class.DSCP << 2
	if f.Kind == sim.DataFrame {
		path.TrafficClass |= uint8(roce.ECT0)
	}
	p.paths[key] = path
	return path
}

func (p *portCapture) class(f *sim.Frame) qos.Class {
	q := &p.cluster.QoS
	if f.Kind == sim.CNPFrame {
		return *q.CNP()
	}
	for _, c := range q.Classes {
		if c.Priority == f.Prio {
			return c
		}
	}
	return *q.RoCE()
}

func ipv4GID(ip uint32) roce.GID {
	return roce.GIDFromIPv4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)})
}

// close ends the file and gives it its name, or takes it away.
func (p *portCapture) close(keep bool) error {
	err := errors.Join(p.err, p.buf.Flush(), p.file.Chmod(0o644), p.file.Close())
	if err != nil || !keep {
		return errors.Join(err, os.Remove(p.file.Name()))
	}
	return os.Rename(p.file.Name(), p.name)
}
