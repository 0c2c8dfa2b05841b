package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/wire"
)

// What a control run is given in the places of the real texts.
const (
	controlContext = "recibo: control context"
	controlPrompt  = "recibo: control prompt"
	controlURL     = "http://127.0.0.1:0/v1"
	controlSchema  = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`
	controlTime    = 30 * time.Second
)

// Control is what Codex brings into a first request by itself: learned once by running it in an
// empty repository against an endpoint of our own, for one set of programs, model and
// configuration.
type Control struct {
	Key             digest.SHA256 `json:"key"`
	Model           string        `json:"model"`
	InstructionsSHA digest.SHA256 `json:"instructions_sha"`
	ToolsSHA        digest.SHA256 `json:"tools_sha"`
	Parameters      string        `json:"parameters"`
	Parts           []Part        `json:"parts"`
	Dir             string        `json:"dir"`
}

// Learner runs control requests and keeps what they showed.
type Learner struct {
	// CacheDir keeps one file a key; "" keeps nothing.
	CacheDir string
	// Base is where the private run directory is made.
	Base   string
	Launch Launcher
}

// Learn returns the control for like, which is the run to come: same programs, configuration and
// arguments, other texts.
func (l Learner) Learn(ctx context.Context, like Run) (*Control, error) {
	programs, err := like.Programs.claimed(ctx)
	if err != nil {
		return nil, err
	}
	like.Config.BaseURL = controlURL
	like.Config.SkillsOff = nil
	if len(like.Config.Context) > 0 {
		like.Config.Context = []byte(controlContext)
	}
	key := controlKey(like, programs)
	if c := l.load(key); c != nil {
		return c, nil
	}
	c, err := l.ask(ctx, like)
	if err != nil {
		return nil, fmt.Errorf("learn what Codex %s sends by itself: %w", like.Programs.Version, err)
	}
	c.Key = key
	return c, l.keep(c)
}

// claimed is the digest of what was recorded when the programs were installed. That they still
// are those is checked beside the run and judged before anything leaves; programs without a
// record are hashed here.
func (p *Programs) claimed(ctx context.Context) (digest.SHA256, error) {
	if p.recorded == nil {
		d, err := p.Digest(ctx)
		return d.SHA, err
	}
	var all []ProgramDigest
	for name, sha := range p.recorded {
		all = append(all, ProgramDigest{Name: name, SHA256: sha})
	}
	return sumPrograms(all), nil
}

func controlKey(r Run, programs digest.SHA256) digest.SHA256 {
	// Marshal cannot fail on strings.
	b, _ := json.Marshal([]any{"control 1", programs.String(), string(r.Config.TOML()), r.Args, os.Getuid()})
	return digest.Of(b)
}

func (l Learner) file(key digest.SHA256) string {
	return filepath.Join(l.CacheDir, "control-"+key.String()+".json")
}

// load returns nil when nothing is kept or when what is kept is damaged: it can be learned again.
func (l Learner) load(key digest.SHA256) *Control {
	if l.CacheDir == "" {
		return nil
	}
	data, err := os.ReadFile(l.file(key))
	if err != nil {
		return nil
	}
	var c Control
	if json.Unmarshal(data, &c) != nil || c.Key != key || len(c.Parts) == 0 {
		return nil
	}
	return &c
}

func (l Learner) keep(c *Control) error {
	if l.CacheDir == "" {
		return nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return disk.Write(l.file(c.Key), data, 0o644)
}

func (l Learner) ask(ctx context.Context, r Run) (c *Control, err error) {
	ctx, cancel := context.WithTimeout(ctx, controlTime)
	defer cancel()
	r.Home, err = NewHome(l.Base)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Home.Remove()) }()
	if r.Tree, err = emptyRepository(r.Home); err != nil {
		return nil, err
	}
	r.Dir, r.GitDir, r.Writable = r.Tree, "", false
	r.Prompt, r.Schema = []byte(controlPrompt), []byte(controlSchema)
	e, err := listenOnce()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	r.Endpoint, r.Config.BaseURL = e.address(), "http://"+e.address()+"/v1"
	r.Seen = nil
	res, err := r.Do(ctx)
	if err != nil {
		return nil, err
	}
	body := e.body()
	if body == nil {
		return nil, fmt.Errorf("it sent no request (%w); it said: %s", errors.Join(res.Exit, ctx.Err()), cut(string(res.Stderr.Bytes())))
	}
	return newControl(body, r.Dir)
}

func newControl(body []byte, dir string) (*Control, error) {
	req, err := wire.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	params, err := parameters(req)
	if err != nil {
		return nil, err
	}
	return &Control{Model: req.Model, InstructionsSHA: req.InstructionsSHA(), ToolsSHA: req.ToolsSHA(), Parameters: params, Parts: parts(req), Dir: dir}, nil
}

// emptyRepository makes the least that Codex takes for a repository, without a process.
func emptyRepository(h Home) (string, error) {
	tree := filepath.Join(h.Root, "tree")
	return tree, errors.Join(
		os.MkdirAll(filepath.Join(tree, ".git", "objects"), 0o755),
		os.MkdirAll(filepath.Join(tree, ".git", "refs"), 0o755),
		os.WriteFile(filepath.Join(tree, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644),
	)
}

// once is an endpoint that remembers the first request and answers every one with a final
// message.
type once struct {
	listener net.Listener
	server   *http.Server
	first    chan []byte
	served   chan error
}

func listenOnce() (*once, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &once{listener: ln, first: make(chan []byte, 1), served: make(chan error, 1)}
	e.server = &http.Server{Handler: http.HandlerFunc(e.serve), ReadHeaderTimeout: controlTime}
	go func() { e.served <- e.server.Serve(ln) }()
	return e, nil
}

func (e *once) address() string { return e.listener.Addr().String() }

func (e *once) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 32<<20))
	if err != nil || req.Method != http.MethodPost {
		http.Error(w, "unexpected", http.StatusBadRequest)
		return
	}
	select {
	case e.first <- body:
	default:
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"control\"}}\n\n",
		"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"{}\"}]}}\n\n",
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"control\",\"usage\":{\"input_tokens\":0,\"output_tokens\":0,\"total_tokens\":0}}}\n\n")
}

func (e *once) body() []byte {
	select {
	case b := <-e.first:
		return b
	default:
		return nil
	}
}

func (e *once) close() error {
	err := e.server.Close()
	if serr := <-e.served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
