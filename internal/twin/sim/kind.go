package sim

// kind of an event. At one node and time, lower kinds come first.
type kind uint8

const (
	kindAction   kind = iota // a planned change of the fabric (action.go), at node 0 and so before all else; index: which
	kindArrive               // the head of a data lane has come in; index: receiving port
	kindControl              // the head of a control lane has come in; index: receiving port
	kindWake                 // a port may send; index: port
	kindDrain                // a NIC's receive buffer may have fallen to XON; index: port
	kindTimer                // a queue pair's retransmission timer; index: queue pair
	kindDoorbell             // a posted message reaches its NIC; index: queue pair
	kindDeliver              // messages have reached a host's memory; index: NIC
	kindFlow                 // a flow starts; index: flow
	kindExec                 // the executor of collectives (exec.go); index: what and whom
	kindRefresh              // a switch's XOFF is to be renewed; index: 8 x port + priority
	kindCredits              // credits have come back to a port that waits for them (credits.go); index: port
	kindTCP                  // the event of a socket (tcp.go); index: what and whom
	kindWatchdog             // a switch port's watchdog looks; index: port
)
