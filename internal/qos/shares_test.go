package qos

import "testing"

func TestPercents(t *testing.T) {
	for _, c := range []struct {
		shares [3]float64
		least  int
		want   [3]int
	}{
		{[3]float64{0.5, 0.5}, 0, [3]int{50, 50}},
		{[3]float64{1. / 3, 1. / 3, 1. / 3}, 0, [3]int{34, 33, 33}},
		{[3]float64{2, 2}, 0, [3]int{50, 50}},         // more than all
		{[3]float64{0.5, 0.25}, 0, [3]int{50, 25}},    // less than all stays so
		{[3]float64{0.996, 0.004}, 1, [3]int{99, 1}},  // 1 at least
		{[3]float64{0.995, 0.005}, 0, [3]int{100, 0}}, // largest remainder; the first of equals
	} {
		p := NewPort("a")
		for q, s := range c.shares {
			p.Queues[q].Share = s
		}
		got := p.Percents(c.least)
		if [3]int(got[:3]) != c.want {
			t.Errorf("%v least %d: %v, want %v", c.shares, c.least, got, c.want)
		}
	}
}
