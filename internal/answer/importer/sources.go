package importer

import (
	"context"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence"
	"weir/internal/field/evidence/tool"
	"weir/internal/field/inventory"
)

// Sources is what was read.
type Sources struct {
	Graphs        []*inventory.Graph
	Configs       []tool.Config
	Facts         []fact.Fact
	NotUnderstood []fact.NotUnderstood
	Refused       []evidence.Refusal

	roots []string // of the arguments, to tell a device's name from a path
}

// Gather reads files, directories, archives and, for "-", standard input.
func Gather(ctx context.Context, names []string, stdin io.Reader) (*Sources, error) {
	s := &Sources{}
	var rest []evidence.Input
	for _, name := range names {
		s.roots = append(s.roots, filepath.ToSlash(filepath.Clean(name)))
		for _, in := range evidence.Inputs(name, stdin) {
			text, again, err := in.Whole(maxWhole)
			if err == nil && text != nil {
				if g := inventory.Read(text, in.Name); g != nil {
					s.Graphs = append(s.Graphs, g)
					continue
				}
			}
			rest = append(rest, again)
		}
	}
	read, err := evidence.Read(ctx, evidence.Parsers(), rest...)
	if err != nil {
		return nil, err
	}
	s.Configs, s.Facts, s.NotUnderstood, s.Refused = read.Configs, read.Facts, read.NotUnderstood, read.Refused
	return s, nil
}

// maxWhole bounds what is looked at as an inventory; larger inputs go to the
// parsers of tools, which read them in a stream.
const maxWhole = 64 << 20

// places are directories of collections, and of trees of a machine, that are no
// device's name.
var places = []string{"hosts", "switches", "nodes", "evidence", "bundle", "configs", "servers", "lldp", "facts", "outputs", "before", "after", "state"}
var trees = []string{"sys", "proc", "etc", "host", "files"}

// outputs are names of files that say what they hold, not whose it is.
var outputs = []string{"lldpctl", "lldp", "ibv_devinfo", "rdma", "ethtool", "show_gids", "mlnx_qos", "nvidia-smi", "topo", "config_db", "minigraph", "running-config", "running", "config", "show", "ip", "lspci", "dmesg", "sysctl", "env", "ibstat", "dcb", "state", "facts"}

// deviceOf tells whose a source is by its path: the directory below the
// argument that is not a collection, else the file's name up to the first dot or
// underscore, else the argument itself.
func (s *Sources) deviceOf(source string) string {
	source = filepath.ToSlash(source)
	archive, member, in := strings.Cut(source, ":")
	rel, root := source, ""
	if in && strings.Contains(path.Base(archive), ".") {
		rel = member
	} else {
		for _, r := range s.roots {
			if rest, ok := strings.CutPrefix(source, r+"/"); ok {
				rel, root = rest, r
			} else if source == r {
				rel, root = path.Base(r), path.Dir(r)
			}
		}
	}
	parts := strings.Split(strings.TrimPrefix(rel, "./"), "/")
	for i, p := range parts[:len(parts)-1] {
		if slices.Contains(trees, p) {
			break
		}
		if p != "" && p != "." && !slices.Contains(places, p) && !(i == 0 && len(parts) > 2 && strings.Contains(p, "bundle")) {
			return p
		}
	}
	stem, _, _ := strings.Cut(parts[len(parts)-1], ".")
	if i := strings.IndexByte(stem, '_'); i > 0 {
		if !slices.Contains(outputs, stem) && !slices.Contains(outputs, stem[:i]) {
			stem = stem[:i]
		}
	}
	low := strings.ToLower(stem)
	if !slices.ContainsFunc(outputs, func(o string) bool { return low == o || strings.HasPrefix(low, o+"_") || strings.HasPrefix(low, o+"-") }) && len(parts) == 1 {
		return stem
	}
	if root != "" && root != "." {
		return path.Base(root)
	}
	return ""
}
