package host

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	envLine     = tool.MustCompile(`^(?:export |declare -x )?([A-Z][A-Z0-9_]*)=(.*)$`)
	shellOption = tool.MustCompile(`^set (?:[-+][a-zA-Z]+\s*)+(?:pipefail)?\s*$`)
	shebang     = tool.MustCompile(`^#! ?/\S*/(?:env (?:-\S+ )?)?(?:ba|da|k|z|a)?sh\b`)
	// "'a value' # why"
	quotedThenComment = tool.MustCompile(`^("[^"]*"|'[^']*')\s+#`)
	envKnown          = tool.MustCompile(`^(?:NCCL|RCCL|UCX|HCOLL|OMPI|PMIX|PRTE|SLURM|MLX5|CUDA|NVIDIA|NVSHMEM|HIP|HSA|ROCR|ROC|FI|GLOO|MASTER|TORCH|PYTORCH|MORI|MSCCL|SHARP|IB|RDMA|MPI|I_MPI|MV2|MC|GPU|LD_LIBRARY_PATH|LD_PRELOAD|WORLD_SIZE|RANK|LOCAL_RANK)(?:_|$)|^LD_`)
)

var environment = tool.Parser{
	Tool:     "env",
	Versions: "env, export -p, set, /etc/nccl.conf, shell scripts",
	Programs: []string{"env", "printenv"},
	Keys:     []string{"nccl.env.{name}", "env.{name}", "nccl.tc.dscp", "nccl.hca.exact", "nccl.hca.exclude", "nccl.hca.devices"},
	Recognise: func(w *tool.Window) tool.Score {
		m := envLine.FindStringSubmatch(w.First())
		switch {
		case m == nil && comment(w.First()) && commentsScript(w):
			return tool.Weak
		case m == nil:
			return tool.No
		case envKnown.MatchString(m[1]):
			return tool.Sure
		}
		return tool.Weak
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				m := envLine.FindStringSubmatch(l.Text)
				switch {
				case m == nil && comment(l.Text):
					return tool.Weak
				case m == nil:
					return tool.No
				case envKnown.MatchString(m[1]):
					return tool.Sure
				}
				return tool.Likely
			},
			Read: func(l *tool.Line, out *tool.Out) {
				ctx.Script = true
				m := envLine.FindStringSubmatch(l.Text)
				if m == nil {
					return
				}
				Variable(out, l.N, ctx.HostSubject(), m[1], unquoted(m[2]))
			},
		}
	},
}

// comment reports whether a line is a comment of a shell script or of a file
// of settings, where it stands in one, or sets options of the shell.
func comment(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t"), "#") || shellOption.MatchString(text)
}

// commentsScript reports whether the comment at line 0 stands in such a file:
// one started before, or starts here or behind the comments.
func commentsScript(w *tool.Window) bool {
	if w.Context().Script || shebang.MatchString(w.First()) {
		return true
	}
	for i := 1; i < w.Len(); i++ {
		t := w.Line(i)
		if strings.TrimSpace(t) == "" || comment(t) {
			continue
		}
		m := envLine.FindStringSubmatch(t)
		return m != nil && envKnown.MatchString(m[1])
	}
	return false
}

// unquoted returns the value as a shell takes it, without quotes and without
// the comment behind it.
func unquoted(v string) string {
	v = strings.TrimSpace(v)
	if v != "" && v[0] != '"' && v[0] != '\'' {
		if i := strings.Index(v, " #"); i >= 0 {
			v = strings.TrimSpace(v[:i])
		}
	} else if m := quotedThenComment.FindStringSubmatch(v); m != nil {
		v = m[1]
	}
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
		return v[1 : len(v)-1]
	}
	return v
}

// Variable puts out an environment variable. NCCL's have keys of their own,
// and what a value means for the network is told beside it.
func Variable(out *tool.Out, n int, s fact.Subject, name, value string) {
	if !strings.HasPrefix(name, "NCCL_") && !strings.HasPrefix(name, "RCCL_") {
		if envKnown.MatchString(name) {
			out.Text(n, s, "env."+name, secretless(name, value))
		}
		return
	}
	out.Text(n, s, "nccl.env."+name, value)
	switch name {
	case "NCCL_IB_TC":
		if tc, err := strconv.ParseUint(value, 10, 8); err == nil {
			out.Uint(n, s, "nccl.tc.dscp", tc>>2)
		}
	case "NCCL_IB_HCA":
		list := value
		exclude := strings.HasPrefix(list, "^")
		list = strings.TrimPrefix(list, "^")
		exact := strings.HasPrefix(list, "=")
		list = strings.TrimPrefix(list, "=")
		out.Bool(n, s, "nccl.hca.exclude", exclude)
		out.Bool(n, s, "nccl.hca.exact", exact)
		out.List(n, s, "nccl.hca.devices", strings.FieldsFunc(list, func(c rune) bool { return c == ',' }))
	}
}

// secretless hides what looks like a credential.
func secretless(name, value string) string {
	for _, w := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "CREDENTIAL"} {
		if strings.Contains(name, w) {
			return "(hidden)"
		}
	}
	return value
}

// launchers start a job on several nodes; tests are started by them or alone.
var (
	launchers = []string{"mpirun", "mpiexec", "prterun", "srun", "torchrun", "deepspeed", "docker run", "podman run", "kubectl exec", "python -m torch.distributed"}
	programs  = tool.MustCompile(`^(?:all_reduce|all_gather|reduce_scatter|alltoall|all_to_all|broadcast|reduce|sendrecv|scatter|gather|hypercube)_perf(?:_mpi)?$|^(?:alltoall|sendrecv)_perf|^ib_(?:write|read|send|atomic)_(?:bw|lat)$|^ucx_perftest$|^raw_ethernet_\w+$`)
)

var commandLine = tool.Parser{
	Tool:     "command line",
	Versions: "shell, mpirun, mpiexec, srun, torchrun, docker",
	Programs: append(slicesOf(launchers), "NCCL_DEBUG=INFO", "ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat"),
	Keys:     []string{"nccl.env.{name}", "env.{name}", "nccl.tc.dscp", "nccl.hca.exact", "nccl.hca.exclude", "nccl.hca.devices", "command.program", "command.line"},
	Command: func(ctx *tool.Context, l *tool.Line, out *tool.Out) {
		job := false
		s := ctx.HostSubject()
		w := ctx.Command
		for i, word := range w {
			base := word[strings.LastIndexByte(word, '/')+1:]
			switch name, value, ok := strings.Cut(word, "="); {
			case programs.MatchString(base):
				out.Text(l.N, s, "command.program", base)
				job = true
			case word == "--export" && i+1 < len(w), name == "--export" && ok:
				if !ok {
					value = w[i+1]
				}
				for _, v := range strings.Split(value, ",") {
					job = assignment(out, l.N, s, v) || job
				}
			case ok && i > 0 && (w[i-1] == "-genv" || w[i-1] == "-env"), ok:
				job = assignment(out, l.N, s, word) || job
			case i > 1 && (w[i-2] == "-genv" || w[i-2] == "-env") && envKnown.MatchString(w[i-1]):
				Variable(out, l.N, s, w[i-1], word)
				job = true
			}
		}
		if job {
			out.Text(l.N, s, "command.line", tool.Kept(strings.Join(w, " ")))
		}
	},
}

func slicesOf(list []string) []string { return append([]string(nil), list...) }

func assignment(out *tool.Out, n int, s fact.Subject, word string) bool {
	m := envLine.FindStringSubmatch(word)
	if m == nil || !envKnown.MatchString(m[1]) {
		return false
	}
	Variable(out, n, s, m[1], m[2])
	return true
}
