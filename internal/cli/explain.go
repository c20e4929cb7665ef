package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
)

func newExplain(s *Streams) *cobra.Command {
	var lang string
	cmd := &cobra.Command{
		Use:   "explain [CAUSE|COUNTER|SETTING]",
		Short: "Explain a cause, a counter or a setting",
		Long: `Explain tells of a cause what it looks like, what refutes it, which test decides
and how to repair it; of a counter, under the name of a vendor or of the metric
table, what it counts and what a rise speaks for; of a setting of switches and
cards what it does, its unit, what to set and why, what goes wrong at either
extreme and what each system calls it; of an environment variable of NCCL what it
does and what goes wrong with it.`,
		Example: `  weir explain ecn-threshold-too-low
  weir explain pfc-storm --lang zh
  weir explain rx_prio3_pause
  weir explain qos.ecn.min
  weir explain headroom --lang zh
  weir explain NCCL_IB_TC
  weir explain                          # lists all causes`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			language, err := parseLanguage(lang)
			if err != nil {
				return err
			}
			catalogue, err := cause.Load()
			if err != nil {
				return failed(err)
			}
			out := bufio.NewWriter(s.Out)
			defer out.Flush()
			if len(args) == 0 {
				listCauses(out, catalogue, language)
				return nil
			}
			if c, ok := catalogue.Find(args[0]); ok {
				explainCause(out, c, language)
				return nil
			}
			done, err := explainName(out, args[0], language)
			switch {
			case err != nil:
				return failed(err)
			case !done:
				return refused(fmt.Errorf("%q is no cause, counter or setting that is known: weir explain lists the causes%s", args[0], nearest(catalogue, args[0])))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "en", "language of the text: en or zh")
	return cmd
}

func parseLanguage(lang string) (cause.Language, error) {
	switch l := cause.Language(lang); l {
	case cause.English, cause.Chinese:
		return l, nil
	}
	return "", refused(fmt.Errorf("--lang %q: allowed are en and zh", lang))
}

func listCauses(out *bufio.Writer, catalogue *cause.Catalogue, l cause.Language) {
	group := ""
	for _, c := range catalogue.All() {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(out, "%s\n", group)
		}
		fmt.Fprintf(out, "  %-27s %s\n", c.ID, c.Title.In(l))
	}
}

func explainCause(out *bufio.Writer, c *cause.Cause, l cause.Language) {
	labels := [...]string{"What it does", "Looks like", "Refuted by", "Deciding test", "Fix"}
	if l == cause.Chinese {
		labels = [...]string{"影响", "表现", "反证", "判定测试", "修复"}
	}
	fmt.Fprintf(out, "%s: %s\n", c.ID, c.Title.In(l))
	for i, text := range []string{c.Effect.In(l), c.LooksLike.In(l), c.RefutedBy.In(l), c.DecidingTest} {
		fmt.Fprintf(out, "\n%s\n  %s\n", labels[i], text)
	}
	fmt.Fprintf(out, "\n%s\n", labels[4])
	for _, f := range c.Fixes {
		fmt.Fprintf(out, "  %s\n", f.In(l))
		if f.Command != "" {
			fmt.Fprintf(out, "    $ %s\n", f.Command)
		}
	}
}

// nearest suggests a variable that the word is a slip of, or an id that holds
// the word or starts alike.
func nearest(catalogue *cause.Catalogue, word string) string {
	if word == "" {
		return ""
	}
	if meant, ok := diagnosis.Misspelled(word); ok {
		return fmt.Sprintf(" (is it %s?)", meant)
	}
	for _, c := range catalogue.All() {
		if strings.Contains(c.ID, word) || strings.HasPrefix(c.ID, word[:min(len(word), 5)]) {
			return fmt.Sprintf(" (is it %s?)", c.ID)
		}
	}
	return ""
}
