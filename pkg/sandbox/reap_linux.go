package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killLimit bounds the end of a jail. Only a process that hangs in the kernel takes longer.
	killLimit = 5 * time.Second
	// freezeRounds bounds how often the tree is looked at for processes that still run.
	freezeRounds = 20
	roundPause   = time.Millisecond
)

// family is this process's children, which is everything in the jail: see warden.
type family struct {
	// ended is closed when the program is dead and last is set, empty when nothing at all is left.
	ended, empty chan struct{}
	last         unix.WaitStatus
}

// adopt reaps every child, whoever started it, until there is none.
func adopt(program int) *family {
	f := &family{ended: make(chan struct{}), empty: make(chan struct{})}
	go func() {
		defer close(f.empty)
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				return
			case pid == program && (status.Exited() || status.Signaled()):
				f.last = status
				close(f.ended)
			}
		}
	}()
	return f
}

// end kills everything and returns how many processes that was, the program apart.
func (f *family) end(limit time.Duration) (killed int, err error) {
	deadline := time.Now().Add(limit)
	for first := true; ; first = false {
		if f.done() {
			return killed, nil
		}
		members, err := freeze()
		if err != nil {
			return killed, err
		}
		if first {
			killed = f.count(members)
		}
		for _, p := range members {
			p.signal(unix.SIGKILL)
		}
		if time.Now().After(deadline) {
			return killed, fmt.Errorf("end the jail: %d processes are left after %s", len(members), limit)
		}
		f.pause()
	}
}

func (f *family) done() bool {
	select {
	case <-f.empty:
		return true
	default:
		return false
	}
}

func (f *family) pause() {
	select {
	case <-f.empty:
	case <-time.After(roundPause):
	}
}

func (f *family) count(members []process) int {
	n := 0
	for _, p := range members {
		if p.state != 'Z' {
			n++
		}
	}
	select {
	case <-f.ended:
		return n
	default:
		return max(n-1, 0) // the program itself
	}
}

// freeze stops everything before anything is killed: a killed process makes room for another
// below the limit of processes, a stopped one does not. It returns all that is there.
func freeze() (members []process, err error) {
	for range freezeRounds {
		if members, err = descendants(os.Getpid()); err != nil {
			return nil, err
		}
		running := false
		for _, p := range members {
			if p.state != 'T' && p.state != 'Z' {
				p.signal(unix.SIGSTOP)
				running = true
			}
		}
		if !running {
			break
		}
	}
	return members, nil
}

// process is a line of /proc/PID/stat, see proc_pid_stat(5).
type process struct {
	pid, parent int
	state       byte
	start       uint64
}

// signal signals that process and no other that has got its number since. It reports whether the
// process was there.
func (p process) signal(s unix.Signal) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	now, ok := readProcess(p.pid)
	if !ok || now.start != p.start {
		return false
	}
	return unix.PidfdSendSignal(fd, s, nil, 0) == nil
}

// descendants returns everything below root, in no order.
func descendants(root int) ([]process, error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	below := map[int][]process{}
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil {
			if p, ok := readProcess(pid); ok {
				below[p.parent] = append(below[p.parent], p)
			}
		}
	}
	found := below[root]
	for i := 0; i < len(found); i++ {
		found = append(found, below[found[i].pid]...)
	}
	return found, nil
}

func readProcess(pid int) (process, bool) {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, false
	}
	return parseProcess(pid, line)
}

// parseProcess reads a stat line. The second field is a name in parentheses that the process
// itself chose, and may hold spaces and parentheses.
func parseProcess(pid int, line []byte) (process, bool) {
	const parent, start = 1, 19 // of the fields after the name
	i := bytes.LastIndexByte(line, ')')
	fields := bytes.Fields(line[i+1:])
	if i < 0 || len(fields) <= start || len(fields[0]) != 1 {
		return process{}, false
	}
	ppid, err := strconv.Atoi(string(fields[parent]))
	began, err2 := strconv.ParseUint(string(fields[start]), 10, 64)
	if err != nil || err2 != nil {
		return process{}, false
	}
	return process{pid: pid, parent: ppid, state: fields[0][0], start: began}, true
}
