package dialect

import (
	"cmp"
	"regexp"
	"strings"

	"weir/units"
)

// Frame lengths that some systems set, instead of the payload: with header
// and checksum (Huawei and H3C jumboframe), or with header alone (Junos mtu).
const (
	HeaderBytes = 14
	FramingSize = HeaderBytes + 4
)

// gigabitNames are the speeds that VRP and Comware write into port names.
var gigabitNames = []struct {
	name string
	rate units.BitRate
}{
	{"EightHundredGigE", 800 * units.Gbps}, {"FourHundredGigE", 400 * units.Gbps}, {"TwoHundredGigE", 200 * units.Gbps}, {"HundredGigE", 100 * units.Gbps},
	{"FiftyGigE", 50 * units.Gbps}, {"FortyGigE", 40 * units.Gbps}, {"Twenty-FiveGigE", 25 * units.Gbps}, {"Ten-GigabitEthernet", 10 * units.Gbps},
	{"XGigabitEthernet", 10 * units.Gbps}, {"GigabitEthernet", units.Gbps},
	{"800GE", 800 * units.Gbps}, {"400GE", 400 * units.Gbps}, {"200GE", 200 * units.Gbps}, {"100GE", 100 * units.Gbps}, {"50GE", 50 * units.Gbps},
	{"50|100GE", 100 * units.Gbps}, {"40GE", 40 * units.Gbps}, {"25GE", 25 * units.Gbps}, {"10GE", 10 * units.Gbps}, {"GE", units.Gbps},
}

// NamedPort reads a port name of VRP or Comware as typed ("100ge 1/0/1",
// "HundredGigE1/0/1") and returns its printed form and the speed in it. ok is
// false for names of other things than frame-carrying ports (Vlanif10).
func NamedPort(words string) (name string, rate units.BitRate, ok bool) {
	compact := strings.ReplaceAll(words, " ", "")
	for _, g := range gigabitNames {
		if len(compact) > len(g.name) && strings.EqualFold(compact[:len(g.name)], g.name) && isDigit(compact[len(g.name)]) {
			return g.name + compact[len(g.name):], g.rate, true
		}
	}
	return compact, 0, false
}

// NamedPorts reads "100ge 1/0/1", a list of such, and "100ge 1/0/1 to 100ge
// 1/0/4" or "to 1/0/4", as port groups and interface ranges name members.
func NamedPorts(words string) (names []string, rate units.BitRate, ok bool) {
	var current string
	fields := strings.Fields(words)
	for i := 0; i < len(fields); i++ {
		word := fields[i]
		if word == "to" {
			last := strings.Join(fields[i+1:min(i+3, len(fields))], " ")
			end, _, named := NamedPort(last)
			if !named { // "to 1/0/4": the number alone
				end = current[:letterPrefix(current)] + strings.Fields(last + " x")[0]
			} else if !strings.ContainsAny(fields[min(i+1, len(fields)-1)], "/") {
				i++
			}
			i++
			more, ranged := expandRange(current + "-" + end[letterPrefix(end):])
			if !ranged || len(more) < 1 || len(names)+len(more) > MaxRange {
				return nil, 0, false
			}
			names = append(names, more[1:]...)
			continue
		}
		if i+1 < len(fields) && !strings.ContainsAny(word, "/") && isDigit(fields[i+1][0]) {
			word += fields[i+1]
			i++
		}
		name, r, named := NamedPort(word)
		if !named {
			return nil, 0, false
		}
		current, rate = name, r
		names = append(names, name)
	}
	return names, rate, len(names) > 0
}

// TypedPorts joins the words behind "interface" into one name or list of names:
// "Ethernet 1/1", "Ethernet1/1 , Ethernet1/3". ok is false where other words
// follow, as in "ethernet 1/1 mtu 1500 force", which names no port.
func TypedPorts(words string) (name string, ok bool) {
	last := byte(',')
	for _, word := range strings.Fields(words) {
		if c := word[0]; last != ',' && last != '-' && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return "", false
		}
		last = word[len(word)-1]
		name += word
	}
	return name, true
}

// letterPrefix is the length of a port's type: what stands before the first
// digit that follows a letter.
func letterPrefix(s string) int {
	for i := 1; i < len(s); i++ {
		if isDigit(s[i]) && !isDigit(s[i-1]) && s[i-1] != '/' && s[i-1] != ':' {
			return i
		}
	}
	return 0
}

var digits = regexp.MustCompile(`\d+`)

// CompareNames orders names of ports and devices by the numbers in them: swp2
// before swp10, Ethernet1/2 before Ethernet1/10.
func CompareNames(x, y string) int {
	if c := strings.Compare(digits.ReplaceAllString(x, "#"), digits.ReplaceAllString(y, "#")); c != 0 {
		return c
	}
	nx, ny := digits.FindAllString(x, -1), digits.FindAllString(y, -1)
	for i := range nx {
		a, b := strings.TrimLeft(nx[i], "0"), strings.TrimLeft(ny[i], "0")
		if c := cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)); c != 0 {
			return c
		}
	}
	return strings.Compare(x, y)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// PHB returns the queue of a per-hop behaviour by name ("be", "af1" ... "cs7"),
// as VRP and Comware number them, or of a queue number.
func PHB(s string) (int, bool) {
	for i, name := range [...]string{"be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7"} {
		if strings.EqualFold(s, name) {
			return i, true
		}
	}
	if len(s) == 1 && s[0] >= '0' && s[0] <= '7' {
		return int(s[0] - '0'), true
	}
	return 0, false
}
