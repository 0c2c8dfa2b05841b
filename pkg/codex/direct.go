package codex

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// pipeGrace is how long output is still read after the process has ended: a child that kept the
// pipe open must not hold the run.
const pipeGrace = 2 * time.Second

// Direct is the Launcher without a jail: a process group of its own, killed whole at the end.
func Direct(ctx context.Context, c Command) (Process, error) {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = pipeGrace
	p := &direct{cmd: cmd}
	cmd.Cancel = func() error { p.Kill(); return nil }
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %q: %w", c.Path, err)
	}
	return p, nil
}

type direct struct {
	cmd *exec.Cmd
	// mu keeps a kill from reaching a process group whose number was given to somebody else.
	mu    sync.Mutex
	ended bool
}

func (p *direct) Wait() error {
	err := p.cmd.Wait()
	// The leader is reaped; what it left in its group is not.
	p.Kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	return err
}

func (p *direct) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	// A group that is gone answers ESRCH, which is what was wanted.
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}
