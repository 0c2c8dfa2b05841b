package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// attack is one thing a hostile program tries, with every wall that stops it.
type attack struct {
	name string
	// probe returns the probe's name and arguments.
	probe func(c *cell) []string
	// walls stop the attack, each of them alone.
	walls []string
	// aside are walls that would stop the attack too, but only in part or by accident. They are
	// out of the way whenever a wall is tried alone.
	aside []string
	// root is for attacks that only a jail started by root can be shown to stop.
	root bool
	// counted is the kind that a refused socket must be counted as.
	counted string
}

// Sets of walls that come and go together.
var (
	domain     = []string{wallTCP, wallScope} // any Landlock domain keeps its members from tracing others
	privileges = []string{wallUser, wallCapabilities}
)

func with(sets ...[]string) []string { return slices.Concat(sets...) }

// TestAttacks shows of each attack that the jail stops it, that each of its walls does so alone,
// and that it works once they are all gone. Without the last, the first would prove nothing.
func TestAttacks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	tried := 0
	for _, a := range slices.Concat(fileAttacks(), processAttacks(), networkAttacks(), callAttacks()) {
		if a.root && !Probe().has(wallUser) {
			continue
		}
		tried++
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.try(t, l)
		})
	}
	if tried == 0 {
		t.Fatal("no attack was tried")
	}
}

func (a attack) try(t *testing.T, l *lab) {
	walls := standing(a.walls)
	if len(walls) == 0 {
		t.Fatalf("none of %q stands here", a.walls)
	}
	worked, state := a.against(t, l, nil)
	if worked {
		t.Error("it works in the whole jail")
	}
	if got := state.Sockets.Denied[a.counted]; a.counted != "" && got == 0 {
		t.Errorf("no denied socket of kind %q is counted: %+v", a.counted, state.Sockets)
	}
	if a.stoppedOutside(t, l) {
		return
	}
	for i, wall := range walls {
		others := slices.Delete(slices.Clone(walls), i, i+1)
		if worked, _ := a.against(t, l, with(others, standing(a.aside))); worked {
			t.Errorf("wall %q alone does not stop it", wall)
		}
	}
	if worked, _ := a.against(t, l, with(walls, standing(a.aside))); !worked {
		t.Errorf("it does not work without %q either, so it shows nothing", walls)
	}
}

// stoppedOutside reports whether the attack does not even work outside of every jail. That can only
// be where the tests themselves run under a seccomp program, as in a container.
func (a attack) stoppedOutside(t *testing.T, l *lab) bool {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	check(t, err)
	if !strings.Contains(string(status), "\nSeccomp:\t2\n") {
		return false
	}
	c := l.cell(t)
	out, err := exec.Command(l.binary, append([]string{"probe"}, a.probe(c)...)...).CombinedOutput()
	if err != nil {
		t.Logf("the surroundings stop it too: %v, %s", err, out)
	}
	return err != nil
}

func (a attack) against(t *testing.T, l *lab, without []string) (bool, ExitState) {
	t.Helper()
	c := l.cell(t)
	c.policy.Without = without
	args := a.probe(c)
	return c.probe(args[0], args[1:]...)
}

// standing returns those of walls that are here. A process that is not root has no capability that
// taking them away could protect.
func standing(walls []string) []string {
	here := Probe()
	var out []string
	for _, w := range walls {
		if here.has(w) && (w != wallCapabilities || root()) {
			out = append(out, w)
		}
	}
	return out
}

// on makes a probe of a name and fixed arguments.
func on(args ...string) func(*cell) []string { return func(*cell) []string { return args } }

func fileAttacks() []attack {
	file := func(c *cell) string { return filepath.Join(c.open, "file") }
	return []attack{
		{name: "write_in_tree", walls: []string{wallFiles}, probe: func(c *cell) []string { return []string{"append", file(c)} }},
		{name: "truncate_in_tree", walls: []string{wallFiles}, probe: func(c *cell) []string { return []string{"truncate", file(c)} }},
		{name: "remove_in_tree", walls: []string{wallFiles}, probe: func(c *cell) []string { return []string{"remove", file(c)} }},
		{name: "create_in_tree", walls: []string{wallFiles}, probe: func(c *cell) []string { return []string{"create", c.open} }},
		{name: "mkdir_in_tree", walls: []string{wallFiles}, probe: func(c *cell) []string { return []string{"mkdir", c.open} }},
		{name: "symlink_in_tree", walls: []string{wallFiles}, probe: func(c *cell) []string { return []string{"symlink", c.open} }},
		{name: "fifo_in_tree", walls: []string{wallFiles}, probe: func(c *cell) []string { return []string{"fifo", c.open} }},
		{name: "move_out_of_tree", walls: []string{wallFiles}, probe: func(c *cell) []string {
			return []string{"rename", file(c), filepath.Join(c.home, "taken")}
		}},
		{name: "link_into_home", walls: []string{wallFiles}, probe: func(c *cell) []string {
			return []string{"link", file(c), filepath.Join(c.home, "taken")}
		}},
		{name: "read_elsewhere", walls: []string{wallFiles}, probe: func(c *cell) []string {
			return []string{"read", c.write(filepath.Join(c.dir, "plain"), "content", 0o644)}
		}},
		{name: "list_elsewhere", walls: []string{wallFiles}, probe: func(c *cell) []string { return []string{"list", c.dir} }},
		{name: "write_elsewhere", walls: []string{wallFiles}, probe: func(c *cell) []string {
			return []string{"append", c.write(filepath.Join(c.dir, "command"), "content", 0o666)}
		}},
		{name: "run_elsewhere", walls: []string{wallFiles}, probe: func(c *cell) []string {
			return []string{"run", c.write(filepath.Join(c.dir, "tool"), "#!/bin/true\n", 0o755)}
		}},
		{name: "read_private_file", root: true, walls: []string{wallUser, wallFiles}, probe: func(c *cell) []string {
			return []string{"read", c.write(filepath.Join(c.dir, "key"), secret, 0o600)}
		}},
		{name: "write_file_of_root", root: true, walls: []string{wallUser, wallFiles}, probe: func(c *cell) []string {
			return []string{"append", c.write(filepath.Join(c.dir, "passwd"), "content", 0o644)}
		}},
	}
}

func processAttacks() []attack {
	victim := func(probe string) func(*cell) []string {
		return func(c *cell) []string { return []string{probe, c.victim()} }
	}
	setuid := func(probe string) func(*cell) []string {
		return func(c *cell) []string {
			tool := filepath.Join(c.open, "setuid")
			program, err := os.ReadFile(c.lab.binary)
			check(c.t, err)
			return []string{probe, c.write(tool, string(program), 0o755|os.ModeSetuid)}
		}
	}
	// Seccomp and Landlock need no-new-privileges, so they go with it.
	unneeded := with([]string{wallFiles, wallBroker, wallSocketCap}, domain, callWalls())
	return []attack{
		{name: "environ_of_parent", probe: victim("environ_of"), walls: with(privileges, []string{wallFiles}), aside: domain},
		{name: "memory_of_parent", probe: victim("memory_of"), walls: with(privileges, []string{wallFiles}), aside: domain},
		{name: "maps_of_parent", probe: victim("maps_of"), walls: with(privileges, []string{wallFiles}), aside: domain},
		{name: "descriptors_of_parent", probe: victim("fds_of"), walls: []string{wallUser, wallFiles}, aside: with(domain, []string{wallCapabilities})},
		{name: "trace_parent", probe: victim("trace"), walls: with(privileges, []string{wallTrace, wallFiles}), aside: domain},
		{name: "read_memory_of_parent", probe: victim("read_memory"), walls: with(privileges, []string{wallTrace, wallFiles}), aside: domain},
		{name: "take_descriptor_of_parent", probe: victim("take_descriptor"), walls: with(privileges, []string{wallTrace, wallFiles}), aside: domain},
		{name: "limit_parent", probe: victim("limit_other"), walls: []string{wallUser, wallTrace}},
		{name: "signal_parent", probe: victim("signal"), walls: []string{wallUser, wallScope}},
		{name: "own_environment", probe: on("own_environ"), walls: []string{wallEnvironment}},
		{name: "inherited_descriptor", walls: []string{wallDescriptors}, probe: func(c *cell) []string {
			f, err := os.Open(c.write(filepath.Join(c.dir, "secret"), secret, 0o600))
			check(c.t, err)
			fd, err := unix.Dup(int(f.Fd())) // not closed on exec
			check(c.t, err)
			check(c.t, f.Close())
			c.t.Cleanup(func() { unix.Close(fd) })
			return []string{"read_descriptor", strconv.Itoa(fd)}
		}},
		{name: "setuid_program", root: true, probe: setuid("become_root"), walls: []string{wallPrivileges}, aside: with(unneeded, []string{wallCapabilities})},
		{name: "capabilities_of_setuid_program", root: true, probe: setuid("gain_capabilities"),
			walls: []string{wallPrivileges, wallCapabilities}, aside: unneeded},
		{name: "terminal_of_caller", walls: []string{wallUser, wallFiles}, probe: func(c *cell) []string {
			return []string{"append", c.terminal()}
		}},
		{name: "fork", root: true, probe: on("fork", "60"), walls: []string{wallLimits}},
		{name: "big_file", walls: []string{wallLimits}, probe: func(c *cell) []string {
			return []string{"big_file", filepath.Join(c.home, "big"), strconv.Itoa(2 << 20)}
		}},
		{name: "many_descriptors", probe: on("many_descriptors", "200"), walls: []string{wallLimits}},
	}
}

func networkAttacks() []attack {
	evil := func(probe ...string) func(*cell) []string {
		return func(c *cell) []string { return append(probe, serve(c.t, "tcp4", "127.0.0.1:0", "EVIL").address) }
	}
	samePort := func(c *cell) []string {
		port := c.gateway.address[strings.LastIndex(c.gateway.address, ":"):]
		return []string{"tcp", serve(c.t, "tcp4", "127.0.0.2"+port, "EVIL").address}
	}
	socket := func(domain, kind, protocol int) func(*cell) []string {
		return on("socket", strconv.Itoa(domain), strconv.Itoa(kind), strconv.Itoa(protocol))
	}
	named := func(network, name, probe string) func(*cell) []string {
		return func(c *cell) []string {
			path := filepath.Join(c.dir, name)
			if network == "unix" {
				serve(c.t, network, path, "EVIL")
			} else {
				sink(c.t, network, path, "EVIL")
			}
			check(c.t, os.Chmod(path, 0o660))
			check(c.t, os.Chown(path, os.Getuid(), os.Getgid()))
			return []string{probe, path}
		}
	}
	fastOpen := func(way string) attack {
		return attack{name: "fast_open_by_" + way, probe: evil("fast_open", way), walls: []string{wallFastOpen, wallBroker}, aside: []string{wallTCP}}
	}
	kernel := with(privileges, domain) // root may do what these walls are not about
	return []attack{
		{name: "tcp_elsewhere", probe: evil("tcp"), walls: []string{wallBroker, wallTCP}},
		// Landlock knows ports, not addresses: with that wall alone the attack works.
		{name: "tcp_elsewhere_same_port", probe: samePort, walls: []string{wallBroker}},
		{name: "mptcp", probe: evil("mptcp"), walls: []string{wallSockets, wallBroker}, aside: []string{wallTCP}, counted: "mptcp"},
		fastOpen("sendto"), fastOpen("sendmsg"), fastOpen("sendmmsg"),
		{name: "fast_open_connect", probe: on("fast_open_connect"), walls: []string{wallFastOpen}},
		{name: "reconnect", probe: evil("reconnect"), walls: []string{wallBroker}, aside: []string{wallTCP}},
		{name: "udp", walls: []string{wallSockets}, counted: "udp", probe: func(c *cell) []string {
			return []string{"udp", sink(c.t, "udp4", "127.0.0.1:0", "EVIL")}
		}},
		{name: "ping", root: true, probe: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), walls: []string{wallSockets}, aside: kernel, counted: "icmp"},
		{name: "raw", root: true, probe: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP), walls: []string{wallSockets}, aside: kernel, counted: "raw"},
		{name: "packet", root: true, probe: socket(unix.AF_PACKET, unix.SOCK_RAW, 0), walls: []string{wallSockets}, aside: kernel, counted: "packet"},
		{name: "netlink", probe: socket(unix.AF_NETLINK, unix.SOCK_RAW, 0), walls: []string{wallSockets}, counted: "netlink"},
		{name: "engine_socket", probe: named("unix", "docker.sock", "unix_stream"), walls: []string{wallUser, wallSockets, wallBroker}, counted: "unix"},
		{name: "abstract_socket", walls: []string{wallSockets, wallBroker, wallScope}, counted: "unix", probe: func(c *cell) []string {
			return []string{"unix_stream", serve(c.t, "unix", "@"+c.dir, "EVIL").address}
		}},
		{name: "datagram_from_pair", probe: named("unixgram", "log", "unix_pair"), walls: []string{wallUser, wallSockets}},
		{name: "listen", probe: on("listen"), walls: []string{wallSockets}, aside: []string{wallTCP, wallBroker}},
		{name: "flood", walls: []string{wallSocketCap}, probe: func(c *cell) []string {
			c.policy.MaxSockets = 8
			return []string{"flood", "9"}
		}},
	}
}

func callAttacks() []attack {
	kernel := with(privileges, domain)
	out := []attack{
		{name: "io_uring", probe: on("io_uring"), walls: []string{wallIOURing}, aside: kernel},
		{name: "new_user_namespace", probe: on("new_user"), walls: []string{wallNamespaces}, aside: kernel},
		{name: "new_network_namespace", root: true, probe: on("new_network"), walls: []string{wallNamespaces, wallCapabilities}, aside: with(domain, []string{wallUser})},
		{name: "clone_user_namespace", probe: on("clone_user"), walls: []string{wallNamespaces}, aside: kernel},
		{name: "clone3", probe: on("clone3"), walls: []string{wallNamespaces}},
		{name: "mount", root: true, probe: on("mount"), walls: []string{wallMounts}, aside: with(kernel, []string{wallFiles})},
		{name: "bpf", root: true, probe: on("bpf"), walls: []string{wallKernel}, aside: kernel},
		{name: "keyring", probe: on("keyring"), walls: []string{wallKeys}},
		{name: "shared_memory", probe: on("shared_memory"), walls: []string{wallIPC}},
		{name: "type_ahead", probe: on("type_ahead"), walls: []string{wallTerminal}, aside: []string{wallFiles}},
		{name: "second_listener", probe: on("listener"), walls: []string{wallListener, wallBroker}},
	}
	if runtime.GOARCH == "amd64" {
		out = append(out,
			attack{name: "int80", probe: on("int80"), walls: []string{wallArchitecture}},
			attack{name: "x32", probe: on("x32"), walls: []string{wallArchitecture}})
	}
	return out
}
