package fault

import (
	"slices"

	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

func formOf(on, link bool) sim.PauseForm {
	switch {
	case !on:
		return sim.PausePriority
	case link:
		return sim.PauseLink
	}
	return sim.PauseAllPriorities
}

func loss(s *site) (func(), error) { return s.each(s.sim.SetLoss) }

func noise(s *site) (func(), error) { return s.each(s.sim.SetNoise) }

func (s *site) each(set func(cluster.PortID, float64) error) (func(), error) {
	for _, p := range s.ends() {
		if err := set(p, s.severity); err != nil {
			return nil, err
		}
	}
	return func() {
		for _, p := range s.ends() {
			_ = set(p, 0) // 0 is in range
		}
	}, nil
}

// slower is a rate of which a share is missing.
func slower(r units.BitRate, missing float64) units.BitRate {
	return max(units.BitRate(float64(r)*(1-missing)), 100*units.Mbps)
}

func speed(s *site) (func(), error) {
	set := func(missing float64) {
		for _, p := range s.ends() {
			s.sim.SetRate(p, slower(s.c.Links[s.c.Ports[p].Link].Rate, missing))
		}
	}
	set(s.severity)
	return func() { set(0) }, nil
}

const (
	flapPeriod = 4 * units.Millisecond
	// detection is from the loss of light to routes without the link, and from
	// its return to routes with it: an assumption, for a switch that reacts to
	// the port's state itself.
	detection = 500 * units.Microsecond
)

func down(s *site) (func(), error) {
	links := s.links()
	set := func(on bool) {
		for _, l := range links {
			s.sim.SetLinkDown(l, on)
		}
		s.sim.At(s.sim.Now()+detection, func() { s.faults.know(s.sim, links, on) })
	}
	var ended bool
	var flap func()
	flap = func() {
		if ended {
			return
		}
		set(true)
		if s.severity >= 1 {
			return
		}
		s.sim.At(s.sim.Now()+max(1, units.Time(s.severity*float64(flapPeriod))), func() {
			if !ended {
				set(false)
			}
		})
		s.sim.At(s.sim.Now()+flapPeriod, flap)
	}
	flap()
	return func() {
		ended = true
		set(false)
	}, nil
}

// know gives the switches the routes for links that have gone or come back.
func (f *faults) know(s *sim.Sim, links []cluster.LinkID, dead bool) {
	for _, l := range links {
		if dead {
			f.down[l] = 1
		} else {
			delete(f.down, l)
		}
	}
	var all []cluster.LinkID
	for l := range f.down {
		all = append(all, l)
	}
	slices.Sort(all)
	s.Reroute(all...)
}

// narrowFrame is the longest frame of a port with the usual MTU of 1500 bytes.
const narrowFrame = 1518

func mtu(s *site) (func(), error) {
	return all(s.ends(), func(p cluster.PortID, on bool) {
		limit := uint32(0)
		if on {
			limit = narrowFrame
		}
		s.sim.SetFrameLimit(p, limit)
	}), nil
}

func blocked(s *site) (func(), error) { return all(s.ends(), s.sim.SetFiltered), nil }
