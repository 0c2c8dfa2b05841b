package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
	"golang.org/x/sys/unix"
)

func TestProgramEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, test := range []struct {
		name, script, output string
		want                 ExitState
	}{
		{name: "well", script: "echo out; echo err >&2", output: "out\nerr\n", want: ExitState{}},
		{name: "with_a_code", script: "exit 3", want: ExitState{Code: 3}},
		{name: "by_a_signal", script: "kill -TERM $$", want: ExitState{Code: -1, Signal: "terminated"}},
		{name: "and_leaves_children", script: "sleep 600 & sleep 600 & exit 4", want: ExitState{Code: 4, Leftover: 2}},
		{name: "with_much_output", script: "head -c 300000 /dev/zero | tr '\\0' x", output: strings.Repeat("x", 300000), want: ExitState{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := l.cell(t)
			got := c.run("/bin/sh", "-c", test.script)
			got.Sockets = Sockets{}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			if out := c.stdout.String(); out != test.output {
				t.Errorf("output is %d bytes %.100q, want %d bytes %.100q", len(out), out, len(test.output), test.output)
			}
		})
	}
}

// A login shell, git and the like work with SystemPaths, and do not say a word about what is closed.
func TestSystemPathsAreEnough(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	c.policy.Read = append(SystemPaths(), c.lab.tree)
	c.policy.Limits.FileSizeBytes = 1 << 20
	script := `set -e; cd "$HOME"; git init -q .; echo x >f; git add f
git -c user.name=a -c user.email=a@b commit -qm first; git log --format=%s; cat <(echo piped); date >/dev/null`
	state := c.run("/bin/bash", "-lc", script)
	if got, want := c.stdout.String(), "first\npiped\n"; state.Code != 0 || got != want {
		t.Errorf("code %d, output %q, want %q", state.Code, got, want)
	}
}

func TestEnvironmentIsExact(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	p, err := Start(t.Context(), c.policy, Command{
		Path: c.lab.binary, Args: []string{"probe", "echo_environ"}, Dir: "/",
		Env: []string{"A=1", "ODD=\xff\xfe", "EMPTY="}, Stdout: &c.stdout,
	})
	check(t, err)
	_, err = p.Wait()
	check(t, err)
	if got, want := c.stdout.String(), "A=1\nODD=\xff\xfe\nEMPTY="; got != want {
		t.Errorf("environment is %q, want %q", got, want)
	}
}

func TestInputArrivesWhole(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	want := strings.Repeat("prompt\r\n\x00", 100000)
	p, err := Start(t.Context(), c.policy, Command{Path: "/bin/cat", Dir: "/", Stdin: strings.NewReader(want), Stdout: &c.stdout})
	check(t, err)
	_, err = p.Wait()
	check(t, err)
	if got := c.stdout.String(); got != want {
		t.Errorf("%d bytes come back, want %d", len(got), len(want))
	}
}

// A program that does not read its input must not hold the caller up.
func TestInputIsLeft(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	p, err := Start(t.Context(), c.policy, Command{Path: "/bin/true", Dir: "/", Stdin: strings.NewReader(strings.Repeat("x", 1<<20))})
	check(t, err)
	state, err := p.Wait()
	if err != nil || state.Code != 0 {
		t.Errorf("Wait returns %+v, %v; want code 0", state, err)
	}
}

// Whoever writes the input learns at once that nobody reads it any more.
func TestInputIsHeldByTheProgramAlone(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	input, to, err := os.Pipe()
	check(t, err)
	defer to.Close()
	from, output, err := os.Pipe()
	check(t, err)
	defer from.Close()
	p, err := Start(t.Context(), c.policy, Command{
		Path: "/bin/sh", Args: []string{"-c", "exec <&-; echo closed; exec sleep 600"}, Dir: "/", Stdin: input, Stdout: output,
	})
	check(t, err)
	check(t, errors.Join(input.Close(), output.Close()))
	line, err := bufio.NewReader(from).ReadString('\n')
	if err != nil || line != "closed\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	if _, err := to.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("writing gives %v, want %v", err, syscall.EPIPE)
	}
	check(t, p.Kill())
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, test := range []struct {
		name, want string
		kind       fault.Kind
		change     func(*Policy, *Command)
	}{
		{"relative_path", "not absolute", fault.Request, func(p *Policy, _ *Command) { p.Read = []string{"usr"} }},
		{"gateway_elsewhere", "not an IPv4 loopback address", fault.Request, func(p *Policy, _ *Command) { p.Gateway = "10.0.0.1:80" }},
		{"gateway_without_port", "not an IPv4 loopback address", fault.Request, func(p *Policy, _ *Command) { p.Gateway = "127.0.0.1" }},
		{"no_such_program", "no such file", fault.Review, func(_ *Policy, c *Command) { c.Path = "/usr/bin/no-such-program" }},
		{"program_out_of_reach", "permission denied", fault.Review, func(p *Policy, c *Command) { p.Read = []string{"/lib"} }},
		{"no_such_directory", "no such file", fault.Review, func(_ *Policy, c *Command) { c.Dir = "/no-such-directory" }},
		{"nowhere_to_write", "no such file", fault.Review, func(p *Policy, _ *Command) { p.Write = []string{"/no-such-directory"} }},
		{"full_disk", "bytes are free", fault.Review, func(p *Policy, _ *Command) { p.Limits.FreeBytes = 1 << 60 }},
		{"unknown_wall", "does not stand here", 0, func(p *Policy, _ *Command) { p.Without = []string{"moat"} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := l.cell(t)
			command := Command{Path: "/bin/true", Dir: "/"}
			test.change(&c.policy, &command)
			p, err := Start(t.Context(), c.policy, command)
			if err == nil {
				t.Fatalf("the jail starts: %+v", p.Report())
			}
			if !strings.Contains(err.Error(), test.want) || fault.KindOf(err) != test.kind {
				t.Errorf("error is %q of kind %d, want %q of kind %d", err, fault.KindOf(err), test.want, test.kind)
			}
			if test.kind != 0 && fault.HintOf(err) == "" {
				t.Errorf("error %q has no hint", err)
			}
		})
	}
}

func TestStartHeedsCancel(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, c.policy, Command{Path: "/bin/true", Dir: "/"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start returns %v, want %v", err, context.Canceled)
	}
}

// Whoever can list processes sees argv, and the same user sees the environment.
func TestNothingSecretInArguments(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	read, write := io.Pipe()
	defer write.Close()
	p, err := Start(t.Context(), c.policy, Command{Path: "/bin/cat", Dir: "/", Env: []string{"TOKEN=" + secret}, Stdin: read})
	check(t, err)
	family, err := descendants(os.Getpid())
	check(t, err)
	seen := 0
	for _, one := range family {
		if one.pid != p.warden.Process.Pid {
			continue
		}
		seen++
		for _, file := range []string{"cmdline", "environ"} {
			content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(one.pid), file))
			if file == "cmdline" {
				check(t, err) // the other is for root with all its capabilities: the warden is hardened
			}
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("the secret is in the warden's %s", file)
			}
		}
	}
	limits, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.warden.Process.Pid), "limits"))
	check(t, err)
	if !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), "Max core file size 0 0 ") {
		t.Errorf("the warden is not hardened:\n%s", limits)
	}
	if seen != 1 {
		t.Errorf("the warden is seen %d times", seen)
	}
	check(t, write.Close())
	_, err = p.Wait()
	check(t, err)
}

func TestKillEndsEverything(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, test := range []struct {
		name string
		end  func(p *Process, cancel func()) error
	}{
		{"by_kill", func(p *Process, _ func()) error { return p.Kill() }},
		{"by_context", func(_ *Process, cancel func()) error { cancel(); return nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := l.cell(t)
			marker := c.marker()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, err := Start(ctx, c.policy, Command{
				Path: c.lab.binary, Dir: "/", Args: []string{"probe", "sleep", marker},
			})
			check(t, err)
			check(t, test.end(p, cancel))
			state, err := p.Wait()
			check(t, err)
			if state.Cause != CauseKilled || state.Signal != "killed" || state.Code != -1 {
				t.Errorf("state is %+v, want cause killed, signal killed, code -1", state)
			}
			if left := alive(t, marker); len(left) != 0 {
				t.Errorf("processes %v are left", left)
			}
			check(t, p.Kill()) // once more is harmless
		})
	}
}

// The limit of processes keeps the bomb small; freezing it first is what lets it be ended.
func TestForkBombEnds(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	if !Probe().has(wallUser) {
		c.policy.Without = nil
		t.Log("not root: the bomb is a single process that sleeps")
	}
	c.lab.binary = c.rename("bomb-" + filepath.Base(c.dir))
	args := []string{"probe", "sleep"}
	if Probe().has(wallUser) {
		args = []string{"probe", "bomb"}
	}
	p := c.start(c.lab.binary, args...)
	want := 1
	if Probe().has(wallUser) {
		want = 5
	}
	eventually(t, "the bomb has gone off", func() bool { return len(alive(t, c.lab.binary)) >= want })
	check(t, p.Kill())
	state, err := p.Wait()
	check(t, err)
	if state.Cause != CauseKilled {
		t.Errorf("state is %+v, want cause killed", state)
	}
	if left := alive(t, c.lab.binary); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}

// rename gives this cell a copy of the program with a name of its own.
func (c *cell) rename(name string) string {
	c.t.Helper()
	content, err := os.ReadFile(c.lab.binary)
	check(c.t, err)
	path := c.write(filepath.Join(c.dir, name), string(content), 0o755)
	c.policy.Read = append(c.policy.Read, path)
	return path
}

// A daemon that has left session and parent could rewrite the result after it was read.
func TestDaemonEndsWithProgram(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, test := range []struct {
		name    string
		without []string
		alive   bool
	}{
		{name: "in_the_jail"},
		{name: "without_reaping", without: []string{wallReaping}, alive: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := l.cell(t)
			c.policy.Without = test.without
			marker := c.marker()
			worked, state := c.probe("daemon", filepath.Join(c.home, "result"), marker)
			if !worked {
				t.Fatal("no daemon was left")
			}
			left := alive(t, marker)
			for _, pid := range left {
				check(t, unix.Kill(pid, unix.SIGKILL))
			}
			if test.alive != (len(left) > 0) {
				t.Errorf("processes %v are left, want some: %t", left, test.alive)
			}
			if !test.alive && state.Leftover == 0 {
				t.Errorf("the daemon is not counted: %+v", state)
			}
		})
	}
}

func TestJailEndsWithCaller(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	marker := c.marker()
	if root() {
		check(t, LayOwner(c.home, defaultUser, defaultUser))
	}
	cmd := exec.Command(c.lab.binary, "probe", "caller", c.lab.binary, c.home, marker)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "started\n" {
		t.Fatalf("the caller says %q, %v", line, err)
	}
	eventually(t, "the daemon is at work", func() bool { return len(alive(t, marker)) >= 3 })
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(t, "nothing is left", func() bool { return len(alive(t, marker)) == 0 })
}

// It is not run beside others: where this is the first process of a container, the end of a warden
// is that of everything.
func TestWardenIsKilled(t *testing.T) {
	c := newLab(t).cell(t)
	marker := c.marker()
	p := c.start(c.lab.binary, "probe", "sleep", marker)
	check(t, p.warden.Process.Kill())
	state, err := p.Wait()
	if err == nil || fault.HintOf(err) == "" {
		t.Errorf("Wait returns %+v and error %v, want an error with a hint", state, err)
	}
	eventually(t, "the program is gone too", func() bool { return len(alive(t, marker)) == 0 })
}

func TestFullDiskEndsTheJail(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	if err := unix.Mount("tmpfs", c.home, "tmpfs", 0, "size=64m"); err != nil {
		// Without the right to mount there is no disk that could be filled: look at the measure.
		check(t, wantPermission(err))
		dir, err := short([]string{c.home}, 1<<60)
		if err != nil || dir != c.home {
			t.Errorf("short returns %q, %v; want %q", dir, err, c.home)
		}
		return
	}
	t.Cleanup(func() { check(t, unix.Unmount(c.home, unix.MNT_DETACH)) })
	check(t, LayOwner(c.home, c.uid, c.uid))
	c.policy.Limits.FreeBytes = 32 << 20
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := Start(ctx, c.policy, Command{Path: c.lab.binary, Args: []string{"probe", "fill_disk", c.home + "/f"}, Dir: "/"})
	check(t, err)
	state, err := p.Wait()
	check(t, err)
	if state.Cause != CauseDisk || state.Signal != "killed" {
		t.Errorf("state is %+v, want cause %q", state, CauseDisk)
	}
}

func wantPermission(err error) error {
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil
	}
	return err
}

// What the program leaves is read by a caller with more rights.
func TestOutputIsReadSafely(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	key := c.write(filepath.Join(c.dir, "key"), secret, 0o600)
	if worked, _ := c.probe("leave", c.home, key); !worked {
		t.Fatal("the program could not leave its traps")
	}
	if content, err := os.ReadFile(filepath.Join(c.home, "symlink")); err != nil || string(content) != secret {
		t.Fatalf("a plain read of the link gives %q, %v: it is no trap", content, err)
	}
	for _, trap := range []string{"symlink", "fifo", "large", "linked"} {
		if content, err := disk.Read(c.home, trap, 1<<10); err == nil {
			t.Errorf("reading %q gives %d bytes, want an error", trap, len(content))
		}
	}
	if content, err := disk.Read(c.home, "file", 1<<10); err != nil || string(content) != "fine" {
		t.Errorf("reading %q gives %q, %v", "file", content, err)
	}
}
