package dialect

import (
	"strconv"
	"strings"

	"weir/internal/qos"
)

// ParseList reads whole numbers and ranges such as "0-3,5" in their order.
// Numbers above limit, falling ranges and empty members are refused.
func ParseList(s string, limit int) ([]int, bool) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.ParseUint(lo, 10, 31)
		if err != nil {
			return nil, false
		}
		b := a
		if ranged {
			if b, err = strconv.ParseUint(hi, 10, 31); err != nil {
				return nil, false
			}
		}
		if b < a || b > uint64(limit) || len(out)+int(b-a) > 65536 {
			return nil, false
		}
		for n := a; n <= b; n++ {
			out = append(out, int(n))
		}
	}
	return out, true
}

// ParseDSCPs reads code points as numbers, ranges and names, separated by
// commas or blanks: "24-31,48", "af31 cs6".
func ParseDSCPs(words ...string) ([]uint8, bool) {
	var out []uint8
	for _, w := range words {
		for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return r == ',' || r == ' ' }) {
			if list, ok := ParseList(part, 63); ok {
				for _, n := range list {
					out = append(out, uint8(n))
				}
				continue
			}
			d, ok := qos.ParseDSCP(part)
			if !ok {
				return nil, false
			}
			out = append(out, d)
		}
	}
	return out, len(out) > 0
}

// ExpandPorts reads the port names that a command takes at once: lists
// ("swp1,swp3"), ranges of the last number ("Ethernet1/1-4", "swp1-32",
// "swp1s0-3") and ranges written in full ("1/1-1/32", "swp1-swp4"). A name
// that holds no range comes back alone. At most MaxRange names are returned;
// ok is false when there would be more or a range falls.
func ExpandPorts(s string) (ports []string, ok bool) {
	prefix := ""
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if part[0] >= '0' && part[0] <= '9' {
			part = prefix + part
		} else {
			prefix = part[:letters(part)]
		}
		names, ok := expandRange(part)
		if !ok || len(ports)+len(names) > MaxRange {
			return nil, false
		}
		ports = append(ports, names...)
	}
	return ports, len(ports) > 0
}

func expandRange(s string) ([]string, bool) {
	left, right, ranged := cutRange(s)
	if !ranged {
		return []string{s}, true
	}
	i := len(left)
	for i > 0 && left[i-1] >= '0' && left[i-1] <= '9' {
		i--
	}
	j := len(right)
	for j > 0 && right[j-1] >= '0' && right[j-1] <= '9' {
		j--
	}
	// The right side may repeat all or the end of what is before the number.
	if !strings.HasSuffix(left[:i], right[:j]) {
		return nil, false
	}
	lo, err1 := strconv.Atoi(left[i:])
	hi, err2 := strconv.Atoi(right[j:])
	if err1 != nil || err2 != nil || hi < lo || hi-lo >= MaxRange {
		return nil, false
	}
	names := make([]string, 0, hi-lo+1)
	for n := lo; n <= hi; n++ {
		names = append(names, left[:i]+strconv.Itoa(n))
	}
	return names, true
}

// cutRange finds the hyphen of a range: one with a digit before it and, after
// it, a digit or the letters that the name starts with.
func cutRange(s string) (left, right string, ok bool) {
	for i := len(s) - 2; i > 0; i-- {
		if s[i] != '-' || s[i-1] < '0' || s[i-1] > '9' {
			continue
		}
		left, right = s[:i], s[i+1:]
		start := left[:letters(left)]
		if rest, cut := strings.CutPrefix(right, start); cut && start != "" {
			right = rest
			if strings.HasPrefix(left, start) {
				return left, start + right, true
			}
		}
		if right[0] >= '0' && right[0] <= '9' {
			return left, right, true
		}
	}
	return "", "", false
}

func letters(s string) int {
	i := 0
	for i < len(s) && (s[i] < '0' || s[i] > '9') {
		i++
	}
	return i
}
