package hostconf

import (
	"fmt"
	"net/netip"
	"strings"

	"weir/internal/cluster"
	"weir/units"
)

// nccl returns the environment of NCCL, a reason before each line.
func (r *Renderer) nccl(host int) string {
	c := r.c
	h := &c.Hosts[host]
	var b strings.Builder
	say := func(reason, name string, value any) {
		fmt.Fprintf(&b, "# %s\n%s=%v\n", reason, name, value)
	}
	fmt.Fprintf(&b, "# NCCL on %s. Written by weir render.\n", c.Nodes[h.Node].Name)
	var devices []string
	for i := range h.NICs {
		devices = append(devices, h.NICs[i].Device)
	}
	say("\"=\" asks for these names exactly; without it mlx5_1 would also take mlx5_10.", "NCCL_IB_HCA", "="+strings.Join(devices, ","))
	say("From NCCL 2.21 on these three choose the GID on every card; its index differs from card to card and from boot to boot, so none is pinned.\n"+
		"# Before 2.21 set NCCL_IB_GID_INDEX to the RoCE v2 entry of the card's IPv4 address (show_gids).", "NCCL_IB_ROCE_VERSION_NUM", 2)
	say("The cards have IPv4 addresses.", "NCCL_IB_ADDR_FAMILY", "AF_INET")
	if net := r.common(h); net != "" {
		say("The addresses of all rails; others on the same card are passed over.", "NCCL_IB_ADDR_RANGE", net)
	}
	say(fmt.Sprintf("The whole byte: DSCP %d x 4, and ECN-capable. It puts data into the lossless class.", c.QoS.RoCE().DSCP), "NCCL_IB_TC", trafficClass(&c.QoS))
	wait := units.Time(1<<c.RDMA.Timeout) * 4096 * units.Nanosecond
	say(fmt.Sprintf("4.096 us x 2^%d is %v before a resend; with the tries below a connection fails after about %v.", c.RDMA.Timeout, wait, wait*units.Time(c.RDMA.RetryCount+1)), "NCCL_IB_TIMEOUT", c.RDMA.Timeout)
	say("Tries after a timeout; 7 is the most that there is.", "NCCL_IB_RETRY_CNT", c.RDMA.RetryCount)
	say("Queue pairs of a connection: each has a source port of its own, so ECMP can spread them.", "NCCL_IB_QPS_PER_CONNECTION", c.RDMA.QPsPerConnection)
	split := 0
	if c.RDMA.SplitData {
		split = 1
	}
	say("1 splits each message over the queue pairs; 0 lets them take turns.", "NCCL_IB_SPLIT_DATA_ON_QPS", split)
	gdr := "SYS"
	reason := "GPUDirect RDMA: NICs read GPU memory however far the GPU is; a copy in host memory is slower still."
	if !c.RDMA.GPUDirect {
		gdr, reason = "LOC", "rdma.gpudirect is false: all data goes through host memory."
	}
	say(reason, "NCCL_NET_GDR_LEVEL", gdr)
	pxn := 1
	if c.NCCL.PXN {
		pxn = 0
	}
	say("0: a GPU may reach another rail through the GPU next to that rail's NIC.", "NCCL_PXN_DISABLE", pxn)
	b.WriteString("# Bootstrap uses the management network. \"^\" excludes: the rails' interfaces are not for it. Name the interface itself if there are several:\n# NCCL_SOCKET_IFNAME==bond0\nNCCL_SOCKET_IFNAME=^lo,docker,veth\n")
	if c.NCCL.Channels > 0 {
		say("nccl.channels of the cluster file.", "NCCL_MIN_NCHANNELS", c.NCCL.Channels)
	}
	if c.NCCL.Protocol != "auto" {
		say("nccl.protocol of the cluster file.", "NCCL_PROTO", c.NCCL.Protocol)
	}
	if c.NCCL.BuffSize > 0 {
		say("nccl.buffsize of the cluster file.", "NCCL_BUFFSIZE", int64(c.NCCL.BuffSize))
	}
	b.WriteString("# Verify: NCCL_DEBUG=INFO; look for \"NET/IB\", every device of the list, and \"/GDRDMA\" behind the channels.\n")
	return b.String()
}

// common returns the network that holds all addresses of a host's rails, or
// "" where that would be everything.
func (r *Renderer) common(h *cluster.Host) string {
	p := r.nets[h.NICs[0].Rail]
	for i := range h.NICs {
		q := r.nets[h.NICs[i].Rail]
		for !(p.Bits() <= q.Bits() && p.Masked().Contains(q.Addr())) {
			if p.Bits() <= 8 {
				return ""
			}
			p = netip.PrefixFrom(p.Addr(), p.Bits()-1)
		}
	}
	return p.Masked().String()
}

// pod returns what a pod needs to use the cards of a host.
func (r *Renderer) pod(host int) string {
	c := r.c
	h := &c.Hosts[host]
	gpu := "nvidia.com/gpu"
	if h.GPU != nil && h.GPU.Vendor == "amd" {
		gpu = "amd.com/gpu"
	}
	var networks []string
	for i := range h.NICs {
		networks = append(networks, fmt.Sprintf("rail-%d", h.NICs[i].Rail))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# A pod that uses all GPUs and cards of a host such as %s. Names of networks and
# of the device plugin's resource (rdma/roce) are those of the cluster: replace them.
apiVersion: v1
kind: Pod
metadata:
  name: training
  annotations:
    # One secondary network for each rail (Multus), each on its own card.
    k8s.v1.cni.cncf.io/networks: %s
spec:
  restartPolicy: Never
  containers:
    - name: worker
      image: IMAGE # the training image
      command: ["/bin/sh", "-c", "ulimit -l; exec sleep infinity"]
      securityContext:
        capabilities:
          # Registering memory pins it. With this the pod is not bound by the
          # memlock limit; without it set LimitMEMLOCK=infinity in the unit of
          # the container runtime.
          add: [IPC_LOCK]
      resources:
        limits:
`, c.Nodes[h.Node].Name, strings.Join(networks, ","))
	if h.GPUs > 0 {
		fmt.Fprintf(&b, "          %s: %d\n", gpu, h.GPUs)
	}
	fmt.Fprintf(&b, "          rdma/roce: %d\n", len(h.NICs))
	b.WriteString("      env:\n")
	for line := range strings.SplitSeq(r.nccl(host), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			fmt.Fprintf(&b, "        - {name: %s, value: %q}\n", name, value)
		}
	}
	b.WriteString(`      volumeMounts:
        - {name: shm, mountPath: /dev/shm}
  volumes:
    # NCCL shares memory between the processes of a host.
    - name: shm
      emptyDir: {medium: Memory}
# Verify in the pod: ulimit -l (unlimited), ls /dev/infiniband, show_gids or
# /sys/class/infiniband/*/ports/1/gids (the table has holes in a pod).
`)
	return b.String()
}
