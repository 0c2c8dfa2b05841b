package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lab is what the cells of one test share: the attacker's program, a tree to look at, somebody to
// attack. Every user can reach it.
type lab struct {
	dir, binary, tree string
	// base is where the users of the lab's cells begin: limits of processes are counted by user.
	base int
	next atomic.Int64
}

func newLab(t *testing.T) *lab {
	t.Helper()
	binary := worldReadable(t)
	l := &lab{dir: filepath.Dir(binary), binary: binary, tree: filepath.Join(filepath.Dir(binary), "tree")}
	check(t, os.Mkdir(l.tree, 0o755))
	random, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(l.dir), "jail"))
	check(t, err)
	l.base = 100_000 + random%10_000*1000
	return l
}

// cell is one jail to be and its surroundings.
type cell struct {
	t       *testing.T
	lab     *lab
	dir     string // outside of what the jail may touch
	open    string // a directory that the owner's rights alone would let anybody write
	home    string // what the jail may write
	gateway *door
	uid     int
	policy  Policy
	stdout  bytes.Buffer
}

func (l *lab) cell(t *testing.T) *cell {
	t.Helper()
	n := int(l.next.Add(1))
	dir := filepath.Join(l.dir, fmt.Sprintf("cell%d", n))
	c := &cell{t: t, lab: l, dir: dir, open: filepath.Join(l.tree, filepath.Base(dir)), home: filepath.Join(dir, "home")}
	c.uid = Probe().UID
	if Probe().has(wallUser) {
		c.uid = l.base + n
	}
	check(t, os.Mkdir(dir, 0o755))
	check(t, os.Mkdir(c.home, 0o700))
	check(t, LayOwner(c.home, c.uid, c.uid))
	check(t, os.Mkdir(c.open, 0o777))
	check(t, os.Chmod(c.open, 0o777))
	c.write(filepath.Join(c.open, "file"), "content", 0o666)
	c.gateway = serve(t, "tcp4", "127.0.0.1:0", "GATEWAY")
	c.policy = Policy{
		Read:  []string{l.binary, l.tree, "/usr", "/bin", "/lib", "/lib64"},
		Write: []string{c.home}, UID: c.uid, GID: c.uid,
		Gateway: c.gateway.address, Limits: Limits{FreeBytes: 1 << 20, Processes: 50, FileSizeBytes: 1 << 20, OpenFiles: 100},
	}
	return c
}

// write makes a file with that mode, whatever the umask.
func (c *cell) write(path, content string, mode os.FileMode) string {
	c.t.Helper()
	writeFile(c.t, path, []byte(content), mode)
	return path
}

// writeFile holds off forks: a process born meanwhile would have the file open for writing, and
// the kernel does not run such a file.
func writeFile(t testing.TB, path string, content []byte, mode os.FileMode) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, content, mode)
	syscall.ForkLock.RUnlock()
	check(t, err)
	check(t, os.Chmod(path, mode))
}

// run starts a program in the cell and waits for it.
func (c *cell) run(path string, args ...string) ExitState {
	c.t.Helper()
	state, err := c.start(path, args...).Wait()
	check(c.t, err)
	return state
}

func (c *cell) start(path string, args ...string) *Process {
	c.t.Helper()
	p, err := Start(c.t.Context(), c.policy, Command{
		Path: path, Args: args, Dir: c.lab.tree,
		// The last one keeps the race detector from sleeping for a second at each probe's end.
		Env:    []string{"HOME=" + c.home, "TMPDIR=" + c.home, "GORACE=atexit_sleep_ms=0"},
		Stdout: &c.stdout, Stderr: &c.stdout,
	})
	check(c.t, err)
	return p
}

// probe runs this binary as the attacker and reports whether the attack worked.
func (c *cell) probe(name string, args ...string) (worked bool, state ExitState) {
	c.t.Helper()
	state = c.run(c.lab.binary, append([]string{"probe", name}, args...)...)
	said := strings.TrimSpace(c.stdout.String())
	switch {
	case state.Code == probeWorked:
		return true, state
	case state.Code == probeFailed, state.Signal != "":
		c.t.Logf("%s: %s %s", name, said, state.Signal)
		return false, state
	default:
		c.t.Fatalf("probe %s ended with %+v and said %q", name, state, said)
		return false, state
	}
}

// victim is a process of the caller's user with the secret in its environment.
func (c *cell) victim() string {
	c.t.Helper()
	cmd := exec.Command("sleep", "600")
	check(c.t, cmd.Start())
	c.t.Cleanup(func() {
		check(c.t, cmd.Process.Kill())
		_ = cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

// terminal is a terminal of the caller's user.
func (c *cell) terminal() string {
	c.t.Helper()
	master, slave, err := openTerminal(unix.O_NOCTTY)
	check(c.t, err)
	c.t.Cleanup(func() { master.Close(); slave.Close() })
	return slave.Name()
}

// door is a server that answers the first bytes of each connection with its name.
type door struct {
	address string
	opened  atomic.Int64
}

func serve(t *testing.T, network, address, name string) *door {
	t.Helper()
	l, err := net.Listen(network, address)
	check(t, err)
	t.Cleanup(func() { l.Close() })
	d := &door{address: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.opened.Add(1)
			go answer(c, name)
		}
	}()
	return d
}

func answer(c net.Conn, name string) {
	defer c.Close()
	buf := make([]byte, 1<<16)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
		if _, err := io.WriteString(c, name); err != nil {
			return
		}
	}
}

// sink is a datagram server of that kind.
func sink(t *testing.T, network, address, name string) string {
	t.Helper()
	c, err := net.ListenPacket(network, address)
	check(t, err)
	t.Cleanup(func() { c.Close() })
	go func() {
		buf := make([]byte, 1<<10)
		for {
			_, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if from != nil {
				_, _ = c.WriteTo([]byte(name), from)
			}
		}
	}()
	return c.LocalAddr().String()
}

// marker is an argument by which this cell's processes can be told from all others.
func (c *cell) marker() string { return "marker" + c.dir + "." }

// alive returns the processes that have marker among their arguments.
func alive(t *testing.T, marker string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, err)
	if len(files) == 0 {
		t.Fatal("no process is found at all")
	}
	var found []int
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && bytes.Contains(line, []byte(marker)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			check(t, err)
			found = append(found, pid)
		}
	}
	return found
}

// eventually is for what other processes do in their own time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never came true: %s", what)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func root() bool { return syscall.Geteuid() == 0 }

// worldReadable is a copy of this binary that every user can run.
func worldReadable(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jail")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	check(t, os.Chmod(dir, 0o755))
	self, err := os.ReadFile("/proc/self/exe")
	check(t, err)
	path := filepath.Join(dir, "program")
	writeFile(t, path, self, 0o755)
	return path
}
