// Package sandbox runs a program that nobody trusts behind walls that the kernel keeps: another
// user, Landlock, a seccomp program of our own, and sockets that lead to the gateway and nowhere
// else.
//
// It does not decide whether a jail with a wall missing is good enough, it does not speak the
// gateway's protocol, and it reads nothing that the program leaves behind.
//
// A jail is three processes. The caller starts a warden, which is the same binary with a hidden
// argument, an empty environment and none of the caller's secrets. The warden adopts whatever the
// program leaves running, answers for its sockets, and starts a third process that puts up the
// walls around itself and becomes the program.
package sandbox

import (
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// Level says how much of the jail there is.
type Level string

// Full means every wall, partial that at least one is missing and named, none that nothing which
// holds a hostile program is there.
const (
	Full    Level = "full"
	Partial Level = "partial"
	None    Level = "none"
)

// Report says what a jail on this machine consists of.
type Report struct {
	Level Level
	// Walls are the names of what stands, in the order in which it is put up.
	Walls []string
	// Missing has a line "wall: why" for each that does not stand and that nothing else replaces.
	Missing []string
	// LandlockABI is the version the kernel offers, 0 for none.
	LandlockABI int
	// UID is the user the program runs as.
	UID int
}

// Policy says what the program may reach. The zero value of a number stands for its default.
type Policy struct {
	// Read are absolute paths of files and directories, with all below, that may be read and
	// executed. One that does not exist is passed over: giving less is safe.
	Read []string
	// Write are absolute paths that may also be changed. They must exist and, where the program
	// runs as a user of its own, belong to it: see LayOwner.
	Write []string
	// UID and GID are what the program runs as where this process is root; 65532 by default.
	// Jails that run at the same time should differ in it, or one counts against the other's
	// Limits.Processes. Elsewhere they are ignored.
	UID, GID int
	// Gateway is the address, "127.0.0.1:PORT", that every TCP connection of the program ends at,
	// whatever address the program asked for.
	Gateway string
	// MaxSockets is how many TCP sockets the whole jail can hold open at a time; 64 by default.
	MaxSockets int
	Limits     Limits
	// Without names walls to leave out. It is there for tests, which must show that an attack is
	// stopped by the wall they speak of; each one left out is listed as missing.
	Without []string
}

// SystemPaths returns what programs need of a Linux system to run at all, for Policy.Read: programs,
// libraries, and configuration that holds no secret. A shell, git and ripgrep need no more.
//
// It leaves out /proc and /sys, which programs do without.
func SystemPaths() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/locale.alias",
		"/etc/localtime", "/etc/timezone", "/etc/os-release", "/etc/profile", "/etc/profile.d", "/etc/bash.bashrc",
		"/etc/inputrc", "/etc/terminfo", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/host.conf",
		"/etc/hosts", "/etc/resolv.conf", "/etc/gai.conf", "/etc/gitconfig", "/etc/gitattributes", "/etc/mime.types",
		"/etc/ssl/certs", "/etc/ca-certificates",
	}
}

// Limits bound what the program can use up. The zero value of each stands for its default.
type Limits struct {
	// Processes is how many processes and threads the jail's user can have; 1024 by default. It
	// cannot be had where the program runs as the caller's own user.
	Processes int
	// FileSizeBytes is the size of the largest file that can be written; 1 GiB by default.
	FileSizeBytes int64
	// OpenFiles is how many descriptors a process can have; 4096 by default.
	OpenFiles int
	// FreeBytes is what must stay free on every file system in Policy.Write; 256 MiB by default.
	// The jail is ended when less is left: there is no quota for one user's many files, and the
	// receipt needs a place.
	FreeBytes int64
}

// Command is the program to run. The environment is Env and nothing else.
type Command struct {
	Path string
	// Args are the arguments without the program's own name.
	Args []string
	Env  []string
	Dir  string
	// Stdin may be nil for none.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Cause says why the jail ended the program.
type Cause string

// The causes; the empty one is that the program ended by itself.
const (
	CauseKilled Cause = "killed"
	CauseDisk   Cause = "disk"
)

// ExitState is how the program ended.
type ExitState struct {
	// Code is the exit code, or -1 where a signal ended the program.
	Code int
	// Signal is the signal's name, or "".
	Signal string
	Cause  Cause
	// Leftover is how many other processes were still running when the program ended. All were
	// killed before the state was known.
	Leftover int
	Sockets  Sockets
}

// Sockets counts what the program asked of the network.
type Sockets struct {
	// Brokered sockets were handed over, Connected ones carried at least one byte to the gateway.
	Brokered, Connected int
	// Connects are the calls of connect, to whatever address.
	Connects int
	// OverCap sockets were refused because MaxSockets were open.
	OverCap int
	// Denied are the refused ones by kind: "udp", "raw", "icmp", "unix", "netlink", "packet",
	// "vsock", "mptcp", "family", "protocol". It is empty where the kernel has no broker.
	Denied map[string]int
}

// The walls. Those that stand are in Report.Walls.
const (
	wallEnvironment  = "environment"       // the program's environment is what it is given
	wallDescriptors  = "descriptors"       // every descriptor from 3 on is closed
	wallReaping      = "reaping"           // nothing outlives the program
	wallLimits       = "limits"            // resource limits, free disk
	wallCapabilities = "capabilities"      // none left, none to be had
	wallUser         = "user"              // a user of its own, no groups
	wallPrivileges   = "no-new-privileges" // setuid programs do not work
	wallFiles        = "files"             // Landlock: paths
	wallTCP          = "tcp"               // Landlock: TCP ports, a second wall behind the broker
	wallScope        = "scope"             // Landlock: signals and abstract sockets stay inside
	wallArchitecture = "architecture"      // seccomp: other calling conventions
	wallNewCalls     = "new-calls"         // seccomp: calls younger than this list
	wallTrace        = "trace"             // seccomp: other processes' memory and descriptors
	wallKernel       = "kernel"            // seccomp: the kernel's own machinery
	wallKeys         = "keys"              // seccomp: keyrings
	wallNamespaces   = "namespaces"        // seccomp: new namespaces
	wallMounts       = "mounts"            // seccomp: mounts, file handles
	wallIPC          = "ipc"               // seccomp: objects that outlive the jail
	wallIOURing      = "io-uring"          // seccomp: calls that seccomp does not see
	wallTerminal     = "terminal"          // seccomp: typing into a terminal
	wallListener     = "listener"          // seccomp: a listener that would outrank ours
	wallFastOpen     = "fast-open"         // seccomp: connecting without connect
	wallSockets      = "sockets"           // seccomp: every kind of socket but TCP, and listening
	wallBroker       = "broker"            // seccomp: TCP goes to the gateway
	wallSocketCap    = "socket-cap"        // how many of those
)

// Defaults of Policy and Limits.
const (
	defaultUser          = 65532
	defaultMaxSockets    = 64
	defaultProcesses     = 1024
	defaultFileSizeBytes = 1 << 30
	defaultOpenFiles     = 4096
	defaultFreeBytes     = 256 << 20
)

// filled returns p with its defaults in place, or what is wrong with it.
func (p Policy) filled() (Policy, error) {
	set(&p.UID, defaultUser)
	set(&p.GID, defaultUser)
	set(&p.MaxSockets, defaultMaxSockets)
	set(&p.Limits.Processes, defaultProcesses)
	set(&p.Limits.OpenFiles, defaultOpenFiles)
	set(&p.Limits.FileSizeBytes, defaultFileSizeBytes)
	set(&p.Limits.FreeBytes, defaultFreeBytes)
	for _, path := range slices.Concat(p.Read, p.Write) {
		if !filepath.IsAbs(path) {
			return p, fault.New(fault.Request, "give an absolute path", "jail path %q: not absolute", path)
		}
	}
	gateway, err := netip.ParseAddrPort(p.Gateway)
	if err != nil || !gateway.Addr().Is4() || !gateway.Addr().IsLoopback() || gateway.Port() == 0 {
		return p, fault.New(fault.Request, "give 127.0.0.1:PORT", "jail gateway %q: not an IPv4 loopback address with a port", p.Gateway)
	}
	return p, nil
}

func set[T int | int64](n *T, value T) {
	if *n == 0 {
		*n = value
	}
}

// without takes away from r what p leaves out.
func (r Report) without(names []string) (Report, error) {
	for _, name := range names {
		i := slices.Index(r.Walls, name)
		if i < 0 {
			return r, fmt.Errorf("leave out wall %q: it does not stand here", name)
		}
		r.Walls = slices.Delete(slices.Clone(r.Walls), i, i+1)
		r.Missing = append(slices.Clone(r.Missing), name+": left out on request")
	}
	if len(names) > 0 {
		r.Level = r.level()
	}
	return r, nil
}

// callWalls are those that the seccomp program makes.
func callWalls() []string {
	return []string{
		wallArchitecture, wallNewCalls, wallTrace, wallKernel, wallKeys, wallNamespaces, wallMounts, wallIPC,
		wallIOURing, wallTerminal, wallListener, wallFastOpen, wallSockets,
	}
}

func (r Report) has(wall string) bool { return slices.Contains(r.Walls, wall) }
