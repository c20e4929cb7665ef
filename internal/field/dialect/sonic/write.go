package sonic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// mapName is the name of the maps and profiles of a rendered fragment.
const mapName = "WEIR"

type table = map[string]map[string]string

// Write returns a fragment of config_db.json, and the commands that load and
// check it. Keys of JSON come in the order of their letters.
func Write(t *dialect.Target) ([]dialect.Text, error) {
	p, err := t.Common()
	if err != nil {
		return nil, err
	}
	db := make(map[string]table)
	if err := constraints(t, p); err != nil {
		return nil, err
	}
	db["DEVICE_METADATA"] = table{"localhost": {"hostname": t.Device.Name}}
	maps(db, p)
	queues(db, t, p)
	for i := range t.Device.Ports {
		ports(db, t, i)
	}
	if p.Watchdog == qos.On {
		poll := dialect.Milliseconds(min(p.WatchdogDetect, p.WatchdogRestore))
		db["PFC_WD"]["GLOBAL"] = map[string]string{"POLL_INTERVAL": strconv.Itoa(min(poll, 1000))}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(db); err != nil {
		return nil, err
	}
	return []dialect.Text{{Suffix: ".config_db.json", Body: b.String()}, {Suffix: ".commands.sh", Body: commands(t, p)}}, nil
}

// constraints refuses values outside what the YANG models of SONiC allow
// (sonic-yang-models: sonic-port, sonic-pfcwd, sonic-wred-profile,
// sonic-buffer-profile).
func constraints(t *dialect.Target, p *qos.Port) error {
	for i := range t.Device.Ports {
		if m := t.Device.Ports[i].MTU; m > 9216 {
			return t.Cannot(fmt.Sprintf("MTU %d", m), "68 to 9216")
		}
	}
	if p.Watchdog == qos.On {
		if ms := dialect.Milliseconds(p.WatchdogDetect); ms < 100 || ms > 5000 {
			return t.Cannot(fmt.Sprintf("watchdog detection after %v", p.WatchdogDetect), "100ms to 5s")
		}
		if ms := dialect.Milliseconds(p.WatchdogRestore); ms < 100 || ms > 60000 {
			return t.Cannot(fmt.Sprintf("watchdog restoration after %v", p.WatchdogRestore), "100ms to 60s")
		}
	}
	for _, prio := range dialect.Bits(p.PFCMask) {
		if a := p.Ingress[prio].Alpha; a > 0 {
			if e := math.Log2(a); e != math.Trunc(e) || e < -8 || e > 8 {
				return t.Cannot(fmt.Sprintf("alpha %g", a), "a power of two from 1/256 to 256, which dynamic_th is the exponent of")
			}
		}
	}
	return nil
}

// maps: the traffic class of a packet is its priority.
func maps(db map[string]table, p *qos.Port) {
	dscp, queue, group, same, toQueue := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	for d := range uint8(64) {
		if prio := p.Priority(d); prio < qos.Priorities {
			dscp[strconv.Itoa(int(d))] = strconv.Itoa(int(prio))
		}
	}
	lossy := 0
	for p.PFCMask>>lossy&1 == 1 {
		lossy++
	}
	for prio := range qos.Priorities {
		k := strconv.Itoa(prio)
		queue[k] = strconv.Itoa(queueOf(p, prio))
		toQueue[k] = queue[k]
		same[k] = k
		group[k] = strconv.Itoa(lossy)
		if p.PFCMask>>prio&1 == 1 {
			group[k] = k
		}
	}
	db["DSCP_TO_TC_MAP"] = table{mapName: dscp}
	db["TC_TO_QUEUE_MAP"] = table{mapName: queue}
	db["TC_TO_PRIORITY_GROUP_MAP"] = table{mapName: group}
	db["MAP_PFC_PRIORITY_TO_QUEUE"] = table{mapName: toQueue}
	db["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = table{mapName: same}
}

func queueOf(p *qos.Port, prio int) int {
	if q := p.PriorityToQueue[prio]; q < qos.Priorities {
		return int(q)
	}
	return prio
}

// queues fills SCHEDULER, WRED_PROFILE and QUEUE.
func queues(db map[string]table, t *dialect.Target, p *qos.Port) {
	scheduler, wred, rows := table{}, table{}, table{}
	percent := p.Percents(1)
	for q := range p.Queues {
		if !p.Used(q) {
			continue
		}
		k := strconv.Itoa(q)
		row := map[string]string{"scheduler": mapName + "." + k}
		if p.Queues[q].Strict == qos.On {
			scheduler[mapName+"."+k] = map[string]string{"type": "STRICT"}
		} else {
			scheduler[mapName+"."+k] = map[string]string{"type": "DWRR", "weight": strconv.Itoa(max(1, percent[q]))}
		}
		if queue := &p.Queues[q]; queue.ECN == qos.On {
			profile := map[string]string{"ecn": "ecn_all"}
			for _, colour := range []string{"green", "yellow", "red"} {
				profile["wred_"+colour+"_enable"] = "true"
				profile[colour+"_min_threshold"] = strconv.Itoa(int(queue.Min))
				profile[colour+"_max_threshold"] = strconv.Itoa(int(queue.Max))
				profile[colour+"_drop_probability"] = strconv.Itoa(dialect.Percent(queue.Probability))
			}
			wred[mapName+"_"+k] = profile
			row["wred_profile"] = mapName + "_" + k
		}
		for i := range t.Device.Ports {
			rows[t.Device.Ports[i].Name+"|"+k] = row
		}
	}
	db["SCHEDULER"], db["QUEUE"] = scheduler, rows
	if len(wred) > 0 {
		db["WRED_PROFILE"] = wred
	}
}

// ports fills what is a port's own.
func ports(db map[string]table, t *dialect.Target, i int) {
	p := &t.Device.Ports[i]
	put := func(name, key string, row map[string]string) {
		if db[name] == nil {
			db[name] = table{}
		}
		db[name][key] = row
	}
	row := map[string]string{"description": t.Description(i)}
	if p.MTU > 0 {
		row["mtu"] = strconv.Itoa(int(p.MTU))
	}
	if p.Speed > 0 {
		row["speed"] = strconv.FormatInt(int64(p.Speed/units.Mbps), 10)
	}
	put("PORT", p.Name, row)
	m := map[string]string{"dscp_to_tc_map": mapName, "tc_to_queue_map": mapName, "tc_to_pg_map": mapName, "pfc_to_queue_map": mapName, "pfc_to_pg_map": mapName}
	if p.PFC == qos.On {
		mask := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(dialect.Bits(p.PFCMask))), ","), "[]")
		m["pfc_enable"] = mask
		if p.Watchdog == qos.On {
			m["pfcwd_sw_enable"] = mask
			put("PFC_WD", p.Name, map[string]string{"action": cmp.Or(p.WatchdogAction, "drop"), "detection_time": strconv.Itoa(dialect.Milliseconds(p.WatchdogDetect)),
				"restoration_time": strconv.Itoa(dialect.Milliseconds(p.WatchdogRestore))})
		}
	}
	put("PORT_QOS_MAP", p.Name, m)
	if node, port, ok := strings.Cut(p.Peer, "/"); ok {
		put("DEVICE_NEIGHBOR", p.Name, map[string]string{"name": node, "port": port})
	}
	if p.CableLength > 0 {
		if db["CABLE_LENGTH"] == nil {
			db["CABLE_LENGTH"] = table{"AZURE": {}}
		}
		db["CABLE_LENGTH"]["AZURE"][p.Name] = strconv.Itoa(int(math.Ceil(float64(p.CableLength)))) + "m"
	}
	if p.PFC != qos.On {
		return
	}
	for _, prio := range dialect.Bits(p.PFCMask) {
		in := &p.Ingress[prio]
		if in.Headroom == 0 {
			continue
		}
		name := fmt.Sprintf("weir_lossless_%d", in.Headroom)
		profile := map[string]string{"pool": "ingress_lossless_pool", "size": strconv.Itoa(int(in.Headroom)), "xoff": strconv.Itoa(int(in.Headroom)), "xon": "0"}
		if t.XONOffset > 0 {
			profile["xon_offset"] = strconv.Itoa(int(t.XONOffset))
		}
		profile["dynamic_th"] = "0"
		if in.Alpha > 0 {
			profile["dynamic_th"] = strconv.Itoa(int(math.Log2(in.Alpha)))
		}
		put("BUFFER_PROFILE", name, profile)
		put("BUFFER_PG", fmt.Sprintf("%s|%d", p.Name, prio), map[string]string{"profile": name})
	}
}

func commands(t *dialect.Target, p *qos.Port) string {
	file := t.Device.Name + ".config_db.json"
	return `#!/bin/sh
# ` + t.Device.Name + `: loads ` + file + ` into SONiC. Read it before you run it.
# The fragment names ingress_lossless_pool, which must be in the switch's own
# configuration, and holds profiles for the traditional buffer model; with the
# dynamic model the switch computes headroom from CABLE_LENGTH: then leave out
# BUFFER_PROFILE and BUFFER_PG.
set -eu
sudo config load "$(dirname "$0")/` + file + `" -y
sudo counterpoll wredqueue enable || true # ECN-marked counts, on releases that have them
sudo config save -y

# Verify:
show interfaces status ` + p.Name + `
show pfc priority ` + p.Name + `
show pfcwd config
ecnconfig -l
show queue counters ` + p.Name + `
show priority-group watermark headroom
`
}
