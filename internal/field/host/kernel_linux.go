package host

import (
	"errors"
	"fmt"
	"net"

	"github.com/mdlayher/ethtool"
	"github.com/mdlayher/netlink"
	ioctl "github.com/safchain/ethtool"
	rdma "github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// System returns the kernel of this machine. It opens a socket for each
// request and holds none.
func System() Kernel { return system{} }

type system struct{}

func (system) EthtoolStats(netdev string) (map[string]uint64, error) {
	e, err := ioctl.NewEthtool()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.Stats(netdev)
}

func (system) Module(netdev string) ([]byte, error) {
	e, err := ioctl.NewEthtool()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.ModuleEeprom(netdev)
}

func (system) RDMAStatistics(device string) (map[uint32]map[string]uint64, error) {
	link, err := rdma.RdmaLinkByName(device)
	if err != nil {
		return nil, err
	}
	stats, err := rdma.RdmaStatistic(link)
	if err != nil {
		return nil, err
	}
	out := map[uint32]map[string]uint64{}
	for _, p := range stats.RdmaPortStatistics {
		out[p.PortIndex] = p.Statistics
	}
	return out, nil
}

func (system) FEC(netdev string) (active, configured string, err error) {
	c, err := ethtool.New()
	if err != nil {
		return "", "", err
	}
	defer c.Close()
	f, err := c.FEC(ethtool.Interface{Name: netdev})
	if err != nil {
		return "", "", err
	}
	configured = f.Modes.String()
	if f.Auto {
		configured = "auto"
	}
	return f.Active.String(), configured, nil
}

// PFC asks the kernel's DCB interface, as dcb pfc show does.
func (system) PFC(netdev string) (uint8, error) {
	if len(netdev) >= unix.IFNAMSIZ {
		return 0, fmt.Errorf("%q: %w", netdev, unix.EINVAL)
	}
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := net.InterfaceByName(netdev); err != nil {
		return 0, unix.ENODEV
	}
	data, err := dcbRequest(netdev)
	if err != nil {
		return 0, err
	}
	answers, err := c.Execute(netlink.Message{Header: netlink.Header{Type: unix.RTM_GETDCB, Flags: netlink.Request}, Data: data})
	if err != nil {
		return 0, err
	}
	for _, m := range answers {
		if mask, ok, err := dcbPFC(m.Data); err != nil || ok {
			return mask, err
		}
	}
	return 0, errors.ErrUnsupported
}
