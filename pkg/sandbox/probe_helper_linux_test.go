package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Programs that the tests need in processes of their own.
func helperProbes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"bomb":             func([]string) error { return bomb() },
		"caller":           caller,
		"victim":           victim,
		"inner":            inner,
		"without_landlock": withoutLandlock,
		"leave":            leave,
		"echo_environ": func([]string) error {
			fmt.Print(strings.Join(os.Environ(), "\n"))
			return nil
		},
	}
}

// bomb is a program that starts itself twice, for ever.
func bomb() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for {
		_ = exec.Command(self, "probe", "bomb").Start()
		unix.Nanosleep(&unix.Timespec{Nsec: 1e5}, nil)
	}
}

// caller starts a jail with a daemon in it, says so, and waits to be killed.
func caller(a []string) error {
	binary, home, marker := a[0], a[1], a[2]
	p, err := Start(context.Background(), Policy{
		Read: []string{binary, "/usr", "/bin", "/lib", "/lib64"}, Write: []string{home},
		Gateway: "127.0.0.1:9", Limits: Limits{FreeBytes: 1 << 20},
	}, Command{Path: "/bin/sh", Dir: "/", Args: []string{"-c", `setsid "$0" probe rewrite "$1" "$2" & exec "$0" probe sleep "$2"`, binary, home + "/f", marker}})
	if err != nil {
		return err
	}
	fmt.Println("started")
	_, err = p.Wait()
	return err
}

// inner is a caller as it should be, and shows the status of its program.
func inner([]string) error {
	if err := Harden(); err != nil {
		return err
	}
	p, err := Start(context.Background(), Policy{Read: append(SystemPaths(), "/proc"), Gateway: "127.0.0.1:9"},
		Command{Path: "/bin/cat", Args: []string{"/proc/self/status"}, Dir: "/", Stdout: os.Stdout})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// victim is a process with a secret, hardened or not.
func victim(a []string) error {
	if a[0] == "hardened" {
		if err := Harden(); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	return sleep()
}

// withoutLandlock does what Probe and Start would do under a kernel that has no Landlock.
func withoutLandlock(a []string) error {
	before := Probe()
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := hideLandlock(); err != nil {
		return err
	}
	policy := Policy{Read: a, Gateway: "127.0.0.1:9"}
	nothing := Command{Path: "/bin/true", Dir: "/"}
	if _, err := start(context.Background(), before, policy, nothing); err == nil || !strings.Contains(err.Error(), "Landlock") {
		return fmt.Errorf("a jail that was promised Landlock starts without: %w", err)
	}
	after := Probe()
	if after.Level != Partial || after.has(wallFiles) || after.LandlockABI != 0 || !strings.Contains(strings.Join(after.Missing, "\n"), "files: the kernel has no Landlock") {
		return fmt.Errorf("the report is %+v", after)
	}
	p, err := Start(context.Background(), policy, nothing)
	if err != nil {
		return err
	}
	if state, err := p.Wait(); err != nil || state.Code != 0 {
		return fmt.Errorf("the program ended with %+v, %w", state, err)
	}
	return nil
}

// hideLandlock makes the kernel answer all threads of this process as one without Landlock does.
func hideLandlock() error {
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipFalse: 1}, refuse(unix.ENOSYS), allow(),
	})
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return outcome(unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))))
}

// leave puts into a directory what a reader of the output must not fall for.
func leave(a []string) error {
	dir, outside := a[0], a[1]
	if err := os.Symlink(outside, dir+"/symlink"); err != nil {
		return err
	}
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/large", make([]byte, 1<<19), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/file", []byte("fine"), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/linked", nil, 0o600); err != nil {
		return err
	}
	return os.Link(dir+"/linked", dir+"/twin")
}
