package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/recibo-ci/recibo/pkg/disk"
)

// Bounds of one run, in bytes unless they say otherwise.
const (
	messageMax = 16 << 20
	eventsHead = 8 << 20
	eventsTail = 1 << 20
	stderrHead = 64 << 10
	// failuresMax bounds how many error events are remembered.
	failuresMax = 100
	// lingerTime is how long Codex may take to exit after its last event; then it is killed and
	// what it said counts.
	lingerTime = 10 * time.Second
)

// Run is one `codex exec`.
type Run struct {
	Programs *Programs
	Home     Home
	Config   Config
	// Dir is the working directory, Tree the directory whose content the agent reads.
	Dir, Tree string
	// GitDir is set when the tree's repository does not lie in the tree itself.
	GitDir string
	// Writable lets the agent write its copy of the tree.
	Writable bool
	Args     []string
	Schema   []byte
	// Prompt is handed to standard input: these bytes, no others.
	Prompt   []byte
	Endpoint string
	Launch   Launcher
	// Seen is called for each event, in order, from one goroutine.
	Seen func(Event)
}

// Result is what a run left behind.
type Result struct {
	// Message is the last message, byte for byte; nil when there was none.
	Message []byte
	// Events and Stderr are bounded: head and tail.
	Events, Stderr *Keep
	// Failures are the texts of error events, in order.
	Failures []string
	// Ran counts the commands that ended with 0 or 1.
	Ran int
	// Completed is true when Codex said that its turn was done.
	Completed bool
	// Unread counts lines on standard output that were no event.
	Unread int
	// Exit is nil when Codex ended by itself with 0.
	Exit error
	// Lingered is true when Codex had to be killed after its turn was done.
	Lingered bool
}

// Do writes configuration and schema, runs Codex, and reads what it left. Its error is one of
// starting or reading; that Codex failed stands in Result.Exit.
func (r Run) Do(ctx context.Context) (*Result, error) {
	if err := r.prepare(); err != nil {
		return nil, err
	}
	res := &Result{Events: &Keep{Head: eventsHead, Tail: eventsTail}, Stderr: &Keep{Head: stderrHead, Tail: stderrHead}}
	if err := r.follow(ctx, res); err != nil {
		return nil, err
	}
	message, err := disk.Read(r.Home.Out, "last-message", messageMax)
	switch {
	case err == nil && len(message) > 0:
		res.Message = message
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("read Codex's last message: %w", err)
	}
	return res, nil
}

func (r Run) prepare() error {
	write := func(dir, name string, data []byte) error {
		return os.WriteFile(filepath.Join(dir, name), data, 0o644)
	}
	return errors.Join(
		write(r.Home.CodexHome, "config.toml", r.Config.TOML()),
		write(r.Home.Root, "schema.json", r.Schema),
	)
}

func (r Run) follow(ctx context.Context, res *Result) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	process, err := r.Launch(ctx, r.command(pw, res.Stderr))
	if err != nil {
		return err
	}
	read := make(chan error, 1)
	done := make(chan struct{})
	turnDone := sync.OnceFunc(func() { close(done) })
	go func() {
		unread, err := readEvents(pr, res.Events, func(e Event) {
			r.note(e, res)
			if e.Type == "turn.completed" || e.Type == "turn.failed" {
				turnDone()
			}
		})
		res.Unread = unread
		// Never leave the process without a reader.
		_, _ = io.Copy(io.Discard, pr)
		read <- err
	}()
	lingered := watchLinger(done, process)
	res.Exit = process.Wait()
	pw.Close()
	err = <-read
	res.Lingered = lingered()
	return err
}

// watchLinger kills p when it still runs lingerTime after done. The returned function ends the
// watch and says whether that was needed.
func watchLinger(done <-chan struct{}, p Process) func() bool {
	ended, killed := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-ended:
			killed <- false
			return
		case <-done:
		}
		t := time.NewTimer(lingerTime)
		defer t.Stop()
		select {
		case <-ended:
			killed <- false
		case <-t.C:
			p.Kill()
			killed <- true
		}
	}()
	return func() bool { close(ended); return <-killed }
}

func (r Run) note(e Event, res *Result) {
	if e.Type == "item.completed" && e.Item.ExitCode != nil && *e.Item.ExitCode >= 0 && *e.Item.ExitCode <= 1 {
		res.Ran++
	}
	if text := e.Failure(); text != "" && len(res.Failures) < failuresMax {
		res.Failures = append(res.Failures, text)
	}
	if e.Type == "turn.completed" {
		res.Completed = true
	}
	if r.Seen != nil {
		r.Seen(e)
	}
}

func (r Run) command(stdout, stderr io.Writer) Command {
	args := []string{"exec", "--json", "--ephemeral"}
	// Only the pinned version's configuration keys are known to be right.
	if r.Programs.Version == Pinned() {
		args = append(args, "--strict-config")
	}
	args = append(args, "--ignore-rules", "--skip-git-repo-check", "-C", r.Dir,
		// The jail is recibo's; Codex's own cannot start inside a Docker action, and then it
		// exits 0 as if it had reviewed.
		"-s", "danger-full-access",
		"--output-schema", filepath.Join(r.Home.Root, "schema.json"),
		"-o", filepath.Join(r.Home.Out, "last-message"))
	args = append(args, r.Args...)
	c := Command{
		Path: r.Programs.Codex, Args: append(args, "-"), Env: r.environ(), Dir: r.Dir,
		Stdin: bytes.NewReader(r.Prompt), Stdout: stdout, Stderr: stderr, Endpoint: r.Endpoint,
		Read: []string{r.Programs.Dir, r.Home.Root, r.Tree}, Write: r.Home.Dirs(),
	}
	if r.GitDir != "" {
		c.Read = append(c.Read, r.GitDir)
	}
	if r.Writable {
		c.Write = append(c.Write, r.Tree)
	}
	return c
}

// environ builds Codex's environment from nothing. All of it reaches the agent's shell.
func (r Run) environ() []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + r.Home.Home, "CODEX_HOME=" + r.Home.CodexHome, "TMPDIR=" + r.Home.Temp,
		"LANG=C.UTF-8", "TZ=Etc/UTC",
		// The tree belongs to another user than the agent; nothing outside it configures git.
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}
	if r.GitDir != "" {
		env = append(env, "GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+r.Tree)
	}
	return env
}
