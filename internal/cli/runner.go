package cli

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"weir/internal/field/remote"
)

// runnerFlags say how commands reach hosts.
type runnerFlags struct{ runner, prefix, user, namespace string }

func (f *runnerFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.runner, "runner", "ssh", "how to reach hosts: ssh, slurm, kubernetes, namespaces or local")
	fs.StringVar(&f.prefix, "prefix", "", "of the names of pods or network namespaces, before the host's name")
	fs.StringVar(&f.namespace, "namespace", "", "Kubernetes namespace of the pods")
	fs.StringVar(&f.user, "user", "", "user on the hosts (ssh)")
}

func (f *runnerFlags) open() (remote.Runner, error) {
	switch f.runner {
	case "ssh":
		return f.ssh()
	case "slurm":
		return remote.Slurm(), nil
	case "kubernetes":
		return remote.Kubernetes(f.namespace, func(host string) string { return f.prefix + host }), nil
	case "namespaces":
		return remote.Namespaces(f.prefix), nil
	case "local":
		return remote.Local(), nil
	}
	return nil, refused(fmt.Errorf("--runner %s: ssh, slurm, kubernetes, namespaces or local", f.runner))
}

func (f *runnerFlags) ssh() (*remote.SSH, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, failed(err)
	}
	conf := remote.DefaultSSH(home, os.Getenv)
	if f.user != "" {
		conf.User = f.user
	}
	r, err := remote.NewSSH(conf)
	if err != nil {
		return nil, failed(fmt.Errorf("ssh: %w", err))
	}
	return r, nil
}
