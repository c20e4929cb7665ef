package server

import (
	"context"
	"os"
	"sync"
	"time"

	"weir/internal/field/remote"
	"weir/internal/field/switches"
)

// readSwitches fills the store from the switches of the configuration until
// ctx ends. Secrets and keys are read first: what is wrong with them ends the
// start.
func (l *Live) readSwitches(ctx context.Context) error {
	log := l.Log.With("part", "switches")
	var readers []func()
	for i := range l.Config.Switches {
		s := &l.Config.Switches[i]
		claims := &switches.Claims{}
		writer := func(source string) *switches.Writer {
			return switches.NewWriter(l.Store, l.Cluster, s.Name, source, s.Ports, claims)
		}
		if s.GNMI != nil {
			c, err := s.GNMI.options()
			if err != nil {
				return err
			}
			w := writer("gnmi")
			readers = append(readers, func() {
				if err := w.RunGNMI(ctx, c, log); err != nil {
					log.Error("switch cannot be read", "switch", s.Name, "err", err)
				}
			})
		}
		if s.SNMP != nil {
			poll, err := s.SNMP.poll()
			if err != nil {
				return err
			}
			w := writer("snmp")
			readers = append(readers, func() { w.Run(ctx, time.Duration(s.SNMP.Interval), poll, log) })
		}
		if s.SSH != nil {
			c := remote.DefaultSSH(os.Getenv("HOME"), os.Getenv)
			c.Address = func(string) string { return s.SSH.Address }
			if s.SSH.User != "" {
				c.User = s.SSH.User
			}
			if len(s.SSH.Keys) > 0 {
				c.Keys, c.Agent = s.SSH.Keys, ""
			}
			if len(s.SSH.KnownHosts) > 0 {
				c.KnownHosts = s.SSH.KnownHosts
			}
			run, err := remote.NewSSH(c)
			if err != nil {
				return err
			}
			defer run.Close()
			poll, err := switches.SSH(run, s.Name, s.SSH.OS)
			if err != nil {
				return err
			}
			w := writer("ssh")
			readers = append(readers, func() { w.Run(ctx, time.Duration(s.SSH.Interval), poll, log) })
		}
	}
	var wg sync.WaitGroup
	for _, read := range readers {
		wg.Go(read)
	}
	wg.Wait()
	<-ctx.Done()
	return nil
}
