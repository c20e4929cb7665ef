package hostconf

// library is what the script does on every card.
const library = `
# Another root is for trying the script out on a copy of /sys and /proc.
readonly ROOT=${WEIR_ROOT:-}

say() { printf '%s\n' "$*"; }
fail() { printf 'roce-setup: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# put VALUE FILE: writes a setting of /sys or /proc if it differs.
put() {
  [ -w "$2" ] || return 0
  [ "$(cat "$2")" = "$1" ] || printf '%s\n' "$1" >"$2"
}

# netdev DEVICE PORT: the network device of a port of an RDMA device.
netdev() {
  local n
  for n in "$ROOT/sys/class/infiniband/$1/ports/$2/gid_attrs/ndevs"/*; do
    if [ -e "$n" ] && cat "$n" 2>/dev/null; then return 0; fi
  done
  for n in "$ROOT/sys/class/infiniband/$1/device/net"/*; do
    if [ -e "$n" ]; then basename "$n"; return 0; fi
  done
  fail "RDMA device $1 has no network device: is the driver loaded?"
}

# pci DEVICE: its PCI address.
pci() { basename "$(readlink -f "$ROOT/sys/class/infiniband/$1/device")"; }

host_settings() {
  # Replies come from the card that was asked: several cards may share a network.
  put 1 "$ROOT/proc/sys/net/ipv4/conf/all/arp_ignore"
  put 2 "$ROOT/proc/sys/net/ipv4/conf/all/arp_announce"
  # Loose: the route back may use another rail.
  put 2 "$ROOT/proc/sys/net/ipv4/conf/all/rp_filter"
}

# link DEVICE INTERFACE MTU
link() {
  [ "$(cat "$ROOT/sys/class/net/$2/mtu")" = "$3" ] || ip link set dev "$2" mtu "$3"
  ip link set dev "$2" up
  put 2 "$ROOT/proc/sys/net/ipv4/conf/$2/rp_filter"
  # Pause of the whole link and PFC exclude each other.
  if have ethtool; then ethtool -A "$2" rx off tx off 2>/dev/null || true; fi
}

# join SEPARATOR WORDS
join() {
  local IFS=$1
  shift
  printf '%s' "$*"
}

# queues_dcb INTERFACE: by the kernel's own interface, for every driver.
queues_dcb() {
  have dcb || fail "neither the vendor's tool nor dcb (iproute2) is installed"
  local i pfc=() tsa=() bw=() map=() prio=()
  for i in "${!PFC[@]}"; do
    if [ "${PFC[i]}" = 1 ]; then pfc+=("$i:on"); else pfc+=("$i:off"); fi
    tsa+=("$i:${TSA[i]}")
    bw+=("$i:${BANDWIDTH[i]}")
    prio+=("$i:$i")
  done
  for i in "${!PRIORITY_OF_DSCP[@]}"; do map+=("$i:${PRIORITY_OF_DSCP[i]}"); done
  dcb pfc set dev "$1" prio-pfc "${pfc[@]}"
  dcb ets set dev "$1" prio-tc "${prio[@]}" tc-tsa "${tsa[@]}" tc-bw "${bw[@]}"
  dcb app replace dev "$1" dscp-prio "${map[@]}"
  # Kernels before 6.3 have no apptrust: there a map of code points is trust enough.
  dcb apptrust set dev "$1" order dscp 2>/dev/null || true
}

# marks DEVICE PORT: what connections carry that name no traffic class.
marks() {
  # Users of rdma_cm.
  if have cma_roce_tos; then
    cma_roce_tos -d "$1" -p "$2" -t "$TRAFFIC_CLASS" >/dev/null
  elif [ -d "$ROOT/sys/kernel/config/rdma_cm" ]; then
    mkdir -p "$ROOT/sys/kernel/config/rdma_cm/$1"
    put "$TRAFFIC_CLASS" "$ROOT/sys/kernel/config/rdma_cm/$1/ports/$2/default_roce_tos"
  fi
  # Users of verbs, with the vendor's driver only; not queue pairs made through DevX.
  if [ -w "$ROOT/sys/class/infiniband/$1/tc/$2/traffic_class" ]; then
    printf '%s\n' "$TRAFFIC_CLASS" >"$ROOT/sys/class/infiniband/$1/tc/$2/traffic_class"
  fi
}

# address INTERFACE ADDRESS BITS NETWORK RAIL VLAN: the address, and a table
# of routes for what is sent from it, so that each rail answers on itself.
address() {
  local interface=$1 table=$((1000 + $5)) gateway="GATEWAY_RAIL_$5"
  if [ "$6" != 0 ]; then
    ip link show dev "$1.$6" >/dev/null 2>&1 || ip link add link "$1" name "$1.$6" type vlan id "$6" egress-qos-map 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7
    ip link set dev "$1.$6" up
    interface="$1.$6"
    put 2 "$ROOT/proc/sys/net/ipv4/conf/$interface/rp_filter"
  fi
  ip address replace "$2/$3" dev "$interface"
  ip route replace "$4" dev "$interface" src "$2" table "$table"
  if [ -n "${!gateway:-}" ]; then
    ip route replace default via "${!gateway}" dev "$interface" table "$table"
  fi
  ip rule show from "$2" 2>/dev/null | grep -q "lookup $table" || ip rule add from "$2" table "$table" priority "$table"
}
`

// drivers hold what differs by RDMA driver: queues_DRIVER DEVICE INTERFACE
// METRES and congestion_DRIVER DEVICE INTERFACE.
var drivers = map[string]string{
	"mlx5": `
queues_mlx5() {
  local d
  if ! have mlnx_qos; then queues_dcb "$2"; return; fi
  mlnx_qos -i "$2" --trust dscp >/dev/null
  for d in "${!PRIORITY_OF_DSCP[@]}"; do
    # The firmware starts with a priority for each eight code points.
    if [ "${PRIORITY_OF_DSCP[d]}" != $((d / 8)) ]; then
      mlnx_qos -i "$2" --dscp2prio "set,$d,${PRIORITY_OF_DSCP[d]}" >/dev/null
    fi
  done
  mlnx_qos -i "$2" --pfc "$PFC_LIST" >/dev/null
  mlnx_qos -i "$2" --prio_tc 0,1,2,3,4,5,6,7 --tsa "$TSA_LIST" --tcbw "$BANDWIDTH_LIST" >/dev/null
  # Headroom of the card's own receive buffer.
  mlnx_qos -i "$2" --cable_len "$3" >/dev/null
}

congestion_mlx5() {
  local setting p dir="$ROOT/sys/class/net/$2/ecn" address
  address=$(pci "$1")
  # The vendor's driver: notification and reaction point of the RoCE priority.
  for p in roce_np roce_rp; do put "$CONGESTION_CONTROL" "$dir/$p/enable/$ROCE_PRIORITY"; done
  put "$CNP_DSCP" "$dir/roce_np/cnp_dscp"
  put "$CNP_PRIORITY" "$dir/roce_np/cnp_802p_prio"
  # Every driver: debugfs, until the next reset.
  dir="$ROOT/sys/kernel/debug/mlx5/$address/cc_params"
  put "$CNP_DSCP" "$dir/np_cnp_dscp"
  put "$CNP_PRIORITY" "$dir/np_cnp_prio"
  for setting in "${DCQCN[@]}"; do put "${setting#*=}" "$dir/${setting%%=*}"; done
  [ "${WEIR_FIRMWARE:-0}" = 1 ] || return 0
  have mlxconfig || fail "WEIR_FIRMWARE=1 needs mlxconfig"
  mlxconfig -y -d "$address" set "ROCE_CC_PRIO_MASK_P1=$((CONGESTION_CONTROL << ROCE_PRIORITY))" "CNP_DSCP_P1=$CNP_DSCP" "CNP_802P_PRIO_P1=$CNP_PRIORITY"
}
`,
	"bnxt_re": `
queues_bnxt_re() {
  local d address tsa=() map=() i
  if ! have niccli; then queues_dcb "$2"; return; fi
  address=$(pci "$1")
  for i in "${!TSA[@]}"; do tsa+=("$i:${TSA[i]}"); map+=("$i:$i"); done
  niccli --dev "$address" qos --ets --tsa "$(join , "${tsa[@]}")" --up2tc "$(join , "${map[@]}")" --tcbw "$BANDWIDTH_LIST"
  if [ "${PFC[ROCE_PRIORITY]}" = 1 ]; then niccli --dev "$address" qos --pfc --enable "$ROCE_PRIORITY"; fi
  # Selector 5 is DSCP. An entry that is there already is refused: that is fine.
  for d in "$ROCE_DSCP" "$CNP_DSCP"; do
    niccli --dev "$address" qos --apptlv --add --app "${PRIORITY_OF_DSCP[d]},5,$d" || true
  done
}

congestion_bnxt_re() {
  local cc="$ROOT/sys/kernel/config/bnxt_re/$1/ports/1/cc"
  [ -d "$ROOT/sys/kernel/config/bnxt_re" ] || return 0
  mkdir -p "$ROOT/sys/kernel/config/bnxt_re/$1"
  printf '%s' "$CONGESTION_CONTROL" >"$cc/ecn_enable"
  printf '%s' "$CONGESTION_CONTROL" >"$cc/ecn_marking"
  printf '%s' "$ROCE_DSCP" >"$cc/roce_dscp"
  printf '%s' "$ROCE_PRIORITY" >"$cc/roce_prio"
  printf '%s' "$CNP_DSCP" >"$cc/cnp_dscp"
  printf '%s' "$CNP_PRIORITY" >"$cc/cnp_prio"
  printf '%s' 1 >"$cc/apply"
  rmdir "$ROOT/sys/kernel/config/bnxt_re/$1"
}
`,
	"irdma": `
# irdma has no tool of its own: the ice driver takes DCB from the kernel, with
# the card's LLDP agent off.
queues_irdma() {
  if have ethtool; then ethtool --set-priv-flags "$2" fw-lldp-agent off 2>/dev/null || true; fi
  queues_dcb "$2"
}

congestion_irdma() {
  local p="$ROOT/sys/kernel/config/irdma/$1"
  say "$1: DCQCN of irdma is set when the module loads (dcqcn_enable=$CONGESTION_CONTROL) or by $p where the driver has it"
}
`,
	"ionic": `
queues_ionic() {
  local d list=() nodrop i weights=() prios=() limits=()
  if ! have nicctl; then queues_dcb "$2"; return; fi
  nicctl update port --all --pause-type pfc --rx-pause enable --tx-pause enable
  nicctl update qos --classification-type dscp
  for d in "${!PRIORITY_OF_DSCP[@]}"; do
    nicctl update qos dscp-to-priority --dscp "$d" --priority "${PRIORITY_OF_DSCP[d]}"
  done
  for i in "${!PFC[@]}"; do
    nodrop=disable
    if [ "${PFC[i]}" = 1 ]; then nodrop=enable; fi
    nicctl update qos pfc --priority "$i" --no-drop "$nodrop"
    # Priorities that nothing uses take no queue of the card.
    for d in "${PRIORITY_OF_DSCP[@]}"; do
      if [ "$d" = "$i" ]; then
        prios+=("$i")
        weights+=("${BANDWIDTH[i]}")
        limits+=(0)
        break
      fi
    done
  done
  nicctl update qos scheduling --priority "$(join , "${prios[@]}")" --dwrr "$(join , "${weights[@]}")" --rate-limit "$(join , "${limits[@]}")"
}

congestion_ionic() {
  say "$1: DCQCN stays as the card has it: nicctl update dcqcn takes parameters of its own (nicctl show dcqcn)"
}
`,
}

var verify = map[string]string{
	"mlx5":    "mlnx_qos -i INTERFACE; cma_roce_tos -d DEV; cat /sys/class/infiniband/DEV/tc/1/traffic_class; mlxconfig -d PCI q | grep -e CNP -e ROCE_CC",
	"bnxt_re": "niccli --dev PCI qos --ets --show; dcb app show dev INTERFACE; rdma statistic show link DEV/1",
	"irdma":   "dcb pfc show dev INTERFACE; dcb app show dev INTERFACE; rdma statistic show link DEV/1",
	"ionic":   "nicctl show qos; nicctl show dcqcn; rdma statistic show link DEV/1",
}
