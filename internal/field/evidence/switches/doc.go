// Package switches reads what switches print: show and display commands,
// counter databases, management interfaces (OpenConfig, SNMP) and whole
// configurations, which the dialect packages understand.
//
// Whatever the vendor calls a counter, the fact has the key of the vocabulary
// ("pfc.rx_frames" of subject "Ethernet1/1/3": priority 3 of that port) and,
// where the metric table has it, the metric's name as origin.
package switches

import (
	"slices"

	"weir/internal/field/evidence/tool"
)

// Parsers returns the parsers of this package. Those of configurations come
// last: a table is surer than a statement.
func Parsers() []tool.Parser {
	return slices.Concat(
		sonicTables(),
		[]tool.Parser{sonicProfiles, sonicPolling, sonicCounters, minigraph},
		[]tool.Parser{nvueTree, nvueJSON, netqFilters, netqReasons},
		[]tool.Parser{nxosPFC, nxosPFCJSON, nxosQueuing, nxosWatchdog, nxosModule},
		[]tool.Parser{eosPFC, eosPFCStatus, eosPFCJSON, eosWatchdogJSON, eosECNJSON},
		[]tool.Parser{onyxRoCE, huaweiPFC, huaweiBuffer, huaweiAIECN, h3cPFC, junosPFC, openConfig, snmpWalk},
		lldpParsers(),
		configurations(),
	)
}
