package sandbox

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// diskInterval is how often the free disk is looked at.
const diskInterval = 100 * time.Millisecond

// warden is the process between the caller and the program. It holds no secret. All that the
// program starts and leaves becomes its child, so that "no child left" means "nothing left".
type warden struct {
	control *net.UnixConn
	tell    *gob.Encoder
	order   order
	broker  *broker
}

func serveAsWarden() (code int) {
	w, err := newWarden()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program, err := w.start()
	if err != nil {
		if program != 0 {
			_, left := adopt(program).end(killLimit)
			err = errors.Join(err, left)
		}
		_ = w.tell.Encode(reply{Failure: err.Error(), Hint: w.hint()})
		return 1
	}
	// Where this fails the caller is gone, which the watch sees too, and ends the program.
	_ = w.tell.Encode(reply{})
	state, err := w.watch(program)
	r := reply{Exit: &state}
	if err != nil {
		r.Failure = err.Error()
	}
	if err := w.tell.Encode(r); err != nil {
		return 1
	}
	return 0
}

func newWarden() (*warden, error) {
	conn, err := net.FileConn(os.NewFile(controlFD, "caller"))
	if err != nil {
		return nil, fmt.Errorf("start a warden by hand: %w", err)
	}
	control, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("start a warden by hand: descriptor %d is a %T", controlFD, conn)
	}
	unix.CloseOnExec(controlFD)
	w := &warden{control: control, tell: gob.NewEncoder(control)}
	if err := gob.NewDecoder(control).Decode(&w.order); err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	return w, nil
}

// hint is for a program that could not be started, which in practice is a matter of paths.
func (w *warden) hint() string {
	if w.order.has(wallUser) {
		return fmt.Sprintf("user %d must be able to reach the program, the working directory and every directory above them", w.order.Policy.UID)
	}
	return "look whether the paths exist and can be read"
}

// start brings the program up behind its walls and returns its process id, which with an error is
// 0 where there is no process.
func (w *warden) start() (program int, err error) {
	if err := Harden(); err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("adopt what the program leaves: %w", err)
	}
	dir, err := w.short()
	if err != nil {
		return 0, err
	}
	if dir != "" {
		return 0, fmt.Errorf("less than %d bytes are free at %q", w.order.Policy.Limits.FreeBytes, dir)
	}
	if w.broker, err = newBroker(w.order.Policy.Gateway, w.order.Policy.MaxSockets, w.order.has(wallSocketCap)); err != nil {
		return 0, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("make socket to the program: %w", err)
	}
	above, below := pair[0], os.NewFile(uintptr(pair[1]), "below")
	defer unix.Close(above)
	process, err := os.StartProcess("/proc/self/exe", []string{"recibo", argWalls}, &os.ProcAttr{
		Env:   []string{},
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, below},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	below.Close()
	if err != nil {
		return 0, err
	}
	return process.Pid, errors.Join(w.letInputGo(), w.instruct(above))
}

func (w *warden) short() (string, error) {
	if !w.order.has(wallLimits) {
		return "", nil
	}
	return short(w.order.Policy.Write, w.order.Policy.Limits.FreeBytes)
}

// letInputGo leaves the program as the only reader of its input, so that the writer learns when
// it has stopped reading.
func (w *warden) letInputGo() error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	return unix.Dup3(int(null.Fd()), 0, 0)
}

// instruct tells the process below what to become, takes over its listener, and waits until it
// has become that or says why not.
func (w *warden) instruct(below int) error {
	if err := gob.NewEncoder(writerFD(below)).Encode(w.order); err != nil {
		return fmt.Errorf("send order: %w", err)
	}
	if err := unix.Shutdown(below, unix.SHUT_WR); err != nil {
		return fmt.Errorf("send order: %w", err)
	}
	said, listener, err := receive(below)
	if err != nil {
		return fmt.Errorf("hear from the process below: %w", err)
	}
	if listener >= 0 {
		go w.broker.serve(listener)
		said = nil
	}
	rest, err := io.ReadAll(readerFD(below))
	if err != nil {
		return fmt.Errorf("hear from the process below: %w", err)
	}
	if failure := string(said) + string(rest); failure != "" {
		return fmt.Errorf("%s", failure)
	}
	if listener < 0 && w.order.has(wallBroker) {
		return fmt.Errorf("the program began without its broker")
	}
	return nil
}

// receive returns the first bytes of a stream and the descriptor that came with them, or -1.
func receive(fd int) (said []byte, passed int, err error) {
	said, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	var n, oobn int
	for {
		n, oobn, _, _, err = unix.Recvmsg(fd, said, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil || oobn == 0 {
		return said[:max(n, 0)], -1, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, -1, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, -1, err
	}
	return said[:n], fds[0], nil
}

// watch waits until the program has ended or must be ended, and then until nothing is left.
func (w *warden) watch(program int) (ExitState, error) {
	var state ExitState
	family := adopt(program)
	gone := w.callerGone()
	tick := time.NewTicker(diskInterval)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-family.ended:
			running = false
		case <-gone:
			state.Cause, running = CauseKilled, false
		case <-tick.C:
			if dir, err := w.short(); err != nil || dir != "" {
				state.Cause, running = CauseDisk, false
			}
		}
	}
	var err error
	if w.order.has(wallReaping) {
		state.Leftover, err = family.end(killLimit)
	}
	state.exited(family)
	state.Sockets = w.broker.sockets()
	return state, err
}

// callerGone is closed when the caller asks for the end, or has come to its own.
func (w *warden) callerGone() <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, w.control)
	}()
	return gone
}

// exited fills in how the program ended, or -1 where it could not be brought to an end.
func (s *ExitState) exited(f *family) {
	s.Code = -1
	select {
	case <-f.ended:
	default:
		return
	}
	if f.last.Signaled() {
		s.Signal = f.last.Signal().String()
		return
	}
	s.Code = f.last.ExitStatus()
}
