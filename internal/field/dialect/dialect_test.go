package dialect

import (
	"slices"
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int
	}{
		{"3", []int{3}}, {"0-3,5", []int{0, 1, 2, 3, 5}}, {"24-31", []int{24, 25, 26, 27, 28, 29, 30, 31}}, {"7,1", []int{7, 1}},
	} {
		if got, ok := ParseList(c.in, 63); !ok || !slices.Equal(got, c.want) {
			t.Errorf("ParseList(%q) = %v, %v, want %v", c.in, got, ok, c.want)
		}
	}
	for _, bad := range []string{"", "3-", "-3", "5-2", "64", "a", "1,,2", "0-99999999"} {
		if got, ok := ParseList(bad, 63); ok {
			t.Errorf("ParseList(%q) = %v, want refusal", bad, got)
		}
	}
}

func TestParseDSCPs(t *testing.T) {
	got, ok := ParseDSCPs("24-26,48 ef", "af31")
	if want := []uint8{24, 25, 26, 48, 46, 26}; !ok || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, ok, want)
	}
	if _, ok := ParseDSCPs("24 nonsense"); ok {
		t.Error("took a word that is no code point")
	}
}

func TestExpandPorts(t *testing.T) {
	for in, want := range map[string]string{
		"Ethernet1/1":           "Ethernet1/1",
		"Ethernet1/1-3":         "Ethernet1/1 Ethernet1/2 Ethernet1/3",
		"swp1-3,swp7":           "swp1 swp2 swp3 swp7",
		"swp1-swp3":             "swp1 swp2 swp3",
		"swp2s0-1":              "swp2s0 swp2s1",
		"1/1-1/3":               "1/1 1/2 1/3",
		"Ethernet1/1,1/5":       "Ethernet1/1 Ethernet1/5",
		"port-channel7":         "port-channel7",
		"Ethernet3/1/1-2":       "Ethernet3/1/1 Ethernet3/1/2",
		"et-0/0/1":              "et-0/0/1",
		"Ethernet1/3-Ethernet5": "",
		"swp9-2":                "",
		"swp1-99999999":         "",
		"":                      "",
	} {
		got, ok := ExpandPorts(in)
		if strings.Join(got, " ") != want || ok != (want != "") {
			t.Errorf("ExpandPorts(%q) = %q, %v, want %q", in, got, ok, want)
		}
	}
}

func TestTypedPorts(t *testing.T) {
	for _, c := range []struct {
		words, want string
		ok          bool
	}{
		{"Ethernet1/1", "Ethernet1/1", true},
		{"ethernet 1/1", "ethernet1/1", true},
		{"port-channel 10", "port-channel10", true},
		{"Ethernet1/1 , Ethernet1/3 - 5", "Ethernet1/1,Ethernet1/3-5", true},
		{"ethernet 1/1, ethernet 1/2", "ethernet1/1,ethernet1/2", true},
		{"ethernet 1/1 mtu 1500 force", "", false},
		{"Ethernet1/1 shutdown", "", false},
	} {
		if got, ok := TypedPorts(c.words); got != c.want || ok != c.ok {
			t.Errorf("%q: %q, %v, want %q, %v", c.words, got, ok, c.want, c.ok)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"snmp-server community s3cr3t ro":                                  "snmp-server community <redacted>",
		"username admin password 5 $5$AbCd$xyz role network-admin":         "username admin password <redacted>",
		"  set system root-authentication encrypted-password \"$6$aa$bb\"": "  set system root-authentication encrypted-password \"<redacted>\"",
		"snmp-agent community read cipher %^%#abc%^%#":                     "snmp-agent community <redacted>",
		`"SNMP_COMMUNITY": {"public2": {"TYPE": "RO"}}`:                    `"SNMP_COMMUNITY": {"<redacted>`,
		"neighbor 192.0.2.1 password 7 0822455D0A16":                       "neighbor 192.0.2.1 password <redacted>",
		"key 7 \"070c285f4d06\"":                                           "key 7 \"<redacted>",
		"mtu 9216":                                                         "mtu 9216",
		"description password":                                             "description password",
		"tacacs-server host 192.0.2.9 key 0 hunter2":                       "tacacs-server host 192.0.2.9 key <redacted>",
		"ssh-rsa AAAAB3NzaC1yc2E user@host":                                "ssh-rsa <redacted>",
	} {
		got := Redact(in)
		if strings.HasPrefix(in, "key 7") {
			if strings.Contains(got, "070c") {
				t.Errorf("Redact(%q) = %q", in, got)
			}
			continue
		}
		if got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestExcerptKeepsCharacters(t *testing.T) {
	if got := Excerpt(strings.Repeat("ü", 150)); len(got) != 200 {
		t.Errorf("cut to %d bytes, want 200", len(got))
	}
	if got := Excerpt("x" + strings.Repeat("ü", 150)); len(got) != 199 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("cut to %d bytes, want 199", len(got))
	}
}

func TestSplitPrompt(t *testing.T) {
	for in, want := range map[string]string{
		"leaf1# show running-config":                                  "leaf1|show running-config",
		"leaf1(config-if)# mtu 9216":                                  "leaf1|mtu 9216",
		"<sw1>display current-configuration":                          "sw1|display current-configuration",
		"[~sw1-100GE1/0/1] trust dscp":                                "sw1-100GE1/0/1|trust dscp",
		"admin@leaf1> show configuration":                             "leaf1|show configuration",
		"cumulus@leaf01:mgmt:~$ nv config show":                       "leaf01|nv config show",
		"sonic-dut:~# show queue wredcounters":                        "sonic-dut|show queue wredcounters",
		"sw-onyx [standalone: master] (config) # show running-config": "sw-onyx|show running-config",
	} {
		name, command, ok := SplitPrompt(in)
		if !ok || name+"|"+command != want {
			t.Errorf("SplitPrompt(%q) = %q, %q, %v", in, name, command, ok)
		}
	}
	for _, in := range []string{"interface Ethernet1/1", " leaf#x", "#", "100GE1/0/1 3 0 0", "mtu 9216", "----"} {
		if name, _, ok := SplitPrompt(in); ok {
			t.Errorf("%q has no prompt, found %q", in, name)
		}
	}
}

func TestLinesCleansCaptures(t *testing.T) {
	text := "\xef\xbb\xbfa b\r\n\x1b[1m  c\x1b[0m \"d e\"f\r\n\r\n --More--         \r  g\r\n\th\n"
	lines, err := Lines(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	want := []Line{
		{1, 0, "a b", []string{"a", "b"}},
		{2, 2, `c "d e"f`, []string{"c", "d ef"}},
		{4, 2, "g", []string{"g"}},
		{5, 8, "h", []string{"h"}},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(lines), len(want), lines)
	}
	for i := range want {
		if lines[i].Number != want[i].Number || lines[i].Indent != want[i].Indent || lines[i].Text != want[i].Text || !slices.Equal(lines[i].Words, want[i].Words) {
			t.Errorf("line %d = %+v, want %+v", i, lines[i], want[i])
		}
	}
}

func TestLinesRefusesTooMuch(t *testing.T) {
	_, err := Lines(strings.NewReader(strings.Repeat("x", MaxLine+1)), "big.cfg")
	if err == nil || !strings.Contains(err.Error(), "big.cfg:1: a line of more than 64 KiB") {
		t.Errorf("error %v", err)
	}
}

var toy = Language{
	Separator: "!",
	Comments:  []string{"!"},
	Show:      []string{"show run"},
	Forms: []Form{
		{ID: "port", Text: "interface <name>", Opens: "port", Source: "toy"},
		{ID: "mtu", In: "port", Text: "mtu <mtu:68-9216>", Source: "toy"},
		{ID: "queue", In: "port", Text: "queue <n:0-7>", Opens: "queue", Source: "toy"},
		{ID: "ecn", In: "queue", Text: "ecn [min <min:num> <unit>] [mark]", Source: "toy"},
		{ID: "map", Text: "map <list+> to <to:0-7>", Source: "toy"},
	},
	Others: map[string][]string{"": {"router"}, "port": {"ip"}},
}.Compile()

func walkToy(t *testing.T, text string) (taken, unknown string) {
	t.Helper()
	lines, err := Lines(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	rest, _ := toy.Walk(lines, func(s Statement) bool {
		got = append(got, s.Form.ID)
		return true
	})
	var lost []string
	for _, l := range rest {
		lost = append(lost, l.Text)
	}
	return strings.Join(got, " "), strings.Join(lost, "; ")
}

func TestWalk(t *testing.T) {
	for _, c := range []struct{ name, text, taken, unknown string }{
		{"blocks", "interface a\n mtu 1500\n queue 3\n  ecn mark\n mtu 9000\ninterface b\n mtu 68\n", "port mtu queue ecn mtu port mtu", ""},
		{"separator closes", "interface a\n queue 3\n !\n ecn\n", "port queue", "ecn"},
		{"skipped block", "router bgp 1\n neighbor x\n  deep\ninterface a\n ip address 192.0.2.1/31\n", "port", ""},
		{"unknown with its lines", "zebra\n mtu 1500\ninterface a\n mtu 1500\n", "port mtu", "zebra; mtu 1500"},
		{"value out of range", "interface a\n mtu 10\n", "port", "mtu 10"},
		{"no indentation", "interface a\nmtu 1500\nqueue 1\necn min 5 kb\nmtu 1600\ninterface b\nmtu 1700\n", "port mtu queue ecn mtu port mtu", ""},
		{"no indentation, skipped", "router bgp 1\nneighbor x\ninterface a\nmtu 1500\n", "port mtu", ""},
		{"typed at prompts", "sw(config)# interface a\nsw(config-if)# mtu 1500\nsw(config-if)# exit\nsw(config)# map 1 2 3 to 4\n", "port mtu map", ""},
		{"show output", "sw# show running-config\ninterface a\n mtu 1500\nsw#\n", "port mtu", ""},
		{"exit ends a block", "interface a\n queue 1\n  ecn\n  exit\n mtu 1500\n", "port queue ecn mtu", ""},
	} {
		taken, unknown := walkToy(t, c.text)
		if taken != c.taken || unknown != c.unknown {
			t.Errorf("%s: took %q, lost %q; want %q, %q", c.name, taken, unknown, c.taken, c.unknown)
		}
	}
}

func TestFormLine(t *testing.T) {
	f := toy.Form("queue", "ecn")
	for _, c := range []struct {
		args Args
		want string
	}{
		{Args{}, "ecn"},
		{Args{"mark": "mark"}, "ecn mark"},
		{Args{"min": "5", "unit": "kb"}, "ecn min 5 kb"},
		{Args{"min": "5", "unit": "kb", "mark": ""}, "ecn min 5 kb mark"},
		{Args{"min": "5"}, "ecn"},
	} {
		if got, err := f.Line(c.args); err != nil || got != c.want {
			t.Errorf("%v: %q, %v, want %q", c.args, got, err, c.want)
		}
	}
	for _, bad := range []Args{{"mtu": "10"}, {}, {"mtu": "1500 x"}} {
		if got, err := toy.Form("port", "mtu").Line(bad); err == nil {
			t.Errorf("%v was written as %q", bad, got)
		}
	}
}

func FuzzWalk(f *testing.F) {
	f.Add("interface a\n mtu 1500\n queue 3\n  ecn min 4 kb mark\n!\nmap 1 2 to 3\n")
	f.Add("sw# show run\ninterface a\nexit\nexit\nend\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := Lines(strings.NewReader(text), "x")
		if err != nil {
			return
		}
		taken := 0
		unknown, _ := toy.Walk(lines, func(s Statement) bool {
			taken++
			again, err := s.Form.Line(s.Args)
			if err == nil {
				if f, _ := toy.Read(s.Form.In, again); f != s.Form {
					t.Fatalf("%q does not read back", again)
				}
			}
			return true
		})
		if taken+len(unknown) > len(lines) {
			t.Fatalf("%d statements and %d unknown of %d lines", taken, len(unknown), len(lines))
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add("snmp-server community ", "abc1def", " ro")
	f.Add("set snmp v3 usm authentication-key ", "abc1def", ";")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		Excerpt(before + secret + after)
		if strings.HasPrefix(before, "password ") && len(secret) > 6 && strings.Trim(secret, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
			if got := Redact("password " + secret + " x"); strings.Contains(got, secret) {
				t.Fatalf("%q leaks %q", got, secret)
			}
		}
	})
}
