package fault

import (
	"fmt"
	"strings"
)

// Reference returns docs/faults.md: the table of faults, generated.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(`# Faults of the simulated fabric

Generated from the table of internal/twin/fault (` + "`WEIR_UPDATE=1 go test ./internal/twin/fault`" + `); ` + "`weir simulate --list-faults`" + ` prints it.

    weir simulate examples/incast-8to1.yaml --fault pfc-storm@host-3/nic-0,start=1ms,end=3ms

A fault is ` + "`ID@PLACE,start=TIME,end=TIME,severity=0..1`" + `, repeatable, or stands in the file's ` + "`faults:`" + `. The id is that of
the cause. Without a start it acts from the beginning, without an end to the end; at its end its effect is undone, as far
as that is physical: a deadlock stays. Each size of a collective is a run of its own, with the fault's times counted from
its start. A place is a node (leaf-2), a nic (host-7/nic-3), a port (leaf-2/port-5), a link (leaf-2~spine-1) or fabric; a
node, where ports are meant, stands for all of them, and a nic or port for both ends of its cables.

A run whose fabric stands still for 50 ms with pauses in force (or longer, if a watchdog may still act) ends as stalled.

Assumptions, none of them measured: routes go around a dead link 500 us after it went; a corrupting link has 12 bits a
frame corrected by FEC, all on one lane; a port that takes 1500 bytes refuses frames above 1518.

| id | places | severity (default) | effect | moves |
|---|---|---|---|---|
`)
	for _, k := range Table() {
		severity := "-"
		if k.Severity != "" {
			severity = fmt.Sprintf("%s (%g)", k.Severity, k.Default)
		}
		effect := k.Effect
		if k.Static {
			effect += "; for the whole run"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.ID, k.PlaceNames(), severity, effect, strings.Join(k.Moves, ", "))
	}
	return []byte(b.String())
}
