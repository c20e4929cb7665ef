package render

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A leaf is what a YANG model of SONiC allows in one field.
type leafType struct {
	low, high int // of a number
	words     []string
	pattern   *regexp.Regexp
}

var listName = regexp.MustCompile(`^[a-zA-Z0-9]([-a-zA-Z0-9_]{0,31})$`)

// yang are the ranges, enumerations and patterns of sonic-yang-models of
// sonic-net/sonic-buildimage, read from sonic-pfcwd.yang (9701fa5),
// sonic-wred-profile.yang (07a78fb), sonic-scheduler.yang (1be89ed) and
// sonic-cable-length.yang (9a8b7c0). Fields that start with "*" end so.
var yang = map[string]map[string]leafType{
	"PFC_WD": {
		"action": {words: []string{"drop", "forward", "alert"}}, "detection_time": {low: 100, high: 5000}, "restoration_time": {low: 100, high: 60000},
		"POLL_INTERVAL": {low: 100, high: 1000},
	},
	"WRED_PROFILE": {
		"ecn":                {words: []string{"ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_all"}},
		"*_drop_probability": {low: 0, high: 100}, "*_min_threshold": {low: 0, high: 1 << 62}, "*_max_threshold": {low: 0, high: 1 << 62}, "*_enable": {words: []string{"true", "false"}},
	},
	"SCHEDULER":    {"type": {words: []string{"DWRR", "WRR", "STRICT"}}, "weight": {low: 1, high: 100}},
	"CABLE_LENGTH": {"*": {pattern: regexp.MustCompile(`^([0-9]+m|None)$`)}},
}

// yangFaults returns what the models refuse in a fragment of config_db.json:
// values, references to rows that are not there, and their "must" rules.
func yangFaults(body string) (faults []string) {
	var db map[string]map[string]map[string]string
	if err := json.Unmarshal([]byte(body), &db); err != nil {
		return []string{err.Error()}
	}
	say := func(s ...string) { faults = append(faults, strings.Join(s, " ")) }
	for table, fields := range yang {
		for key, row := range db[table] {
			for name, value := range row {
				l, ok := fields[name]
				for k, v := range fields {
					if suffix, any := strings.CutPrefix(k, "*"); any && strings.HasSuffix(name, suffix) && !ok {
						l, ok = v, true
					}
				}
				n, err := strconv.Atoi(value)
				switch {
				case !ok:
					say(table, key, name, "has no leaf")
				case l.words != nil && !slices.Contains(l.words, value), l.pattern != nil && !l.pattern.MatchString(value),
					l.words == nil && l.pattern == nil && (err != nil || n < l.low || n > l.high):
					say(table, key, name, value)
				}
			}
		}
	}
	for key, row := range db["WRED_PROFILE"] {
		low, _ := strconv.Atoi(row["green_min_threshold"])
		if high, _ := strconv.Atoi(row["green_max_threshold"]); high < low || !listName.MatchString(key) {
			say("WRED_PROFILE", key, "name or green_max_threshold below its minimum")
		}
	}
	poll, _ := strconv.Atoi(db["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"])
	for key, row := range db["PFC_WD"] {
		detect, _ := strconv.Atoi(row["detection_time"])
		restore, _ := strconv.Atoi(row["restoration_time"])
		if key != "GLOBAL" && (detect < poll || restore < poll) {
			say("PFC_WD", key, "times below POLL_INTERVAL")
		}
		if key != "GLOBAL" && db["PORT"][key] == nil {
			say("PFC_WD", key, "is no port")
		}
	}
	for port := range db["CABLE_LENGTH"]["AZURE"] {
		if db["PORT"][port] == nil {
			say("CABLE_LENGTH", port, "is no port")
		}
	}
	for key, row := range db["QUEUE"] {
		port, _, _ := strings.Cut(key, "|")
		if db["PORT"][port] == nil || db["SCHEDULER"][row["scheduler"]] == nil || row["wred_profile"] != "" && db["WRED_PROFILE"][row["wred_profile"]] == nil {
			say("QUEUE", key, "refers to what is not there")
		}
	}
	for key, row := range db["BUFFER_PG"] {
		if db["BUFFER_PROFILE"][row["profile"]] == nil {
			say("BUFFER_PG", key, "refers to what is not there")
		}
	}
	for key, row := range db["PORT_QOS_MAP"] {
		for field, table := range map[string]string{"dscp_to_tc_map": "DSCP_TO_TC_MAP", "tc_to_queue_map": "TC_TO_QUEUE_MAP", "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
			"pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE", "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"} {
			if db[table][row[field]] == nil {
				say("PORT_QOS_MAP", key, field, "refers to what is not there")
			}
		}
	}
	return faults
}
