package sandbox

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Child is the rest of a process for which IsChild is true. It does not return.
func Child() {
	// Walls hold for the thread that puts them up and for what it starts or becomes.
	runtime.LockOSThread()
	if os.Args[1] == argWarden {
		// Not os.Exit: nothing is left to be flushed, and in a binary built with -race it sleeps for
		// a second, which every jail would take longer.
		syscall.Exit(serveAsWarden())
	}
	err := become()
	// Whatever reads this sees the stream end without a word when the program has begun.
	_, _ = io.WriteString(os.NewFile(controlFD, "warden"), err.Error())
	syscall.Exit(1)
}

// become puts up the walls and turns into the program. It returns only to say why it could not.
func become() error {
	unix.CloseOnExec(controlFD) // its end is the sign that the program has begun
	var o order
	if err := gob.NewDecoder(readerFD(controlFD)).Decode(&o); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	if err := prepare(o); err != nil {
		return err
	}
	ruleset, err := drop(o)
	if err != nil {
		return err
	}
	if err := confine(o, ruleset); err != nil {
		return err
	}
	err = syscall.Exec(o.Path, append([]string{o.Path}, o.Args...), o.Env)
	return fmt.Errorf("start %q as user %d: %w", o.Path, os.Getuid(), err)
}

// prepare does what needs no privilege.
func prepare(o order) error {
	unix.Umask(0o077)
	if o.has(wallLimits) {
		return limit(o)
	}
	return nil
}

// drop gives up every privilege, and returns a Landlock ruleset to enter, or -1. The paths in it
// are opened while this process can still reach them.
func drop(o order) (ruleset int, err error) {
	ruleset = -1
	if o.has(wallFiles) || o.has(wallTCP) || o.has(wallScope) {
		if ruleset, err = landRuleset(o); err != nil {
			return -1, err
		}
	}
	if o.has(wallCapabilities) {
		if err := forgoCapabilities(); err != nil {
			return -1, err
		}
	}
	if o.has(wallUser) {
		if err := changeUser(o.Policy.UID, o.Policy.GID); err != nil {
			return -1, err
		}
	}
	if o.has(wallCapabilities) {
		if err := emptyCapabilities(); err != nil {
			return -1, err
		}
	}
	return ruleset, dieWithParent()
}

// forgoCapabilities empties the bounding set, so that no program can bring a capability back.
func forgoCapabilities() error {
	if os.Geteuid() != 0 {
		return nil // There is no right to do so, nor need: none is held, and none can be gained.
	}
	for c := range uintptr(64) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			return nil // the kernel's last one was before
		}
		if err != nil {
			return fmt.Errorf("forgo capability %d: %w", c, err)
		}
	}
	return nil
}

func changeUser(uid, gid int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("leave all groups: %w", err)
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("become group %d: %w", gid, err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return nil
}

func emptyCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// dieWithParent ties the program to the warden. A change of user undoes it, so it comes after.
func dieWithParent() error {
	warden := os.Getppid()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("die with the warden: %w", err)
	}
	if os.Getppid() != warden {
		return errors.New("the warden is gone")
	}
	return nil
}

// confine puts up what holds this thread, which is about to become the program.
func confine(o order, ruleset int) error {
	if o.has(wallPrivileges) {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("forbid new privileges: %w", err)
		}
	}
	if err := unix.Chdir(o.Dir); err != nil {
		return fmt.Errorf("enter %q as user %d: %w", o.Dir, os.Getuid(), err)
	}
	if ruleset >= 0 {
		if err := restrictSelf(ruleset); err != nil {
			return err
		}
	}
	if err := filterCalls(o); err != nil {
		return err
	}
	if !o.has(wallDescriptors) {
		return nil
	}
	if err := unix.CloseRange(controlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return closeEach()
	}
	return nil
}

// closeEach is close_range for kernels before 5.11.
func closeEach() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list open descriptors: %w", err)
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= controlFD {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// filterCalls installs the seccomp program and sends its listener to the warden.
func filterCalls(o order) error {
	if !o.has(wallBroker) && !slices.ContainsFunc(callWalls(), o.has) {
		return nil
	}
	listener, err := install(program(o.has), o.has(wallBroker))
	if err != nil || listener < 0 {
		return err
	}
	if err := unix.Sendmsg(controlFD, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("hand the listener to the warden: %w", err)
	}
	return unix.Close(listener)
}
