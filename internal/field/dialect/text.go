package dialect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"weir/internal/fact"
	"weir/internal/input"
)

// A Line is one line of a configuration. Words are separated by blanks;
// a quoted word keeps its blanks and loses its quotes.
type Line struct {
	Number int // from 1
	Indent int // columns of blanks before the text, a tab going to the next multiple of 8
	Text   string
	Words  []string
}

// ReadAll reads a text of at most MaxText bytes.
func ReadAll(r io.Reader, source string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if len(text) > MaxText {
		return nil, &input.Error{File: source, Found: "a configuration of more than 64 MiB", Allowed: "one device's configuration"}
	}
	return text, nil
}

// escapes are terminal control sequences: CSI, OSC and character set choices.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Za-z0-9])`)

// pager is what a pager leaves in a captured session.
var pager = regexp.MustCompile(`^\s*-{2,}\s*\(?[Mm]ore(?:\s*[0-9]+%)?\)?\s*-{2,}(?:\([^)]*\))?\s*`)

// Lines reads a text of at most MaxText bytes into lines: line ends of all
// kinds, terminal escapes, pager prompts and backspaces are taken off. Line
// numbers count the lines of the original.
func Lines(r io.Reader, source string) ([]Line, error) {
	var lines []Line
	sc := bufio.NewScanner(io.LimitReader(r, MaxText+1))
	sc.Buffer(make([]byte, 0, 4096), MaxLine)
	total, number := 0, 0
	for sc.Scan() {
		number++
		total += len(sc.Bytes()) + 1
		if total > MaxText {
			return nil, &input.Error{File: source, Line: number, Found: "a configuration of more than 64 MiB", Allowed: "one device's configuration"}
		}
		text := cleanLine(sc.Bytes())
		indent, body := splitIndent(text)
		if body == "" {
			continue
		}
		lines = append(lines, Line{Number: number, Indent: indent, Text: body, Words: splitWords(body)})
	}
	if err := sc.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, &input.Error{File: source, Line: number + 1, Found: "a line of more than 64 KiB", Allowed: "lines of a device configuration"}
		}
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return lines, nil
}

func cleanLine(b []byte) string {
	if i := bytes.LastIndexByte(b, '\r'); i == len(b)-1 && i >= 0 {
		b = b[:i]
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(b, 0x1b) >= 0 {
		b = escapes.ReplaceAll(b, nil)
	}
	// A pager overwrites its own line: what follows the last carriage return counts.
	if i := bytes.LastIndexByte(b, '\r'); i >= 0 {
		b = b[i+1:]
	}
	b = bytes.Map(func(r rune) rune {
		if r == '\t' || r >= ' ' && r != 0x7f {
			return r
		}
		return -1
	}, b)
	text := string(b)
	if strings.Contains(text, "ore") {
		text = text[len(pager.FindString(text)):]
	}
	return strings.TrimRight(text, " \t")
}

func splitIndent(text string) (int, string) {
	col := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ':
			col++
		case '\t':
			col = col/8*8 + 8
		default:
			return col, text[i:]
		}
	}
	return col, ""
}

// splitWords splits at blanks. A double quote opens a word that ends at the
// next one; an unclosed quote runs to the end of the line.
func splitWords(s string) []string {
	if strings.IndexByte(s, '"') < 0 {
		return strings.Fields(s)
	}
	var words []string
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return words
		}
		var b strings.Builder
		for s != "" && s[0] != ' ' && s[0] != '\t' {
			if s[0] != '"' {
				b.WriteByte(s[0])
				s = s[1:]
				continue
			}
			quoted, rest, _ := strings.Cut(s[1:], `"`)
			b.WriteString(quoted)
			s = rest
		}
		words = append(words, b.String())
	}
}

// promptForms are the prompts of the systems in this tree: "leaf1#",
// "leaf1(config-if)#", "<leaf1>", "[~leaf1-100GE1/0/1]", "admin@leaf1>",
// "cumulus@leaf1:mgmt:~$", "leaf1 [standalone: master] (config) #".
var promptForms = []*regexp.Regexp{
	regexp.MustCompile(`^([A-Za-z][\w.-]{0,63})(?:\([\w./:-]+\))?[#>] ?(.*)$`),
	regexp.MustCompile(`^<([A-Za-z][\w.-]{0,63})> ?(.*)$`),
	regexp.MustCompile(`^\[[~*]?([A-Za-z][\w./:-]{0,63})\] ?(.*)$`),
	regexp.MustCompile(`^[\w.-]{1,32}@([\w.-]{1,64})(?:[:/][^ $#>]*)?[$#>] ?(.*)$`),
	regexp.MustCompile(`^([A-Za-z][\w.-]{0,63}) \[[^\]]{1,40}\](?: \(config[^)]*\))? [#>] ?(.*)$`),
	regexp.MustCompile(`^([A-Za-z][\w.-]{0,63}) \(config[^)]*\) [#>] ?(.*)$`),
	regexp.MustCompile(`^([A-Za-z][\w.-]{0,63}):[~/][^ $#]*[$#] ?(.*)$`),
}

// SplitPrompt takes a device's prompt off a line of a captured session: the
// device's name as the prompt shows it, and the command. ok is false where the
// line has no prompt.
func SplitPrompt(line string) (name, command string, ok bool) {
	if !strings.ContainsAny(line, "#>$]") {
		return "", "", false
	}
	for _, re := range promptForms {
		if m := re.FindStringSubmatch(line); m != nil {
			return m[1], strings.TrimSpace(m[2]), true
		}
	}
	return "", "", false
}

// Unknown keeps one line as not understood, redacted and cut to 200 bytes.
func (r *Reading) Unknown(source, tool string, number int, text string) {
	if len(r.NotUnderstood) >= MaxUnknown {
		return
	}
	r.NotUnderstood = append(r.NotUnderstood, fact.NotUnderstood{
		Origin: fact.Origin{Source: source, Line: number, Tool: tool},
		Text:   Excerpt(text),
	})
}

// Excerpt redacts a line and cuts it to 200 bytes at a character's end.
func Excerpt(text string) string {
	text = Redact(text)
	if len(text) <= maxExcerpt {
		return text
	}
	cut := maxExcerpt
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut]
}

// MakeLine returns a line of the given text, cut into words.
func MakeLine(number, indent int, text string) Line {
	return Line{Number: number, Indent: indent, Text: text, Words: splitWords(text)}
}
