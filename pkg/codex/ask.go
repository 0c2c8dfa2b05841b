package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// versionWait bounds `codex --version`, which takes 30 ms on an idle machine.
const versionWait = 30 * time.Second

// askVersion runs the program at path and returns the version it says it has. It gets a home of
// its own, for even then it leaves files there.
func askVersion(ctx context.Context, path string) (string, error) {
	home, err := os.MkdirTemp("", "recibo-version-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	ask := boundedCommand{
		path: path, args: []string{"--version"}, dir: home, wait: versionWait,
		env: []string{"HOME=" + home, "CODEX_HOME=" + home},
	}
	var out bytes.Buffer
	ask.out = &out
	if err := ask.run(ctx); err != nil {
		return "", fmt.Errorf("run %q --version: %w", path, err)
	}
	return parseVersionOutput(out.String())
}

// parseVersionOutput reads "codex-cli 0.171.0".
func parseVersionOutput(out string) (string, error) {
	line, _, _ := strings.Cut(out, "\n")
	name, version, ok := strings.Cut(strings.TrimSpace(line), " ")
	if !ok || !strings.HasPrefix(name, "codex") {
		return "", fmt.Errorf("it answers %.80q to --version", line)
	}
	return version, nil
}

// boundedCommand is a short question to another program: no input, an environment from nothing,
// and when its time is over it goes, with all that it started.
type boundedCommand struct {
	path string
	args []string
	dir  string
	env  []string
	wait time.Duration
	out  io.Writer
}

func (b boundedCommand) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	for {
		err := b.once(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// A process that another goroutine is forking holds the program open for writing until
		// its own exec, when it was written a moment ago.
		if !errors.Is(err, syscall.ETXTBSY) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func (b boundedCommand) once(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, b.path, b.args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	cmd.Stdout = &cappedWriter{w: b.out, left: 64 << 10}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd.Run()
}

// cappedWriter drops what is over left, so that a program that talks without end is not stopped
// by a full pipe, nor remembered.
type cappedWriter struct {
	w    io.Writer
	left int
}

func (c *cappedWriter) Write(p []byte) (int, error) {
	if n := min(len(p), c.left); n > 0 {
		c.left -= n
		if _, err := c.w.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
