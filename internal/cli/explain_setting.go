package cli

import (
	"bufio"
	"fmt"
	"sort"
	"strings"

	"weir/internal/cause"
)

// explainSetting explains a setting of switches, cards or hosts, and reports
// whether it knows one of that name.
func explainSetting(out *bufio.Writer, name string, l cause.Language) (bool, error) {
	settings, err := cause.Settings()
	if err != nil {
		return false, err
	}
	for i := range settings {
		s := &settings[i]
		if !s.Answers(name) {
			continue
		}
		labels := [...]string{"Unit", "Recommended", "Too low, off or missing", "Too high or too much", "Called", "Has a part in"}
		if l == cause.Chinese {
			labels = [...]string{"单位", "推荐值", "过低、关闭或缺失", "过高或过多", "各系统写法", "相关原因"}
		}
		fmt.Fprintf(out, "%s\n  %s\n", s.Name, s.In(l))
		for k, text := range []cause.Text{s.Unit, s.Recommended, s.Low, s.High} {
			fmt.Fprintf(out, "\n%s\n  %s\n", labels[k], text.In(l))
		}
		fmt.Fprintf(out, "\n%s\n", labels[4])
		systems := make([]string, 0, len(s.Vendors))
		for v := range s.Vendors {
			systems = append(systems, v)
		}
		sort.Strings(systems)
		for _, v := range systems {
			fmt.Fprintf(out, "  %-9s %s\n", v, s.Vendors[v])
		}
		fmt.Fprintf(out, "\n%s\n  %s\n", labels[5], strings.Join(s.Causes, ", "))
		return true, nil
	}
	return false, nil
}
