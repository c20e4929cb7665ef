package switches

import (
	"sync"
	"time"

	"weir/internal/telemetry"
)

// Claims let several sources read one switch: each metric comes from one of
// them, the best that says it, so that nothing is counted twice. It is shared
// by the switch's writers.
type Claims struct {
	mu    sync.Mutex
	owner map[telemetry.MetricID]claim
}

type claim struct {
	rank int
	at   time.Time
}

// ranks of the sources: a stream is fresher than a poll, and a poll than text.
var ranks = map[string]int{"gnmi": 0, "snmp": 1, "ssh": 2}

// claimFor is how long a metric stays with a source that is silent.
const claimFor = 5 * time.Minute

// take reports whether a source may write a metric now.
func (c *Claims) take(m telemetry.MetricID, source string, at time.Time) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == nil {
		c.owner = map[telemetry.MetricID]claim{}
	}
	rank := ranks[source]
	if o, ok := c.owner[m]; ok && o.rank < rank && at.Sub(o.at) < claimFor {
		return false
	}
	c.owner[m] = claim{rank, at}
	return true
}
