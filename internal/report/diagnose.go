package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
	"weir/internal/finding"
)

// A Diagnosis is what a diagnosis prints.
type Diagnosis struct {
	Result        *diagnosis.Result
	Language      cause.Language
	Facts         int
	Sources       int
	NotUnderstood int
}

// JSON writes the answer as one document, keys as in "weir.diagnose/1".
func (d *Diagnosis) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Schema string `json:"schema"`
		*diagnosis.Result
		Facts         int `json:"facts"`
		Sources       int `json:"sources"`
		NotUnderstood int `json:"lines_not_understood"`
	}{"weir.diagnose/1", d.Result, d.Facts, d.Sources, d.NotUnderstood})
}

// labels of the text form, by language.
type labels struct {
	evidence, against, refuted, test, fix, verify, missing, means, nothing, undecided, source, settles, confidence string
	disruption                                                                                                     map[string]string
}

var english = labels{
	evidence: "Evidence", against: "Speaks against it", refuted: "Refuted if", test: "Deciding test", fix: "Fix", verify: "Verify",
	missing: "Not enough facts. What would settle it:", means: "What the errors say", nothing: "No finding.", undecided: "No finding: these errors have several causes, and the facts do not single one out.", source: "Read %d facts from %d sources; %d lines were not understood.\n",
	settles: "decides on", confidence: "confidence",
	disruption: map[string]string{"none": "disturbs nothing", "pause": "stops traffic briefly", "flap": "takes the link down", "reload": "needs a reload"},
}

var chinese = labels{
	evidence: "证据", against: "反面证据", refuted: "若如下则排除", test: "判定测试", fix: "修复", verify: "验证",
	missing: "信息不足。以下输出可以定论：", means: "错误的含义", nothing: "没有发现问题。", undecided: "尚无结论：这些错误有多种原因，现有信息无法确定是哪一种。", source: "从 %[2]d 个来源读取 %[1]d 条事实；%[3]d 行未能识别。\n",
	settles: "可判定", confidence: "可信度",
	disruption: map[string]string{"none": "无影响", "pause": "流量短暂中断", "flap": "链路中断", "reload": "需要重载"},
}

// Text writes the answer for people.
func (d *Diagnosis) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	l := &english
	if d.Language == cause.Chinese {
		l = &chinese
	}
	if len(d.Result.Symptoms) > 0 {
		fmt.Fprintf(out, "%s\n", l.means)
		for _, s := range d.Result.Symptoms {
			wrapped(out, "  "+placeOf(s)+": ", "    ", s.Text)
		}
		fmt.Fprintln(out)
	}
	if len(d.Result.Findings) == 0 {
		verdict := l.nothing
		if len(d.Result.Symptoms) > 0 {
			verdict = l.undecided
		}
		fmt.Fprintf(out, "%s\n\n", verdict)
	}
	for i := range d.Result.Findings {
		d.finding(out, l, i)
	}
	if len(d.Result.Missing) > 0 {
		fmt.Fprintf(out, "%s\n", l.missing)
		for _, m := range d.Result.Missing {
			wrapped(out, "  - ", "    ", fmt.Sprintf("%s (%s %s)", m.Fact, l.settles, m.Cause))
			fmt.Fprintf(out, "      $ %s\n", m.Command)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, l.source, d.Facts, d.Sources, d.NotUnderstood)
	return out.Flush()
}

func (d *Diagnosis) finding(out *bufio.Writer, l *labels, i int) {
	f := &d.Result.Findings[i]
	fmt.Fprintf(out, "%d. %s  [%s, %s %.2f]", i+1, f.Cause, f.Severity, l.confidence, f.Confidence)
	if f.Where != "" {
		fmt.Fprintf(out, "  %s", f.Where)
	}
	fmt.Fprintln(out)
	wrapped(out, "   ", "   ", f.Summary)
	block := func(label string, list []finding.Evidence) {
		if len(list) > 0 {
			fmt.Fprintf(out, "   %s\n", label)
			for _, e := range list {
				fmt.Fprintf(out, "     %s  %s\n", placeOf(e), strings.TrimSpace(e.Text))
			}
		}
	}
	block(l.evidence, f.Evidence)
	block(l.against, f.Against)
	fmt.Fprintf(out, "   %s\n", l.refuted)
	wrapped(out, "     ", "     ", f.RefutedBy)
	fmt.Fprintf(out, "   %s\n     $ %s\n   %s\n", l.test, f.DecidingTest, l.fix)
	for _, x := range f.Fix {
		wrapped(out, "     ", "     ", fmt.Sprintf("%s (%s)", x.Text, l.disruption[x.Disruption]))
		if x.Command != "" {
			fmt.Fprintf(out, "     $ %s\n", x.Command)
		}
	}
	fmt.Fprintf(out, "   %s\n", l.verify)
	wrapped(out, "     ", "     ", f.Verify)
	fmt.Fprintln(out)
}

func placeOf(e finding.Evidence) string {
	if e.Line == 0 {
		return e.Source
	}
	return fmt.Sprintf("%s:%d", e.Source, e.Line)
}

// textWidth is the width of the text form. It does not follow the terminal, so
// that answers can be compared.
const textWidth = 100

// wrapped writes a text in lines of at most textWidth columns; Chinese text has
// no blanks to break at and may break anywhere.
func wrapped(out *bufio.Writer, first, rest, text string) {
	line, width := first, columns(first)
	flush := func() {
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		line, width = rest, columns(rest)
	}
	for _, word := range breakable(text) {
		n := columns(strings.TrimRight(word, " "))
		if width+n > textWidth && width > columns(rest) {
			flush()
		}
		line += word
		width += columns(word)
	}
	flush()
}

// breakable cuts a text into words with their blanks, and wide characters one by one.
func breakable(text string) []string {
	var out []string
	word := ""
	for _, r := range text {
		switch {
		case r == ' ':
			out = append(out, word+" ")
			word = ""
		case r >= 0x2E80:
			if strings.ContainsRune("，。；：、）！？", r) && word == "" && len(out) > 0 {
				out[len(out)-1] += string(r) // never at the start of a line
				continue
			}
			out = append(out, word, string(r))
			word = ""
		default:
			word += string(r)
		}
	}
	return append(out, word)
}

// columns counts terminal columns: wide characters take two.
func columns(s string) int {
	n := 0
	for _, r := range s {
		if n++; r >= 0x2E80 {
			n++
		}
	}
	return n
}
