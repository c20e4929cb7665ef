//go:build !linux

package host

// System returns the kernel of this machine, which tells nothing: RDMA
// counters are Linux'.
func System() Kernel { return system{} }

type system struct{}

func (system) EthtoolStats(string) (map[string]uint64, error) { return nil, errUnsupported }
func (system) RDMAStatistics(string) (map[uint32]map[string]uint64, error) {
	return nil, errUnsupported
}
func (system) PFC(string) (uint8, error)          { return 0, errUnsupported }
func (system) FEC(string) (string, string, error) { return "", "", errUnsupported }
func (system) Module(string) ([]byte, error)      { return nil, errUnsupported }
