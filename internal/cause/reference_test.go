package cause

import "testing"

// Every text is there in Chinese, no name stands twice, and every cause named
// is one of the catalogue.
func TestReference(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	variables, err := Variables()
	if err != nil {
		t.Fatal(err)
	}
	counters, err := Counters()
	if err != nil {
		t.Fatal(err)
	}
	if len(variables) < 30 || len(counters) < 50 {
		t.Fatalf("%d variables, %d counters", len(variables), len(counters))
	}
	names := map[string]bool{}
	check := func(name, zh string, causes []string) {
		if names[name] || !hasHan(zh) {
			t.Errorf("%s stands twice or has no Chinese text", name)
		}
		names[name] = true
		for _, id := range causes {
			if _, ok := c.Find(id); !ok {
				t.Errorf("%s names %s, which is no cause", name, id)
			}
		}
	}
	for _, v := range variables {
		check(v.Name, v.Zh, v.Causes)
		if v.En == "" || v.Default == "" {
			t.Errorf("%s lacks a text or a default", v.Name)
		}
	}
	for _, n := range counters {
		check(n.Metric, n.Zh, n.Causes)
	}

	settings, err := Settings()
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	for _, s := range settings {
		check(s.Name, s.Zh, s.Causes)
		for what, text := range map[string]Text{"text": s.Text, "unit": s.Unit, "recommended": s.Recommended, "low": s.Low, "high": s.High} {
			if text.En == "" || !hasHan(text.Zh) {
				t.Errorf("%s: %s lacks a language", s.Name, what)
			}
		}
		for _, a := range append([]string{s.Name}, s.Aliases...) {
			if other, twice := answers[a]; twice {
				t.Errorf("%s stands for %s and %s", a, other, s.Name)
			}
			answers[a] = s.Name
		}
		if len(s.Vendors) == 0 || len(s.Causes) == 0 {
			t.Errorf("%s: no vendor's name or no cause", s.Name)
		}
	}
}
