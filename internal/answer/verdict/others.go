package verdict

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin"
	"weir/units"
)

// ByOthers is LimitedBy where other jobs of the cluster take what is missing.
const ByOthers = "other jobs"

// others is what other jobs took from one collective while it ran.
type others struct {
	Jobs  int // that were under way at the time
	Share float64
	Where string // NIC of the judged job of which they took Share of its line rate, the most; empty: they use none of its NICs
}

// left is what they leave of the judged job's expectation.
func (o *others) left() float64 { return 1 - min(o.Share, 0.99) }

// text says what they took.
func (o *others) text() string {
	if o.Where == "" {
		return fmt.Sprintf("%d other jobs ran meanwhile; they share links between switches with it, but none of its NICs", o.Jobs)
	}
	return fmt.Sprintf("other jobs take %.0f %% of the line rate of %s meanwhile", 100*o.Share, o.Where)
}

// span is a time in which something was under way.
type span struct{ from, to units.Time }

// overlap returns the share of s that lies in t.
func (s span) overlap(t span) float64 {
	if s.to <= s.from {
		return 0
	}
	return max(0, float64(min(s.to, t.to)-max(s.from, t.from))) / float64(s.to-s.from)
}

// jobOf returns the job of a name; nil: none.
func jobOf(c *cluster.Cluster, name string) *cluster.Job {
	for i := range c.Jobs {
		if c.Jobs[i].Name == name {
			return &c.Jobs[i]
		}
	}
	return nil
}

// spanOf returns when a row of a collective ran: the sizes of a job follow one
// another, each for its iterations.
func spanOf(c *cluster.Cluster, r *twin.Result, row int) span {
	name := r.Collectives[row].Job
	job := jobOf(c, name)
	if job == nil {
		return span{}
	}
	at := job.Start
	for i := range row + 1 {
		k := &r.Collectives[i]
		if k.Job != name {
			continue
		}
		took := k.Time * units.Time(max(job.Iterations, 1))
		if i == row {
			return span{at, at + took}
		}
		at += took
	}
	return span{}
}

// othersOf adds up what the flows and collectives of other jobs sent and
// received at the NICs of a row's job while it ran. Of a collective, each NIC
// of a host carries the bus bandwidth over the NICs of the host.
func othersOf(c *cluster.Cluster, r *twin.Result, row int) others {
	var o others
	if len(c.Jobs) < 2 {
		return o
	}
	own := jobOf(c, r.Collectives[row].Job)
	if own == nil {
		return o
	}
	during := spanOf(c, r, row)
	mine := map[string]units.BitRate{}
	for _, h := range own.Hosts {
		for n := range c.Hosts[h].NICs {
			var rate units.BitRate
			for _, id := range c.Hosts[h].NICs[n].Ports {
				if p := &c.Ports[id]; uint32(p.Link) != cluster.None {
					rate += p.Rate
				}
			}
			mine[twin.NICName(c, cluster.NICRef{Host: h, NIC: int32(n)})] = rate
		}
	}
	type way struct {
		nic  string
		send bool
	}
	bytes := map[way]float64{}
	jobs := map[string]bool{}
	next := 0
	for i := range c.Jobs {
		job := &c.Jobs[i]
		if job.Kind != cluster.FlowJob {
			continue
		}
		for range job.Flows {
			if next >= len(r.Flows) {
				break
			}
			f := &r.Flows[next]
			next++
			flow := span{f.Start, f.Start + f.FCT}
			if f.FCT <= 0 { // unfinished: under way until the end
				flow.to = r.Simulated
			}
			in := flow.overlap(during)
			if in <= 0 {
				continue
			}
			jobs[job.Name] = true
			bytes[way{f.Src, true}] += in * float64(f.Bytes)
			bytes[way{f.Dst, false}] += in * float64(f.Bytes)
		}
	}
	for i := range r.Collectives {
		k := &r.Collectives[i]
		job := jobOf(c, k.Job)
		if job == nil || job == own || k.Time <= 0 {
			continue
		}
		when := spanOf(c, r, i)
		in := when.overlap(during)
		if in <= 0 {
			continue
		}
		jobs[k.Job] = true
		if len(job.Hosts) < 2 {
			continue
		}
		for _, h := range job.Hosts {
			nics := len(c.Hosts[h].NICs)
			each := in * BusBW(k) * 1e9 * (when.to - when.from).Seconds() / float64(max(nics, 1))
			for n := range nics {
				name := twin.NICName(c, cluster.NICRef{Host: h, NIC: int32(n)})
				bytes[way{name, true}] += each
				bytes[way{name, false}] += each
			}
		}
	}
	o.Jobs = len(jobs)
	for w, sum := range bytes {
		can := float64(mine[w.nic].BytesIn(during.to - during.from))
		if can <= 0 {
			continue
		}
		if share := min(1, sum/can); share > o.Share || share == o.Share && w.nic < o.Where {
			o.Share, o.Where = share, w.nic
		}
	}
	return o
}
