package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probes that go for other processes, or for more rights.
func processProbes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"environ_of": func(a []string) error { return findSecret("/proc/" + a[0] + "/environ") },
		"own_environ": func([]string) error {
			if !strings.Contains(strings.Join(os.Environ(), " "), secret) {
				return fmt.Errorf("not in %q", os.Environ())
			}
			return nil
		},
		"memory_of": func(a []string) error { return openOnly("/proc/" + a[0] + "/mem") },
		"maps_of":   func(a []string) error { return openOnly("/proc/" + a[0] + "/maps") },
		"fds_of": func(a []string) error {
			_, err := os.ReadDir("/proc/" + a[0] + "/fd")
			return err
		},
		"trace": func(a []string) error {
			return outcome(unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, number(a[0]), 0, 0, 0, 0))
		},
		"read_memory":     readMemory,
		"take_descriptor": takeDescriptor,
		"signal":          func(a []string) error { return unix.Kill(int(number(a[0])), unix.SIGURG) },
		"limit_other": func(a []string) error {
			return unix.Prlimit(int(number(a[0])), unix.RLIMIT_CORE, nil, &unix.Rlimit{})
		},
		"read_descriptor": func(a []string) error {
			_, err := unix.Read(int(number(a[0])), make([]byte, 1))
			return err
		},
		"become_root":       becomeRoot,
		"gain_capabilities": gainCapabilities,
		"effective_user":    func([]string) error { return wantRoot(os.Geteuid()) },
		"hold_capabilities": func([]string) error { return wantCapabilities(effective()) },
	}
}

func findSecret(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(content, []byte(secret)) {
		return fmt.Errorf("the secret is not in %s", path)
	}
	return nil
}

func openOnly(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func number(s string) uintptr {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return uintptr(n)
}

func outcome(_, _ uintptr, e syscall.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// readMemory asks for a byte at an address that is not mapped: being refused the look is one
// thing, finding nothing there another.
func readMemory(a []string) error {
	var b byte
	local := unix.Iovec{Base: &b}
	local.SetLen(1)
	remote := unix.RemoteIovec{Base: 0x10, Len: 1}
	_, err := unix.ProcessVMReadv(int(number(a[0])), []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}

func takeDescriptor(a []string) error {
	fd, err := unix.PidfdOpen(int(number(a[0])), 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 0, 0)
	return err
}

// becomeRoot runs a setuid program of root's.
func becomeRoot(a []string) error {
	return said(exec.Command(a[0], "probe", "effective_user"))
}

func gainCapabilities(a []string) error {
	return said(exec.Command(a[0], "probe", "hold_capabilities"))
}

func said(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func wantRoot(uid int) error {
	if uid != 0 {
		return fmt.Errorf("user is %d", uid)
	}
	return nil
}

func wantCapabilities(held uint64) error {
	if held == 0 {
		return errors.New("no capability is held")
	}
	return nil
}

// Probes that use things up.
func hungryProbes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"fork": func(a []string) error {
			for n := range number(a[0]) {
				if err := exec.Command("/bin/sleep", "600").Start(); err != nil {
					return fmt.Errorf("process %d: %w", n, err)
				}
			}
			return nil
		},
		"big_file": func(a []string) error { return os.WriteFile(a[0], make([]byte, number(a[1])), 0o600) },
		"fill_disk": func(a []string) error {
			for n := 0; ; n++ {
				if err := os.WriteFile(a[0]+strconv.Itoa(n), make([]byte, 1<<20), 0o600); err != nil {
					return sleep() // it is full, and stays so
				}
			}
		},
		"many_descriptors": func(a []string) error {
			for range number(a[0]) {
				if _, err := os.Open("/dev/null"); err != nil {
					return err
				}
			}
			return nil
		},
		"daemon":  leaveDaemon,
		"sleep":   func([]string) error { return sleep() },
		"rewrite": rewrite,
	}
}

// leaveDaemon starts a process that has left session and parent, and ends.
func leaveDaemon(a []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if len(a) == 2 {
		cmd := exec.Command(self, "probe", "daemon", a[0], a[1], "twice")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd.Run()
	}
	cmd := exec.Command(self, "probe", "rewrite", a[0], a[1])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	// Only a daemon that is at work is worth the name.
	for {
		if _, err := os.Stat(a[0]); err == nil {
			return nil
		}
	}
}

// sleep is for ever: what the runtime takes for a deadlock would end it.
func sleep() error {
	for {
		time.Sleep(time.Hour)
	}
}

// rewrite changes a file as long as it lives, which is not for ever, should nobody end it.
func rewrite(a []string) error {
	for range 1 << 20 {
		if err := os.WriteFile(a[0], []byte(a[1]), 0o600); err != nil {
			return err
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
	return nil
}

// Probes that ask the kernel for what the seccomp program refuses.
func callProbes() map[string]func([]string) error {
	// What would have to be read from memory is not there: a call that gets that far says so in
	// another way than the wall does.
	call := func(n, a, b, c uintptr) func([]string) error {
		return func([]string) error { return outcome(unix.Syscall6(n, a, b, c, 0, 0, 0)) }
	}
	return map[string]func([]string) error{
		"io_uring":    asked(unix.EFAULT, call(unix.SYS_IO_URING_SETUP, 1, 0, 0)),
		"new_user":    asked(unix.EINVAL, call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0)), // it has threads
		"new_network": call(unix.SYS_UNSHARE, unix.CLONE_NEWNET, 0, 0),
		"keyring":     call(unix.SYS_KEYCTL, 0, ^uintptr(2), 1), // KEYCTL_GET_KEYRING_ID of the session's
		"shared_memory": func([]string) error {
			id, _, e := unix.Syscall(unix.SYS_SHMGET, 0, 4096, 0o600|unix.IPC_CREAT)
			if e == 0 {
				_, _, e = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
			}
			return outcome(0, 0, e)
		},
		"clone_user": func([]string) error {
			cmd := exec.Command("/bin/true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			return cmd.Run()
		},
		"clone3":     asked(unix.EINVAL, call(unix.SYS_CLONE3, 0, 0, 0)),
		"bpf":        asked(unix.EFAULT, call(unix.SYS_BPF, 0, 0, 16)),
		"mount":      asked(unix.EFAULT, call(unix.SYS_MOUNT, 1, 1, 1)),
		"type_ahead": typeAhead,
		"call_after": asked(unix.ENOSYS, call(lastCall+1, 0, 0, 0)),
		"listener": func([]string) error {
			fd, err := install(program(func(string) bool { return false }), true)
			if err == nil {
				unix.Close(fd)
			}
			return err
		},
	}
}

// asked turns the error that the kernel answers with, once it is asked, into success.
func asked(answer syscall.Errno, call func([]string) error) func([]string) error {
	return func(a []string) error {
		if err := call(a); err != nil && !errors.Is(err, answer) {
			return err
		}
		return nil
	}
}

// typeAhead puts a character into a terminal. A kernel may have that switched off (EIO), or keep
// it for the terminal's own session (EPERM without the wall as well), so the terminal is a new
// one, which becomes that of this process's session.
func typeAhead([]string) error {
	_, slave, err := openTerminal(0) // both stay open: the end of a terminal ends its session
	if err != nil {
		return err
	}
	c := byte('x')
	err = outcome(unix.Syscall(unix.SYS_IOCTL, slave.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&c))))
	if errors.Is(err, unix.EIO) {
		return nil
	}
	return err
}

// openTerminal makes a terminal. Without unix.O_NOCTTY in flags it becomes the session's.
func openTerminal(flags int) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|flags, 0)
	return master, slave, err
}
