package host

import (
	"encoding/binary"
	"fmt"
)

var nativeOrder = binary.NativeEndian

// The kernel's DCB messages (include/uapi/linux/dcbnl.h): a header of four
// bytes (family, command, padding), then attributes.
const (
	dcbCmdIEEEGet   = 21
	dcbAttrIfname   = 1
	dcbAttrIEEE     = 13
	dcbAttrIEEEPFC  = 2
	dcbAttrIDMask   = 0x3fff // without the flags for nesting and byte order
	dcbAttrOverhead = 4
)

// dcbRequest asks for the IEEE settings of a net device.
func dcbRequest(netdev string) ([]byte, error) {
	if netdev == "" || len(netdev) > 15 {
		return nil, fmt.Errorf("%q is not a net device", netdev)
	}
	b := []byte{0, dcbCmdIEEEGet, 0, 0}
	n := len(netdev) + 1
	b = nativeOrder.AppendUint16(b, uint16(dcbAttrOverhead+n))
	b = nativeOrder.AppendUint16(b, dcbAttrIfname)
	b = append(append(b, netdev...), 0)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b, nil
}

// dcbPFC finds struct ieee_pfc in an answer: pfc_cap, pfc_en, mbc ... and
// returns pfc_en, a bit for each priority.
func dcbPFC(data []byte) (mask uint8, ok bool, err error) {
	if len(data) < 4 {
		return 0, false, fmt.Errorf("DCB answer of %d bytes", len(data))
	}
	ieee, err := attribute(data[4:], dcbAttrIEEE)
	if err != nil || ieee == nil {
		return 0, false, err
	}
	pfc, err := attribute(ieee, dcbAttrIEEEPFC)
	if err != nil || len(pfc) < 2 {
		return 0, false, err
	}
	return pfc[1], true, nil
}

// attribute returns the value of the first attribute of a type, nil without one.
func attribute(b []byte, id uint16) ([]byte, error) {
	for len(b) >= dcbAttrOverhead {
		n := int(nativeOrder.Uint16(b))
		if n < dcbAttrOverhead || n > len(b) {
			return nil, fmt.Errorf("DCB attribute of %d bytes in %d", n, len(b))
		}
		if nativeOrder.Uint16(b[2:])&dcbAttrIDMask == id {
			return b[dcbAttrOverhead:n], nil
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil, nil
}
