package command

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/recibo-ci/recibo/pkg/codex"
	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/gateway"
	"github.com/recibo-ci/recibo/pkg/identity"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/wire"
)

var errTimeout = errors.New("the time was up")

// session is the part of a review in which Codex runs.
type session struct {
	*reviewing
	programs *codex.Programs
	home     codex.Home
	tree     tree
	chain    identity.Chain
	context  []byte
	watch    *codex.Watch
	result   *codex.Result
	digests  codex.ProgramDigests

	// mu guards what the gateway's callback writes.
	mu      sync.Mutex
	records []wire.Record
	wire    []byte
	bodies  bytes.Buffer
}

// runCodex lays out the tree, finds Codex, learns what it sends, and runs it behind the gateway.
func (r *reviewing) runCodex(ctx context.Context) (err error) {
	s := &session{reviewing: r}
	if err := codex.Sweep(r.place.state, r.world.Now()); err != nil {
		r.warn("directories of earlier runs could not be removed: " + err.Error())
	}
	if s.home, err = codex.NewHome(r.place.state); err != nil {
		return asReview(err)
	}
	defer func() { err = errors.Join(err, asReview(s.home.Remove())) }()
	defer s.keep()
	if err := s.prepare(ctx); err != nil {
		return asReview(err)
	}
	return asReview(s.converse(ctx))
}

// prepare does what can be done at the same time: Codex is found or installed while the tree is
// laid out.
func (s *session) prepare(ctx context.Context) error {
	var found, laid error
	var wg sync.WaitGroup
	wg.Go(func() { found = s.timed(&s.receipt.TimingMS.Install, func() error { return s.findCodex(ctx) }) })
	wg.Go(func() { laid = s.timed(&s.receipt.TimingMS.Tree, func() error { return s.layTree(ctx) }) })
	wg.Wait()
	if err := errors.Join(found, laid); err != nil {
		return err
	}
	if err := s.checkWorkDir(); err != nil {
		return err
	}
	if err := s.noteSkills(); err != nil {
		return asReview(err)
	}
	return s.readInstructions()
}

// timed stores how many milliseconds f took.
func (s *session) timed(into **int64, f func() error) error {
	start := s.world.Now()
	err := f()
	ms := s.world.Now().Sub(start).Milliseconds()
	*into = &ms
	return err
}

func (s *session) findCodex(ctx context.Context) (err error) {
	f := codex.Finder{
		ImageDir: imageDir, CacheDir: filepath.Join(s.place.cache, "codex"), RegistryFile: registryFile,
		Getenv: s.world.getenv, Progress: s.progress(), Warn: s.warnLocked,
	}
	s.programs, err = f.Find(ctx, codex.Want{Version: s.opt.codexVersion, Bin: s.opt.codexBin, Workspace: s.place.root})
	if err != nil {
		return err
	}
	if !s.jail.canRead(filepath.Dir(s.programs.Codex)) {
		if s.programs, err = s.programs.Place(filepath.Join(s.home.Root, "programs")); err != nil {
			return err
		}
	}
	c := &s.receipt.Run.Codex
	s.receipt.CodexVersion = receipt.Text(s.programs.Version)
	c.Source, c.Integrity = receipt.Text(s.programs.Source), receipt.Text(s.programs.Integrity)
	return nil
}

// Where the image keeps what it brings.
const (
	imageDir     = "/opt/recibo/codex"
	registryFile = "/etc/recibo/npm-registry"
)

func (s *session) warnLocked(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warn(text)
}

// progress prints a line every tenth of a download.
func (s *session) progress() func(done, total int64) {
	next := int64(0)
	return func(done, total int64) {
		if total <= 0 || done*10/total < next {
			return
		}
		next = done*10/total + 1
		s.log.Printf("installing Codex: %d of %d MB", done>>20, total>>20)
	}
}

// readInstructions reads what steers the agent beside the prompt, from the tree it will read.
func (s *session) readInstructions() (err error) {
	if s.chain, err = identity.LoadChain(s.tree.dir, s.opt.workingDirectory); err != nil {
		return asReview(err)
	}
	s.receipt.AgentsChainSHA = receipt.Digest(s.chain.SHA())
	for _, d := range s.chain {
		s.receipt.AgentsMD.Files = append(s.receipt.AgentsMD.Files, receipt.AgentsFile{
			Path: d.Path, SHA: receipt.Digest(d.SHA), Bytes: d.Size, Loaded: len(d.Loaded) > 0, Truncated: d.Truncated,
		})
	}
	s.context = s.contextMessage()
	if s.context != nil {
		s.receipt.ContextSHA = receipt.Digest(digest.Of(s.context))
	}
	return nil
}

// converse is the conversation itself: Codex on one side of the gateway, the endpoint on the
// other.
func (s *session) converse(ctx context.Context) error {
	run := s.run()
	control, err := s.learn(ctx, run)
	if err != nil {
		return err
	}
	s.receipt.Wire.ControlSHA = receipt.Digest(control.Key)
	s.watch = &codex.Watch{Expect: codex.Expectation{
		Control: control, Context: s.context, Instructions: s.chain.Compose(), Prompt: s.guide.prompt.Bytes(), Schema: s.guide.schema.Bytes(), Dir: run.Dir,
	}}
	g, err := s.startGateway(ctx)
	if err != nil {
		return err
	}
	run.Config.BaseURL = g.BaseURL()
	if run.Endpoint, err = hostOf(g.BaseURL()); err != nil {
		return err
	}
	s.log.Group("Codex " + s.programs.Version)
	err = s.timed(&s.receipt.TimingMS.Codex, func() error { return s.runBesideHashing(ctx, run) })
	s.log.EndGroup()
	s.jail.note(s.receipt)
	// What the gateway knows is complete once it is closed.
	closed := s.close(g)
	if err == nil {
		err = s.outcome(g)
	}
	return errors.Join(err, closed)
}

// closeTime is how long the gateway's last requests may take to be written down.
const closeTime = 5 * time.Second

func (s *session) close(g *gateway.Gateway) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return g.Close(ctx)
}

// outcome says why there is no review, as near to the cause as it is known: what the gateway
// refused or could not reach explains what Codex then reported.
func (s *session) outcome(g *gateway.Gateway) error {
	res := s.result
	if res.Exit == nil && res.Message != nil {
		return nil
	}
	var mismatch *codex.MismatchError
	switch err := g.Err(); {
	case errors.As(err, &mismatch):
		return fault.New(fault.Review, "something puts text into the request that recibo does not know: a skill named in the prompt, a configuration, another Codex", "%w", err)
	case err != nil:
		return asReview(err)
	case res.Exit == nil:
		return fault.New(fault.Review, "see events.jsonl in the artifacts directory", "Codex ended without a last message")
	}
	said := lastLine(string(res.Stderr.Bytes()))
	if n := len(res.Failures); n > 0 {
		said = oneLine(res.Failures[n-1])
	}
	return fault.New(fault.Review, "see events.jsonl in the artifacts directory", "Codex failed (%w): %s", res.Exit, said)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return oneLine(lines[len(lines)-1])
}

func (s *session) run() codex.Run {
	return codex.Run{
		Programs: s.programs, Home: s.home, Args: s.opt.codexArgs, Launch: s.jail.launch,
		Config: codex.Config{Context: s.context, SkillsOff: s.tree.skills, Model: s.opt.model, Effort: s.opt.effort},
		Dir:    filepath.Join(s.tree.dir, filepath.FromSlash(s.opt.workingDirectory)), Tree: s.tree.dir, GitDir: s.tree.gitDir,
		Schema: s.guide.schema.Bytes(), Prompt: s.guide.prompt.Bytes(), Seen: s.follow(), Writable: s.opt.writable,
	}
}

func (s *session) learn(ctx context.Context, run codex.Run) (c *codex.Control, err error) {
	l := codex.Learner{CacheDir: s.place.cache, Base: s.place.state, Launch: run.Launch}
	err = s.timed(&s.receipt.TimingMS.Control, func() error {
		c, err = l.Learn(ctx, run)
		return err
	})
	return c, err
}

func (s *session) startGateway(ctx context.Context) (*gateway.Gateway, error) {
	cfg := s.gate
	cfg.Inspect, cfg.Record, cfg.Now = s.watch.Inspect, s.record, s.world.Now
	s.receipt.Wire.Record = "digests"
	if s.opt.wireFull {
		s.receipt.Wire.Record = "full"
		cfg.Session = &s.bodies
		cfg.SessionHeader = wire.Header{Origin: s.sessionOrigin(), CodexVersion: s.programs.Version, PromptSHA: s.guide.prompt.SHA}
	}
	return gateway.Start(ctx, cfg)
}

// sessionOrigin is what a recording of this run may claim: a replay recorded again is no more
// than it was.
func (s *session) sessionOrigin() string {
	if s.receipt.Wire.Origin == receipt.OriginLive {
		return wire.Recorded
	}
	return string(s.receipt.Wire.Origin)
}

// record keeps a line of wire.jsonl. The gateway calls it in order, one at a time.
func (s *session) record(rec wire.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, rec)
	// A record holds only strings, numbers and booleans, and so always has a line.
	if wire, err := rec.AppendLine(s.wire); err == nil {
		s.wire = wire
	}
}

// runBesideHashing hashes the programs while they run, and judges before anything leaves.
func (s *session) runBesideHashing(ctx context.Context, run codex.Run) error {
	var hashed error
	var wg sync.WaitGroup
	wg.Go(func() { s.digests, hashed = s.programs.Digest(ctx) })
	result, err := run.Do(ctx)
	wg.Wait()
	s.result = result
	if err != nil || hashed != nil {
		return errors.Join(err, hashed)
	}
	return s.programs.Verify(s.digests)
}

func hostOf(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", err
	}
	return u.Host, nil
}
