package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// outputLimit bounds answers held in memory; a listing of two million files fits.
	outputLimit = 256 << 20
	stderrLimit = 4 << 10
	// waitDelay is how long a killed process may keep its pipes open.
	waitDelay = 5 * time.Second
)

// program is the git executable and the environment that each of its processes gets.
type program struct {
	path string
	env  []string
}

func newProgram(name string) (program, error) {
	if name == "" {
		name = "git"
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return program{}, &Error{kind: err, text: fmt.Sprintf("find program %q: %v", name, err), hint: "install git"}
	}
	return program{path: path, env: environment(filepath.Dir(path))}, nil
}

// environment is made from nothing: about twenty variables can make git start a program or read
// another repository. Variables that an older git does not know are harmless to it.
func environment(bin string) []string {
	return []string{
		"PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=" + os.DevNull, // a file: nothing can be put below it
		"XDG_CONFIG_HOME=" + os.DevNull,
		"LC_ALL=C", // messages are looked at
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", // unlike protocol.allow, no configuration opens it again
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_PAGER=cat",
		"GIT_EDITOR=false",
	}
}

// guards are given to every process, although the configuration is ours: they are what is left
// where git has to look at the checkout's own directory, and they win over any file.
func guards() []string {
	return []string{
		"--no-pager", "--no-replace-objects",
		"-c", "safe.directory=*",
		"-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.attributesFile=" + os.DevNull,
		"-c", "protocol.allow=never",
	}
}

// call is one run of git. The git directory is always named: git then neither looks for one nor
// asks whose it is, which it would refuse to answer in a container (dubious ownership).
type call struct {
	gitDir   string
	workTree string // "" for questions about objects
	index    string // "" for the git directory's own
	cwd      string // workTree or gitDir when ""
	env      []string
	args     []string
	stdin    io.Reader
}

func (c call) directory() string {
	for _, dir := range []string{c.cwd, c.workTree, c.gitDir} {
		if dir != "" {
			return dir
		}
	}
	return os.DevNull // refused by the system rather than run in a directory nobody chose
}

func (c call) environment(base []string) []string {
	env := append([]string{}, base...)
	for name, value := range map[string]string{
		"GIT_DIR": c.gitDir, "GIT_WORK_TREE": c.workTree, "GIT_INDEX_FILE": c.index,
	} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(env, c.env...)
}

// process is a running git whose standard output is being read.
type process struct {
	name   string
	cmd    *exec.Cmd
	out    io.ReadCloser
	stderr tail
	cause  func() error
	detach func() bool
	once   sync.Once
	err    error
}

// start runs c. The process has a group of its own, which dies with ctx.
func (p program) start(ctx context.Context, c call) (*process, error) {
	cmd := exec.CommandContext(ctx, p.path, append(guards(), c.args...)...)
	cmd.Dir = c.directory()
	cmd.Env = c.environment(p.env)
	cmd.Stdin = c.stdin
	cmd.WaitDelay = waitDelay
	run := &process{
		name:  fmt.Sprintf("git %s in %q", c.args[0], cmd.Dir),
		cmd:   cmd,
		cause: func() error { return context.Cause(ctx) },
	}
	cmd.Stderr = &run.stderr
	cmd.Cancel = func() error { return killGroup(cmd) }
	ownGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", run.name, err)
	}
	run.out = out
	// Whoever still holds the other end must not hold the reader.
	run.detach = context.AfterFunc(ctx, func() { out.Close() })
	return run, nil
}

// Read yields git's output. The end is an error unless git succeeded.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if err == nil {
		return n, nil
	}
	if failed := p.wait(); failed != nil {
		return n, failed
	}
	// Waiting has closed the pipe: whoever reads again gets the same end, not "already closed".
	return n, io.EOF
}

// Close ends git, if it still runs, and waits for it. Output that was not read is no error.
func (p *process) Close() error {
	var early bool
	p.once.Do(func() {
		early = true
		killGroup(p.cmd)
		p.detach()
		p.cmd.Wait()
		p.err = fmt.Errorf("read %s: closed", p.name)
	})
	if early {
		return nil
	}
	return p.err
}

func (p *process) wait() error {
	p.once.Do(func() {
		err := p.cmd.Wait()
		p.detach()
		if err != nil {
			p.err = p.failure(err)
		}
	})
	return p.err
}

func (p *process) failure(err error) error {
	if cause := p.cause(); cause != nil {
		return &Error{kind: cause, text: fmt.Sprintf("%s: %v", p.name, cause)}
	}
	said := p.stderr.String()
	e := &Error{kind: err, text: fmt.Sprintf("%s: %v: %s", p.name, err, printable(said))}
	switch {
	case strings.Contains(said, "error: invalid path"):
		e.kind, e.hint = ErrPath, "remove the path from the commit: git itself does not check it out"
	case saysMissing(said):
		e.kind, e.hint = ErrMissing, hintObject
	}
	return e
}

// saysMissing knows git's words for an object that is not there; LC_ALL=C keeps them in English.
func saysMissing(stderr string) bool {
	for _, words := range []string{"unable to read", "cannot read object", "bad object", "could not fetch", "missing object", "Could not read"} {
		if strings.Contains(stderr, words) {
			return true
		}
	}
	return false
}

// output runs c to its end and returns what it printed.
func (p program) output(ctx context.Context, c call) ([]byte, error) {
	run, err := p.start(ctx, c)
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(run, outputLimit+1))
	if err == nil && len(out) > outputLimit {
		err = &Error{kind: ErrTooLarge, text: fmt.Sprintf("%s: answer over %d bytes", run.name, outputLimit)}
	}
	if closed := run.Close(); err == nil {
		err = closed
	}
	return out, err
}

// exitCode is the status git ended with, or -1 when err is something else.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return -1
}

// tail keeps the last bytes written to it: git says last why it gave up.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - stderrLimit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
