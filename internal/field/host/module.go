package host

import (
	"encoding/binary"
	"fmt"

	"weir/internal/telemetry"
)

var (
	moduleTemperature = telemetry.MustLookup("rdma_module_temperature_celsius")
	moduleRxPower     = telemetry.MustLookup("rdma_module_rx_power_nanowatts")
)

// readModules reads temperature and received power of every plugged module.
func (a *Agent) readModules(c *collector) error {
	return a.eachNetdev(c, "module", func(d device, p port) error {
		memory, err := a.kernel.Module(p.netdev)
		if err != nil {
			return err
		}
		m, err := parseModule(memory)
		if err != nil {
			return err
		}
		c.add(moduleTemperature, uint64(max(m.temperature, 0)), d.name, p.number, p.netdev)
		for lane, w := range m.rxPower {
			c.add(moduleRxPower, w, d.name, p.number, p.netdev, itoa(lane))
		}
		return nil
	})
}

// module is what a module's memory says.
type module struct {
	temperature int      // degrees Celsius
	rxPower     []uint64 // nanowatts, a lane each; none where the memory at hand does not hold it
}

// parseModule reads the lower page of SFF-8636 (QSFP28) and CMIS (QSFP-DD,
// OSFP) modules. CMIS keeps the power of its lanes in page 11h, which the
// kernel's old request does not return.
func parseModule(b []byte) (module, error) {
	if len(b) < 128 {
		return module{}, fmt.Errorf("%d bytes of module memory: %w", len(b), errNoNumber)
	}
	degrees := func(at int) int { return int(int16(binary.BigEndian.Uint16(b[at:]))) >> 8 }
	switch b[0] {
	case 0x0c, 0x0d, 0x11: // QSFP, QSFP+, QSFP28: SFF-8636, table 6-8
		m := module{temperature: degrees(22), rxPower: make([]uint64, 4)}
		for lane := range m.rxPower {
			m.rxPower[lane] = uint64(binary.BigEndian.Uint16(b[34+2*lane:])) * 100 // in 0.1 uW
		}
		return m, nil
	case 0x18, 0x19, 0x1e: // QSFP-DD, OSFP, QSFP with CMIS: CMIS 5, table 8-10
		return module{temperature: degrees(14)}, nil
	}
	return module{}, fmt.Errorf("module type %#02x: %w", b[0], errUnsupported)
}
