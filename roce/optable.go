package roce

// Transport is the service in the high three bits of an opcode.
type Transport uint8

// The transports of table 38. CNP is not a transport of its own in the
// tables, but its opcode space (0x80) holds nothing else.
const (
	RC           Transport = 0
	UC           Transport = 1
	RD           Transport = 2
	UD           Transport = 3
	CNPSpace     Transport = 4
	XRC          Transport = 5
	Manufacturer Transport = 6 // 6 and 7
)

var transportNames = [8]string{"RC", "UC", "RD", "UD", "CNP", "XRC", "MANUFACTURER", "MANUFACTURER"}

// String returns "RC", "UC", "RD", "UD", "CNP", "XRC" or "MANUFACTURER".
func (t Transport) String() string { return transportNames[t&7] }

// opFlag is what an opcode is within a message.
type opFlag uint8

const (
	opKnown opFlag = 1 << iota
	opFirst        // begins a message (FIRST, ONLY, and single-packet operations)
	opLast         // ends one (LAST, ONLY, and single-packet operations)
	opResponse
	opPayload
)

type opInfo struct {
	name    string
	headers Headers
	flags   opFlag
	length  uint8 // bytes of the headers after the BTH
}

const (
	first   = opKnown | opFirst | opPayload
	middle  = opKnown | opPayload
	last    = opKnown | opLast | opPayload
	only    = opKnown | opFirst | opLast | opPayload
	request = opKnown | opFirst | opLast
	reply   = opKnown | opFirst | opLast | opResponse
)

// opTable says what each opcode carries (volume 1, table 38 and section 9.2.1).
// It is only read.
var opTable = makeOpTable()

func makeOpTable() (t [256]opInfo) {
	set := func(op Opcode, name string, flags opFlag, headers Headers) {
		t[op] = opInfo{name: name, flags: flags, headers: headers, length: uint8(headers.size())}
	}
	for _, c := range []struct {
		base   Opcode
		prefix string
	}{{0x00, "RC_"}, {0x20, "UC_"}} {
		set(c.base|RCSendFirst, c.prefix+"SEND_FIRST", first, 0)
		set(c.base|RCSendMiddle, c.prefix+"SEND_MIDDLE", middle, 0)
		set(c.base|RCSendLast, c.prefix+"SEND_LAST", last, 0)
		set(c.base|RCSendLastImmediate, c.prefix+"SEND_LAST_IMM", last, HasImmDt)
		set(c.base|RCSendOnly, c.prefix+"SEND_ONLY", only, 0)
		set(c.base|RCSendOnlyImmediate, c.prefix+"SEND_ONLY_IMM", only, HasImmDt)
		set(c.base|RCWriteFirst, c.prefix+"WRITE_FIRST", first, HasRETH)
		set(c.base|RCWriteMiddle, c.prefix+"WRITE_MIDDLE", middle, 0)
		set(c.base|RCWriteLast, c.prefix+"WRITE_LAST", last, 0)
		set(c.base|RCWriteLastImmediate, c.prefix+"WRITE_LAST_IMM", last, HasImmDt)
		set(c.base|RCWriteOnly, c.prefix+"WRITE_ONLY", only, HasRETH)
		set(c.base|RCWriteOnlyImmediate, c.prefix+"WRITE_ONLY_IMM", only, HasRETH|HasImmDt)
	}
	set(RCReadRequest, "RC_READ_REQUEST", request, HasRETH)
	set(RCReadResponseFirst, "RC_READ_RESP_FIRST", first|opResponse, HasAETH)
	set(RCReadResponseMiddle, "RC_READ_RESP_MIDDLE", middle|opResponse, 0)
	set(RCReadResponseLast, "RC_READ_RESP_LAST", last|opResponse, HasAETH)
	set(RCReadResponseOnly, "RC_READ_RESP_ONLY", only|opResponse, HasAETH)
	set(RCAcknowledge, "RC_ACKNOWLEDGE", reply, HasAETH)
	set(RCAtomicAcknowledge, "RC_ATOMIC_ACK", reply, HasAETH|HasAtomicAckETH)
	set(RCCompareSwap, "RC_CMP_SWAP", request, HasAtomicETH)
	set(RCFetchAdd, "RC_FETCH_ADD", request, HasAtomicETH)
	set(RCSendLastInvalidate, "RC_SEND_LAST_INV", last, HasIETH)
	set(RCSendOnlyInvalidate, "RC_SEND_ONLY_INV", only, HasIETH)
	set(UDSendOnly, "UD_SEND_ONLY", only, HasDETH)
	set(UDSendOnlyImmediate, "UD_SEND_ONLY_IMM", only, HasDETH|HasImmDt)
	set(CNP, "CNP", opKnown|opFirst|opLast, 0)
	return t
}

const hexDigits = "0123456789abcdef"

// String returns the name in capitals, such as "RC_SEND_FIRST", and
// "UNKNOWN_0x1c" for opcodes that this package does not know.
func (op Opcode) String() string {
	if n := opTable[op].name; n != "" {
		return n
	}
	return "UNKNOWN_0x" + string([]byte{hexDigits[op>>4], hexDigits[op&15]})
}

// ParseOpcode returns the opcode of a name that String prints.
func ParseOpcode(name string) (Opcode, bool) {
	for op := range opTable {
		if Opcode(op).String() == name {
			return Opcode(op), true
		}
	}
	return 0, false
}

// Known reports whether this package knows which headers follow op.
func (op Opcode) Known() bool { return opTable[op].flags&opKnown != 0 }

// Transport returns the service that op belongs to.
func (op Opcode) Transport() Transport {
	if t := Transport(op >> 5); t < Manufacturer {
		return t
	}
	return Manufacturer
}

// Headers returns the extension headers that follow the BTH; none for an
// unknown opcode.
func (op Opcode) Headers() Headers { return opTable[op].headers }

// HeaderBytes returns how many bytes those headers take, 0 to 32.
func (op Opcode) HeaderBytes() int { return int(opTable[op].length) }

// IsFirst reports whether op begins a message: FIRST, ONLY, and every
// operation of one packet.
func (op Opcode) IsFirst() bool { return opTable[op].flags&opFirst != 0 }

// IsLast reports whether op ends a message: LAST, ONLY, and every operation
// of one packet.
func (op Opcode) IsLast() bool { return opTable[op].flags&opLast != 0 }

// IsResponse reports whether a responder sends op: ACKNOWLEDGE, ATOMIC
// ACKNOWLEDGE and the READ responses. A CNP is neither request nor response.
func (op Opcode) IsResponse() bool { return opTable[op].flags&opResponse != 0 }

// IsRequest reports whether a requester sends op. Every datagram counts as one.
func (op Opcode) IsRequest() bool {
	return opTable[op].flags&(opKnown|opResponse) == opKnown && op != CNP
}

// IsReadResponse reports whether op is one of the four READ response opcodes.
func (op Opcode) IsReadResponse() bool { return op-RCReadResponseFirst <= 3 }

// HasPayload reports whether op may carry payload.
func (op Opcode) HasPayload() bool { return opTable[op].flags&opPayload != 0 }
