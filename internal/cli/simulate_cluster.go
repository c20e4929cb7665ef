package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"weir/internal/answer/expect"
	"weir/internal/answer/verdict"
	"weir/internal/cluster"
	"weir/internal/report"
	"weir/internal/twin"
	"weir/internal/twin/fabric"
	"weir/internal/twin/fault"
	"weir/internal/twin/plan"
	"weir/internal/twin/sim"
)

// hostFS opens files by the names that users give: absolute, or relative to
// the working directory.
type hostFS struct{}

func (hostFS) Open(name string) (fs.File, error) { return os.Open(name) }

// loadCluster reads a cluster file with the values that flags change.
func loadCluster(name string, set []cluster.Override) (*cluster.File, error) {
	c, err := cluster.ReadWith(hostFS{}, name, set)
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe):
		return nil, inputError(name, err)
	case err != nil:
		return nil, refused(err)
	}
	return c, readWorkloads(c, name)
}

func simulateCluster(ctx context.Context, s *Streams, f *simulateFlags, name string) (*report.Simulation, error) {
	set, err := f.overrides()
	if err != nil {
		return nil, err
	}
	file, err := loadCluster(name, set)
	if err != nil {
		return nil, err
	}
	c, err := f.withFaults(file.Cluster)
	if err != nil {
		return nil, err
	}
	if len(c.Jobs) == 0 {
		return nil, refused(fmt.Errorf("%s: no job to run: give the file a job, or --collective", name))
	}
	if err := simulated(c, name); err != nil {
		return nil, err
	}
	if f.algorithm != "" && !hasCollective(c) && !hasTraining(c) {
		return nil, refused(errors.New("--algorithm has no effect on flows"))
	}
	if err := f.needsTraining(c); err != nil {
		return nil, err
	}
	if twin.Fidelity(f.fidelity) == twin.Flows {
		if err := twin.NeedsPackets(c); err != nil {
			return nil, refused(fmt.Errorf("%s: --fidelity flow: %w", name, err))
		}
	}
	if reduces, err := twin.Reduces(c); err != nil {
		return nil, refused(fmt.Errorf("%s: %w", name, err))
	} else if reduces && (f.record != "" || f.pcap != "") {
		return nil, refused(fmt.Errorf("%s: in_network_reduction is a closed form: there are no packets for --record and --pcap", name))
	}
	routes, err := runnable(fault.Physical(c))
	if err != nil {
		return nil, refused(fmt.Errorf("%s: %w", name, err))
	}
	bar := newProgress(s)
	o := twin.Options{Fidelity: twin.Fidelity(f.fidelity), Check: f.check, Workers: f.workers, Now: s.Now, Configure: func(cfg *sim.Config) { cfg.Fabric = routes }, Progress: func(p twin.Progress) { bar.update(p.Progress, p.Share) }}
	rec, err := f.startRecord(c, name, &o)
	if err != nil {
		return nil, err
	}
	pcap, err := f.startCapture(c, &o)
	if err != nil {
		return nil, err
	}
	r, err := twin.Run(ctx, c, o)
	bar.done()
	if err == nil && rec != nil {
		err = rec.close()
	}
	if pcap != nil {
		err = errors.Join(err, pcap.close(err == nil))
	}
	if err != nil {
		return nil, asRefusal(err)
	}
	out := &report.Simulation{Cluster: c.Name, Seed: c.Seed, Summary: describe(c), Result: r}
	return out, addVerdict(out, c, r)
}

// simulated refuses what the file may say and the simulator does not do: a
// result that silently leaves something out would be wrong.
func simulated(c *cluster.Cluster, name string) error {
	for i := range c.Faults {
		if err := fault.Check(c, &c.Faults[i]); err != nil {
			return refused(fmt.Errorf("%s: %w", name, err))
		}
	}
	return nil
}

func hasCollective(c *cluster.Cluster) bool {
	return slices.ContainsFunc(c.Jobs, func(j cluster.Job) bool { return j.Kind == cluster.CollectiveJob })
}

func hasTraining(c *cluster.Cluster) bool {
	return slices.ContainsFunc(c.Jobs, func(j cluster.Job) bool { return j.Kind == cluster.TrainingJob })
}

// runnable says what of the jobs does not fit the cluster, before anything is
// simulated: an algorithm that the job cannot use, or NICs without a path. It
// returns the routes.
func runnable(c *cluster.Cluster) (*fabric.Fabric, error) {
	routes, err := fabric.New(c)
	if err != nil {
		return nil, err
	}
	return routes, fits(c, routes)
}

func fits(c *cluster.Cluster, routes *fabric.Fabric) error {
	if err := twin.CheckDomains(c); err != nil {
		return err
	}
	for i := range c.Jobs {
		job := &c.Jobs[i]
		if job.Kind == cluster.FlowJob {
			for _, f := range job.Flows {
				if err := routes.Reachable(nicPort(c, f.Src), nicPort(c, f.Dst)); err != nil {
					return fmt.Errorf("job %s: %w", job.Name, err)
				}
			}
			continue
		}
		if job.Kind == cluster.TrainingJob {
			if err := trainable(c, routes); err != nil {
				return err
			}
			continue
		}
		p, err := plan.New(c, job)
		if err != nil {
			return err
		}
		for _, size := range p.Sizes() {
			if _, err := p.Choose(size); err != nil {
				return err
			}
		}
	}
	return nil
}

// trainable is fits for a training job: its communication must fit.
func trainable(c *cluster.Cluster, routes *fabric.Fabric) error {
	parts, err := twin.StepClusters(c)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := fits(part, routes); err != nil {
			return err
		}
	}
	return nil
}

func nicPort(c *cluster.Cluster, r cluster.NICRef) cluster.PortID {
	return c.Hosts[r.Host].NICs[r.NIC].Ports[0]
}

// overrides are the values of --set and of the flags that are short for them.
func (f *simulateFlags) overrides() ([]cluster.Override, error) {
	set, err := cluster.Sets(f.set)
	if err != nil {
		return nil, refused(err)
	}
	add := func(flag, path, value string) {
		if value != "" {
			set = append(set, cluster.Override{Path: path, Value: value, Flag: "--" + flag + " " + value})
		}
	}
	add("collective", "job.collective", f.collective)
	add("begin", "job.begin", f.begin)
	add("end", "job.end", f.end)
	add("factor", "job.factor", f.factor)
	add("algorithm", "nccl.algorithm", f.algorithm)
	add("transport", "transport", f.transport)
	if f.seed != 0 {
		add("seed", "seed", fmt.Sprint(f.seed))
	}
	return set, nil
}

// addVerdict fills in the rows' rates and expectations and the verdict.
func addVerdict(sim *report.Simulation, c *cluster.Cluster, r *twin.Result) error {
	if len(r.Steps) > 0 || hasTraining(c) {
		sim.Verdict = report.Verdict(verdict.Steps(c, r))
		return nil
	}
	if !hasCollective(c) {
		sim.Verdict = report.Verdict(verdict.Flows(c, r))
		return nil
	}
	plans := map[string]*plan.Plan{}
	expected := make([]expect.Collective, len(r.Collectives))
	for i := range r.Collectives {
		row := &r.Collectives[i]
		p, err := planOf(c, row.Job, plans)
		if err != nil {
			return failed(err)
		}
		if expected[i], err = expect.Of(p, row.Bytes); err != nil {
			return failed(err)
		}
		sim.Rows = append(sim.Rows, report.Row{
			Collective: *row, AlgBW: verdict.AlgBW(row), BusBW: verdict.BusBW(row),
			IdealBusBW: expected[i].IdealBusBW, ExpectedBusBW: expected[i].BusBW,
		})
	}
	sim.Verdict = report.Verdict(verdict.Collectives(c, r, expected))
	return nil
}

func planOf(c *cluster.Cluster, name string, plans map[string]*plan.Plan) (*plan.Plan, error) {
	if p, ok := plans[name]; ok {
		return p, nil
	}
	for i := range c.Jobs {
		if c.Jobs[i].Name == name {
			p, err := plan.New(c, &c.Jobs[i])
			plans[name] = p
			return p, err
		}
	}
	return nil, fmt.Errorf("no job %s", name)
}

// describe says in one line what is simulated.
func describe(c *cluster.Cluster) string {
	gpus, nics, switches := 0, 0, 0
	for i := range c.Hosts {
		gpus += c.Hosts[i].GPUs
		nics += len(c.Hosts[i].NICs)
	}
	for i := range c.Nodes {
		if c.Nodes[i].Kind == cluster.SwitchNode {
			switches++
		}
	}
	rates := map[string]bool{}
	var rate []string
	for i := range c.Hosts {
		for j := range c.Hosts[i].NICs {
			if r := c.Ports[c.Hosts[i].NICs[j].Ports[0]].Rate.String(); !rates[r] {
				rates[r] = true
				rate = append(rate, r)
			}
		}
	}
	return fmt.Sprintf("%d hosts, %d GPUs, %d NICs of %s, %d switches (%s), %s, routing %s, seed %d",
		len(c.Hosts), gpus, nics, strings.Join(rate, " and "), switches, c.Topology, c.Transport, c.Routing.Mode, c.Seed)
}
