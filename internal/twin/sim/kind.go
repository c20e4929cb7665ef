package sim

// kind of an event. At one node and time, lower kinds come first.
type kind uint8

const (
	kindArrive  kind = iota // head of a port's data lane has come in; index: receiving port
	kindControl             // head of a port's control lane has come in; index: receiving port
)
