package nccl

import "strings"

// A line of the log:
//
//	host:pid:tid [device] file.cc:123 NCCL WARN text
//
// with any part before NCCL missing where a log was cut. It is taken apart by
// hand, since a log has millions of them.
type line struct {
	host, pid   string
	level, text string
}

var levels = [...]string{"INFO", "WARN", "TRACE", "ABORT", "ERROR", "CALL", "VERSION"}

// splitLine reports whether t is a line of the log.
func splitLine(t string) (line, bool) {
	at := strings.Index(t, "NCCL ")
	if at < 0 {
		return line{}, false
	}
	var l line
	rest := t[at+len("NCCL "):]
	for _, level := range levels {
		if after, ok := strings.CutPrefix(rest, level); ok && (after == "" || after[0] == ' ') {
			l.level, l.text = level, strings.TrimSpace(after)
			break
		}
	}
	if l.level == "" {
		return line{}, false
	}
	return l, l.head(t[:at])
}

// head reads what stands before NCCL: up to three words.
func (l *line) head(t string) bool {
	if t == "" {
		return true
	}
	if !strings.HasSuffix(t, " ") {
		return false
	}
	word, rest, _ := strings.Cut(t, " ")
	if host, pid, ok := processOf(word); ok {
		l.host, l.pid = host, pid
		word, rest, _ = strings.Cut(rest, " ")
	}
	if device, ok := strings.CutPrefix(word, "["); ok && strings.HasSuffix(word, "]") && isNumber(strings.TrimPrefix(device[:len(device)-1], "-")) {
		word, rest, _ = strings.Cut(rest, " ")
	}
	if word == "" {
		return rest == ""
	}
	return rest == "" && placeInSource(word) // of warnings
}

// processOf reads "host:pid:tid".
func processOf(word string) (host, pid string, ok bool) {
	i := strings.LastIndexByte(word, ':')
	if i < 0 || !isNumber(word[i+1:]) || i+1 == len(word) {
		return "", "", false
	}
	j := strings.LastIndexByte(word[:i], ':')
	if j <= 0 || !isNumber(word[j+1:i]) || j+1 == i {
		return "", "", false
	}
	for _, c := range []byte(word[:j]) {
		if c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return "", "", false
		}
	}
	return word[:j], word[j+1 : i], true
}

// placeInSource recognises "transport/net_ib.cc:1093" and "ibvwrap.cc:".
func placeInSource(word string) bool {
	file, number, _ := strings.Cut(strings.TrimSuffix(word, ":"), ":")
	if file == "" || !isNumber(number) {
		return false
	}
	for _, c := range []byte(file) {
		if c != '.' && c != '-' && c != '_' && c != '/' && c != '+' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}
