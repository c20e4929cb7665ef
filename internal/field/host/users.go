package host

import (
	"regexp"
	"slices"
	"strings"

	"weir/internal/telemetry"
)

var userInfo = telemetry.MustLookup("rdma_user_info")

// user is a job or pod that holds a device open.
type user struct{ kind, id, step, namespace, name string }

// maxProcesses and maxFiles bound the search.
const (
	maxProcesses = 32768
	maxFiles     = 4096
)

// readUsers finds the jobs and pods that have a device's verbs file open: the
// control group of a process names its Slurm job or its pod.
func (a *Agent) readUsers(c *collector) error {
	verbs := map[string]string{} // uverbs0 to mlx5_0
	for _, v := range a.tree.list("sys/class/infiniband_verbs") {
		if d := a.tree.word("sys/class/infiniband_verbs/" + v + "/ibdev"); d != "" && !a.exclude[d] {
			verbs[v] = d
		}
	}
	if len(verbs) == 0 {
		return errNoDevice
	}
	pods := a.pods()
	found := map[string]map[user]bool{}
	for _, pid := range limit(a.tree.list("proc"), maxProcesses) {
		if pid[0] < '0' || pid[0] > '9' {
			continue
		}
		var devices []string
		a.tree.below("proc/"+pid+"/fd", func(t tree) {
			for _, fd := range limit(t.list("."), maxFiles) {
				if name, ok := strings.CutPrefix(t.link(fd), "/dev/infiniband/"); ok && verbs[name] != "" && !slices.Contains(devices, verbs[name]) {
					devices = append(devices, verbs[name])
				}
			}
		})
		if len(devices) == 0 {
			continue
		}
		u := a.userOf(pid, pods)
		for _, d := range devices {
			if found[d] == nil {
				found[d] = map[user]bool{}
			}
			found[d][u] = true
		}
	}
	for d, users := range found {
		for u := range users {
			c.add(userInfo, 1, d, "", u.kind, u.id, u.step, u.namespace, u.name)
		}
	}
	return nil
}

var (
	slurmPattern = regexp.MustCompile(`/job_([0-9]+)(?:/step_([0-9A-Za-z_]+))?`)
	podPattern   = regexp.MustCompile(`pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})`)
)

// userOf reads a process's control group: ".../slurmstepd.scope/job_123/step_0/..."
// or ".../kubepods-burstable-pod<uid>.slice/...".
func (a *Agent) userOf(pid string, pods map[string]user) user {
	group, err := a.tree.text("proc/" + pid + "/cgroup")
	if err != nil {
		return user{kind: "process"}
	}
	if m := slurmPattern.FindStringSubmatch(group); m != nil {
		return user{kind: "slurm", id: m[1], step: m[2]}
	}
	if m := podPattern.FindStringSubmatch(group); m != nil {
		uid := strings.ReplaceAll(m[1], "_", "-")
		if u, ok := pods[uid]; ok {
			return u
		}
		return user{kind: "pod", id: uid}
	}
	return user{kind: "process"}
}

// pods reads the names of the node's pods from the folders that the kubelet
// keeps their logs in: NAMESPACE_NAME_UID.
func (a *Agent) pods() map[string]user {
	out := map[string]user{}
	for _, dir := range a.tree.list("var/log/pods") {
		parts := strings.Split(dir, "_")
		if len(parts) == 3 {
			out[parts[2]] = user{kind: "pod", id: parts[2], namespace: parts[0], name: parts[1]}
		}
	}
	return out
}
