package qos

import (
	"strconv"
	"strings"
)

// dscpNames are the code points that devices print by name: class selectors
// (RFC 2474), assured forwarding (RFC 2597), expedited forwarding (RFC 3246),
// voice admit (RFC 5865) and lower effort (RFC 8622).
var dscpNames = map[string]uint8{
	"default": 0, "be": 0, "df": 0,
	"cs0": 0, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56,
	"af11": 10, "af12": 12, "af13": 14,
	"af21": 18, "af22": 20, "af23": 22,
	"af31": 26, "af32": 28, "af33": 30,
	"af41": 34, "af42": 36, "af43": 38,
	"ef": 46, "va": 44, "voice-admit": 44, "le": 1, "lephb": 1,
}

// ParseDSCP reads a code point as a number from 0 to 63 or as a name such as
// "af31", "CS6" or "ef".
func ParseDSCP(s string) (uint8, bool) {
	if n, err := strconv.ParseUint(s, 10, 8); err == nil {
		return uint8(n), n < 64
	}
	n, ok := dscpNames[strings.ToLower(s)]
	return n, ok
}
