package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probe says what a jail that this process starts would consist of. It starts nothing and changes
// nothing.
func Probe() Report { return assess(ask()) }

func ask() facts {
	f := facts{uid: os.Getuid()}
	caps := effective()
	f.ids = mayChangeUser(caps)
	if os.Geteuid() == 0 && caps&(1<<unix.CAP_SETPCAP) == 0 {
		f.bounding = fmt.Errorf("this process may not empty the bounding set")
	}
	f.abi, f.landlock = landlockABI()
	f.filter = actionAvailable(unix.SECCOMP_RET_KILL_PROCESS)
	f.notify = notifyAvailable()
	return f
}

func effective() uint64 {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
}

func mayChangeUser(caps uint64) error {
	const need = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	if caps&need != need {
		return fmt.Errorf("this process may not become another user, so the program runs as user %d and shares its files and processes", os.Getuid())
	}
	for _, file := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		if !mapped(file, defaultUser) {
			return fmt.Errorf("%s has no place for %d", file, defaultUser)
		}
	}
	return nil
}

// mapped reports whether id exists in the user namespace that file, described in
// user_namespaces(7), belongs to.
func mapped(file string, id uint64) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var inside, outside, count uint64
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &count); err == nil && id >= inside && id-inside < count {
			return true
		}
	}
	return false
}

func landlockABI() (int, error) {
	abi, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch e {
	case 0:
		return int(abi), nil
	case unix.ENOSYS:
		return 0, fmt.Errorf("the kernel has no Landlock")
	case unix.EOPNOTSUPP:
		return 0, fmt.Errorf("the kernel has Landlock switched off")
	default:
		return 0, fmt.Errorf("ask the kernel for Landlock: %w", e)
	}
}

func actionAvailable(action uint32) error {
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if e != 0 {
		return fmt.Errorf("the kernel does not offer seccomp action %#x: %w", action, e)
	}
	return nil
}

// notifyAvailable is nil from Linux 5.14 on: that is where a descriptor can be handed over and
// the call answered in one step, and there is no way to ask for this by name.
func notifyAvailable() error {
	if err := actionAvailable(unix.SECCOMP_RET_USER_NOTIF); err != nil {
		return err
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	release := unix.ByteSliceToString(name.Release[:])
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("kernel release %q: %w", strings.TrimSpace(release), err)
	}
	if major < 5 || major == 5 && minor < 14 {
		return fmt.Errorf("the kernel is Linux %d.%d, and hands sockets over from 5.14 on", major, minor)
	}
	return nil
}

// Harden keeps other processes of this user out of this process's memory and environment, and
// its memory out of core files. Call it before the first secret is read. Files below /proc/self
// then belong to root: a process that is not root cannot open some of its own.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make process not dumpable: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core files: %w", err)
	}
	return nil
}
