package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights by what they are for. See Documentation/userspace-api/landlock.rst in the kernel.
const (
	rightsRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// rightsMake leaves out sockets and devices: nothing in the jail may make one, anywhere.
	rightsMake = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO
	rightsWrite = rightsRead | rightsMake | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER
	rightsDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// rightsOfFiles are those that can be given on something that is not a directory.
	rightsOfFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	rightsTCP = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	scopes    = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
)

// devices can be read and written by every program: they hold nothing. Terminals can be made
// where the program is a user of its own: else the caller's would stand open.
func (o order) devices() []string {
	names := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	if o.has(wallUser) {
		names = append(names, "/dev/ptmx", "/dev/pts")
	}
	return names
}

// fileRights returns all rights that Landlock knows in version abi. What a younger kernel adds is
// not handled, which leaves the program there where it stands on an older one.
func fileRights(abi int) uint64 {
	switch {
	case abi < abiFiles:
		return 0
	case abi == abiFiles:
		return 1<<13 - 1
	case abi < abiTruncate:
		return 1<<14 - 1
	case abi < abiDevices:
		return 1<<15 - 1
	default:
		return 1<<16 - 1
	}
}

// landRuleset returns the descriptor of a ruleset for o. Paths are opened here, by the user that
// this process still is.
func landRuleset(o order) (int, error) {
	attr := unix.LandlockRulesetAttr{}
	if o.has(wallFiles) {
		attr.Handled_access_fs = fileRights(o.ABI)
	}
	if o.has(wallTCP) {
		attr.Handled_access_net = rightsTCP
	}
	if o.has(wallScope) {
		attr.Scoped = scopes
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), attrSize(o.ABI), 0)
	if e != 0 {
		return -1, fmt.Errorf("make Landlock ruleset: %w", e)
	}
	if o.has(wallFiles) {
		if err := allowPaths(int(fd), o); err != nil {
			return -1, err
		}
	}
	if o.has(wallTCP) && !o.has(wallBroker) {
		// Without the broker the program connects by itself; with it, it never does.
		return int(fd), allowPort(int(fd), o.port())
	}
	return int(fd), nil
}

// attrSize is how much of the ruleset's attributes the kernel of that version reads.
func attrSize(abi int) uintptr {
	switch {
	case abi < abiTCP:
		return 8
	case abi < abiScope:
		return 16
	default:
		return 24
	}
}

func allowPaths(ruleset int, o order) error {
	handled := fileRights(o.ABI)
	for _, set := range []struct {
		paths    []string
		rights   uint64
		required bool
	}{
		{o.Policy.Read, rightsRead, false},
		{o.devices(), rightsDevice | unix.LANDLOCK_ACCESS_FS_READ_DIR, false},
		{o.Policy.Write, rightsWrite, true},
	} {
		for _, path := range set.paths {
			err := allowPath(ruleset, path, set.rights&handled)
			if errors.Is(err, unix.ENOENT) && !set.required {
				continue
			}
			if err != nil {
				return fmt.Errorf("allow path %q: %w", path, err)
			}
		}
	}
	return nil
}

func allowPath(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsOfFiles
	}
	// The kernel's structure is packed, 12 bytes; x/sys's has the same layout up to there.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	return addRule(ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule))
}

// netPort is struct landlock_net_port_attr of <linux/landlock.h>.
type netPort struct {
	access, port uint64
}

const ruleNetPort = 2

func allowPort(ruleset int, port uint16) error {
	rule := netPort{access: unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, port: uint64(port)}
	if err := addRule(ruleset, ruleNetPort, unsafe.Pointer(&rule)); err != nil {
		return fmt.Errorf("allow port %d: %w", port, err)
	}
	return nil
}

func addRule(ruleset int, kind uintptr, rule unsafe.Pointer) error {
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), kind, uintptr(rule), 0, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

func restrictSelf(ruleset int) error {
	_, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0)
	if e != 0 {
		return fmt.Errorf("enter Landlock ruleset: %w", e)
	}
	return unix.Close(ruleset)
}
