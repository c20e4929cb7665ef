package cli

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"weir/internal/twin/sim"
)

// progress draws how far a simulation is, on a terminal only.
type progress struct {
	all     *mpb.Progress
	bar     *mpb.Bar
	text    string
	started time.Time
	now     func() time.Time
}

// newProgress returns a progress that draws nothing unless s is a terminal.
func newProgress(s *Streams) *progress {
	p := &progress{now: s.Now, started: s.Now()}
	if s.Terminal {
		p.all = mpb.New(mpb.WithOutput(s.Err), mpb.WithWidth(40), mpb.WithRefreshRate(200*time.Millisecond))
	}
	return p
}

// fullBar is the bar's end: thousandths.
const fullBar = 1000

// update is called by the simulator every so often. share is an estimate of
// what is done, from 0 to 1.
func (p *progress) update(u sim.Progress, share float64) {
	if p.all == nil {
		return
	}
	rate := float64(u.PacketHops) / max(0.001, p.now().Sub(p.started).Seconds()) / 1e6
	p.text = fmt.Sprintf(" %v simulated, %.1f M hops, %.1f M/s", u.Now, float64(u.PacketHops)/1e6, rate)
	if p.bar == nil {
		p.bar = p.all.New(fullBar, mpb.BarStyle().Rbound("|"), mpb.PrependDecorators(decor.Name("simulating ")),
			mpb.AppendDecorators(decor.Percentage(), decor.Any(func(decor.Statistics) string { return p.text })),
			mpb.BarRemoveOnComplete())
	}
	p.bar.SetCurrent(int64(min(share, 0.999) * fullBar))
}

// done takes the bar away.
func (p *progress) done() {
	if p.all == nil {
		return
	}
	if p.bar != nil {
		p.bar.Abort(true)
	}
	p.all.Wait()
}
