package tool

import (
	"strconv"
	"strings"

	"weir/internal/fact"
)

// A Context is what is known around a run of a tool.
type Context struct {
	Source string // file name, "-" for standard input, or "bundle.tar.gz:member"
	// Path is the slash-separated path of the file or archive member, for
	// trees such as /sys, whose files say nothing but a number.
	Path string
	// Host is the machine, from the caller, a shell prompt or a prefix; "" unknown.
	Host string
	// Rank from a prefix; "" unknown.
	Rank string
	// Command is the command line that printed the text, in words, from the
	// caller or a prompt; nil unknown.
	Command []string
	// Script tells that a "#!" line or a variable of a settings file came before:
	// a line that starts with "#" is a comment.
	Script bool
	// Runs counts the runs of tests in the source; nil: not counted.
	Runs map[string]int
}

// Test returns the subject of a further run of a test program: its name, with
// #2, #3 ... for runs after the first one in the source.
func (c *Context) Test(program string) fact.Subject {
	if c.Runs != nil {
		c.Runs[program]++
		if n := c.Runs[program]; n > 1 {
			program += "#" + strconv.Itoa(n)
		}
	}
	return fact.Subject{Kind: fact.Test, Host: c.Host, Name: program}
}

// Ran reports whether the command is known and is the named program, with or
// without path and sudo.
func (c *Context) Ran(program string) bool { return len(c.Args(program)) > 0 }

// Args returns the command's words from the named program on, or nil.
func (c *Context) Args(program string) []string {
	for i, w := range c.Command {
		if w == program || strings.HasSuffix(w, "/"+program) {
			return c.Command[i:]
		}
	}
	return nil
}

// After returns the word behind the first of the given words ("-i", "dev",
// "interface") in the command, or "".
func (c *Context) After(words ...string) string {
	for i, w := range c.Command {
		for _, want := range words {
			if w == want && i+1 < len(c.Command) {
				return c.Command[i+1]
			}
			if v, ok := strings.CutPrefix(w, want+"="); ok {
				return v
			}
		}
	}
	return ""
}

// NIC returns the subject of an RDMA device or network interface. A device
// with port, "mlx5_0/1", is the device itself for port 1, and keeps the
// port otherwise ("mlx5_0/2").
func (c *Context) NIC(name string) fact.Subject {
	return fact.Subject{Kind: fact.NIC, Host: c.Host, Name: strings.TrimSuffix(name, "/1")}
}

// HostSubject returns the machine itself.
func (c *Context) HostSubject() fact.Subject {
	return fact.Subject{Kind: fact.Host, Host: c.Host, Name: c.Host}
}

// GPU returns the subject of a GPU by its index.
func (c *Context) GPU(index string) fact.Subject {
	return fact.Subject{Kind: fact.GPU, Host: c.Host, Name: index}
}

// Switch returns the switch itself.
func (c *Context) Switch() fact.Subject {
	return fact.Subject{Kind: fact.Switch, Host: c.Host, Name: c.Host}
}

// Port returns the subject of a switch port.
func (c *Context) Port(name string) fact.Subject {
	return fact.Subject{Kind: fact.Port, Host: c.Host, Name: name}
}

// Queue returns the subject "port/queue" of a switch: a queue, a priority
// group or a priority of a port.
func (c *Context) Queue(port, queue string) fact.Subject {
	return fact.Subject{Kind: fact.Queue, Host: c.Host, Name: port + "/" + queue}
}
