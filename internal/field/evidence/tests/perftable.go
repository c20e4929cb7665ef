package tests

import (
	"strconv"
	"strings"

	"weir/internal/field/evidence/tool"
)

// unit puts out the unit of the bandwidth columns.
func (r *perfRun) unit(l *tool.Line, out *tool.Out) {
	for _, c := range r.columns {
		if _, unit, ok := strings.Cut(c, "BW average["); ok {
			out.Text(l.N, r.test, "perftest.unit", strings.TrimSuffix(unit, "]"))
		}
	}
}

// bitsPerSecond returns the factor from a column's unit. perftest's MB is 2^20
// bytes and its Gb 10^9 bits.
func bitsPerSecond(column string) float64 {
	if strings.Contains(column, "[Gb/sec]") {
		return 1e9
	}
	return 8 * (1 << 20)
}

var latencyColumns = map[string]string{
	"t_min[usec]": "min", "t_max[usec]": "max", "t_typical[usec]": "typical", "t_avg[usec]": "average", "t_stdev[usec]": "stdev",
	"99% percentile[usec]": "p99", "99.9% percentile[usec]": "p999",
}

// row reads a row of the table by the columns of its head.
func (r *perfRun) row(l *tool.Line, out *tool.Out, f []string) bool {
	size, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil {
		return false
	}
	var res perfResult
	at := "." + f[0]
	for i, text := range f {
		column := r.columns[i]
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return false
		}
		switch name, _, _ := strings.Cut(column, "["); {
		case column == "#iterations":
			out.Number(l.N, r.test, "perftest.iterations"+at, text)
		case name == "BW peak":
			res.peak, res.peakOK = v*bitsPerSecond(column), v > 0
			if res.peakOK {
				out.Float(l.N, r.test, "perftest.peak"+at, res.peak)
			} else { // runs by duration do not measure it
				out.Absent(l.N, r.test, "perftest.peak"+at)
			}
		case name == "BW average":
			res.bw, res.has = v*bitsPerSecond(column), true
			out.Float(l.N, r.test, "perftest.bandwidth"+at, res.bw)
		case name == "MsgRate":
			out.Float(l.N, r.test, "perftest.message_rate"+at, v*1e6)
		case strings.HasPrefix(name, "BW Port"):
			out.Float(l.N, r.test, "perftest.bandwidth_port."+strings.TrimPrefix(name, "BW Port")+at, v*bitsPerSecond(column))
		case name == "CPU_Util":
			out.Float(l.N, r.test, "perftest.cpu"+at, v)
		case column == "tps average":
			out.Float(l.N, r.test, "perftest.transactions"+at, v)
		case latencyColumns[column] != "":
			out.Float(l.N, r.test, "perftest.latency."+latencyColumns[column]+at, v)
		}
	}
	r.rows++
	if size >= r.size {
		r.size, r.last, r.lastN = size, res, l.N
	}
	return true
}
