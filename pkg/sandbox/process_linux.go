package sandbox

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
	"golang.org/x/sys/unix"
)

const (
	// startLimit bounds how long a jail may take to come up.
	startLimit = 10 * time.Second
	// drainLimit is how long output that is already written may take to be read.
	drainLimit = 2 * time.Second
)

// Process is a program in its jail.
type Process struct {
	report  Report
	warden  *exec.Cmd
	control *net.UnixConn
	hear    *gob.Decoder
	release func() bool

	done  chan struct{}
	state ExitState
	err   error
}

// Start puts a jail up and runs c in it. It comes back when the program has begun. The jail is
// ended when ctx is done, on Kill, when this process dies, and when the program ends.
//
// The walls are those of Probe without Policy.Without: Process.Report says which. Whether they
// are enough is the caller's to decide, before.
func Start(ctx context.Context, p Policy, c Command) (*Process, error) {
	return start(ctx, Probe(), p, c)
}

func start(ctx context.Context, report Report, p Policy, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	report, err := report.without(p.Without)
	if err != nil {
		return nil, err
	}
	if p, err = p.filled(); err != nil {
		return nil, err
	}
	if report.has(wallUser) {
		report.UID = p.UID
	}
	jail := &Process{report: report, done: make(chan struct{})}
	o := order{Policy: p, Walls: report.Walls, ABI: report.LandlockABI, Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir}
	if !report.has(wallEnvironment) {
		o.Env = append(os.Environ(), c.Env...)
	}
	if err := jail.launch(ctx, c, o); err != nil {
		return nil, err
	}
	go jail.follow()
	jail.release = context.AfterFunc(ctx, jail.hangUp)
	return jail, nil
}

// launch starts the warden and waits until it says that the program runs.
func (p *Process) launch(ctx context.Context, c Command, o order) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make socket to the warden: %w", err)
	}
	above, below := os.NewFile(uintptr(pair[0]), "above"), os.NewFile(uintptr(pair[1]), "below")
	defer above.Close()
	defer below.Close()
	conn, err := net.FileConn(above)
	if err != nil {
		return fmt.Errorf("make socket to the warden: %w", err)
	}
	p.control = conn.(*net.UnixConn)
	// The caller's own environment holds its secrets and its orders to itself: the warden gets
	// none of it. A session of its own keeps a terminal's Ctrl-C away, which the caller handles.
	p.warden = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"recibo", argWarden}, Env: []string{}, Dir: "/",
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		ExtraFiles:  []*os.File{below},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		WaitDelay:   drainLimit,
	}
	if err := p.warden.Start(); err != nil {
		p.control.Close()
		return fmt.Errorf("start the warden: %w", err)
	}
	below.Close()
	if err := p.begin(ctx, o); err != nil {
		p.control.Close()
		return errors.Join(err, p.bury())
	}
	return nil
}

// begin sends the order and waits for the answer.
func (p *Process) begin(ctx context.Context, o order) error {
	stop := context.AfterFunc(ctx, p.hangUp)
	defer stop()
	if err := p.control.SetDeadline(time.Now().Add(startLimit)); err != nil {
		return err
	}
	if err := gob.NewEncoder(p.control).Encode(o); err != nil {
		return fmt.Errorf("send order to the warden: %w", err)
	}
	p.hear = gob.NewDecoder(p.control)
	var r reply
	if err := p.hear.Decode(&r); err != nil {
		return fault.New(fault.Review, "look for the warden's words above", "start jail: %w", errors.Join(err, ctx.Err()))
	}
	if r.Failure != "" {
		return fault.New(fault.Review, r.Hint, "start jail: %s", r.Failure)
	}
	return p.control.SetDeadline(time.Time{})
}

// bury waits for a warden that never got to its work.
func (p *Process) bury() error {
	timer := time.AfterFunc(killLimit, func() { _ = p.warden.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := p.warden.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

// follow waits for the warden's last word and for its end.
func (p *Process) follow() {
	defer close(p.done)
	var r reply
	err := p.hear.Decode(&r)
	p.control.Close()
	wait := p.warden.Wait()
	switch {
	case err != nil || r.Exit == nil:
		p.state, p.err = ExitState{Code: -1}, errors.Join(p.abandoned(), wait)
	case r.Failure != "":
		p.state, p.err = *r.Exit, fault.New(fault.Review, "do not trust what the program left", "%s", r.Failure)
	default:
		p.state, p.err = *r.Exit, wait
	}
}

// abandoned is for a warden that was killed: what it watched over may be alive. Where this is the
// first process of a container, it is certain to end with all the rest, other jails included.
func (p *Process) abandoned() error {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGKILL)
	}
	return fault.New(fault.Review, "do not trust what the program left", "the jail's warden ended without a word")
}

// Report says which walls stand around the program.
func (p *Process) Report() Report { return p.report }

// Wait waits until the program has ended and nothing it started is left, and all it wrote has
// been copied. An error means that something may be left.
func (p *Process) Wait() (ExitState, error) {
	<-p.done
	p.release()
	return p.state, p.err
}

// Kill ends the program and everything it started, and waits for that, but not for ever.
func (p *Process) Kill() error {
	p.hangUp()
	select {
	case <-p.done:
		return nil
	case <-time.After(killLimit + drainLimit + time.Second):
		return errors.Join(errors.New("the jail does not end"), p.warden.Process.Kill())
	}
}

// hangUp tells the warden to end the jail.
func (p *Process) hangUp() {
	if err := p.control.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		_ = p.warden.Process.Kill()
	}
}
