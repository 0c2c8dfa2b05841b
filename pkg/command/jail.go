package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/recibo-ci/recibo/pkg/codex"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/sandbox"
)

// jail runs Codex behind the walls of the sandbox, where there are any.
type jail struct {
	report sandbox.Report
	// more are directories that may be read beside those a command names.
	more []string

	mu      sync.Mutex
	sockets sandbox.Sockets
}

// morePaths is what an agent reads beyond what programs need to run: /proc, by which a shell's
// <(command) works (what belongs to other users is closed to it there), and what holds Codex.
func morePaths() []string { return []string{"/proc", "/etc/codex"} }

// launch is a codex.Launcher.
func (j *jail) launch(ctx context.Context, c codex.Command) (codex.Process, error) {
	if j.report.Level == sandbox.None {
		return codex.Direct(ctx, c)
	}
	policy := sandbox.Policy{Gateway: c.Endpoint, Write: c.Write}
	policy.Read = slices.Concat(sandbox.SystemPaths(), morePaths(), j.more, c.Read)
	for _, dir := range c.Write {
		if err := sandbox.LayOwner(dir, j.report.UID, j.report.UID); err != nil {
			return nil, fmt.Errorf("give %q to the agent's user: %w", dir, err)
		}
	}
	p, err := sandbox.Start(ctx, policy, sandbox.Command{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
	})
	if err != nil {
		return nil, err
	}
	return &jailed{jail: j, process: p}, nil
}

type jailed struct {
	jail    *jail
	process *sandbox.Process
}

// Wait implements codex.Process.
func (p *jailed) Wait() error {
	state, err := p.process.Wait()
	p.jail.mu.Lock()
	p.jail.sockets = state.Sockets
	p.jail.mu.Unlock()
	switch {
	case err != nil:
		return err
	case state.Cause == sandbox.CauseDisk:
		return fault.New(fault.Review, "free disk space on the runner", "the jail was ended: the disk is almost full")
	case state.Signal != "":
		return fmt.Errorf("signal: %s", state.Signal)
	case state.Code != 0:
		return fmt.Errorf("exit status %d", state.Code)
	}
	return nil
}

// Kill implements codex.Process.
func (p *jailed) Kill() { _ = p.process.Kill() }

// canRead says whether the agent's user may read all of dirs: by their modes and those of the
// directories above, since the user is nobody's.
func (j *jail) canRead(dirs ...string) bool {
	if j.report.Level == sandbox.None || j.report.UID == os.Getuid() {
		return true
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o005 != 0o005 {
			return false
		}
		for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
			info, err := os.Stat(up)
			if err != nil || info.Mode().Perm()&0o001 == 0 {
				return false
			}
			if up == filepath.Dir(up) {
				break
			}
		}
	}
	return true
}

// note writes what held the agent into the receipt.
func (j *jail) note(rec *receipt.Receipt) {
	rec.Jail = receipt.Jail{Level: string(j.report.Level), Missing: j.report.Missing}
	rec.Egress.Enforced = j.report.Level == sandbox.Full
}

// checkJail refuses to run an agent on CI with less than the whole jail, unless somebody said so.
func (r *reviewing) checkJail() error {
	r.jail = &jail{report: sandbox.Probe()}
	r.jail.note(r.receipt)
	if r.jail.report.Level == sandbox.Full {
		return nil
	}
	missing := "everything"
	if n := len(r.jail.report.Missing); n > 0 {
		missing = fmt.Sprintf("%s (%d walls are missing)", r.jail.report.Missing[0], n)
	}
	if r.facts.Actions && !r.opt.allowUnsandboxed {
		return fault.New(fault.Request, "run as the Docker action on a Linux runner with Landlock, or set allow-unsandboxed: true if you trust every pull request",
			"jail the agent: the jail is %s: %s", r.jail.report.Level, missing)
	}
	r.warn(fmt.Sprintf("the jail is %s: %s", r.jail.report.Level, missing))
	return nil
}
