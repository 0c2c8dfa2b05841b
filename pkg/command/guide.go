package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/gateway"
	"github.com/recibo-ci/recibo/pkg/identity"
	"github.com/recibo-ci/recibo/pkg/prompt"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

// guideMax bounds the tools file and the schema, in bytes.
const guideMax = 4 << 20

// guide is what the team gives the agent: prompt, declared tools, schema. Each is read once.
type guide struct {
	prompt prompt.Prompt
	tools  *identity.Tools
	schema *review.Schema
}

// readGuide reads prompt, tools and schema. Nothing has been started or asked yet.
func (r *reviewing) readGuide(context.Context) (err error) {
	g := &r.guide
	if g.prompt, err = prompt.Load(prompt.Source{Inline: r.opt.prompt, File: r.opt.promptFile, Root: r.place.root}); err != nil {
		return err
	}
	r.notePrompt()
	if g.tools, err = r.readTools(); err != nil {
		return err
	}
	if g.tools != nil {
		r.receipt.ToolsSHA = receipt.Digest(g.tools.SHA)
		r.receipt.Instructions.ToolsPath = receipt.Text(g.tools.Path)
	}
	if g.schema, err = r.readSchema(); err != nil {
		return err
	}
	r.receipt.SchemaSHA = receipt.Digest(g.schema.SHA())
	r.receipt.Instructions.SchemaPath = receipt.Text(r.opt.schemaFile)
	return r.connect()
}

func (r *reviewing) notePrompt() {
	p := r.guide.prompt
	size := int64(len(p.Bytes()))
	r.receipt.PromptSHA, r.receipt.PromptBytes = receipt.Digest(p.SHA), &size
	r.receipt.PromptPath, r.receipt.Prompt.Source = receipt.Text(p.Path), receipt.PromptFile
	if p.Path == "" {
		r.receipt.Prompt.Source = receipt.PromptInline
	}
}

// notePromptBlob names the prompt file's Git object in the checkout's commit, when that holds the
// very bytes that are sent, and warns when it holds others.
func (r *reviewing) notePromptBlob(ctx context.Context, head string) error {
	p := r.guide.prompt
	if p.Path == "" {
		return nil
	}
	blob, err := r.repo.Blob(ctx, head, p.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.warn(fmt.Sprintf("the prompt %q is not committed in %.12s", p.Path, head))
	case err != nil:
		return err
	case bytes.Equal(blob.Data, p.Bytes()):
		r.receipt.Prompt.Blob = receipt.Text(blob.ID)
	default:
		r.warn(fmt.Sprintf("the prompt %q differs from what is committed in %.12s", p.Path, head))
	}
	return nil
}

// readInside reads a file of the repository; symbolic links are followed inside it only.
func (r *reviewing) readInside(input, name string) ([]byte, error) {
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(r.place.root, name)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, fault.New(fault.Request, "name a file of the repository", "read %s %q: it lies outside the repository", input, name)
		}
		name = rel
	}
	root, err := os.OpenRoot(r.place.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, fault.New(fault.Request, "check the path; it is relative to the repository's root", "read %s %q: %w", input, name, err)
	}
	if !info.Mode().IsRegular() || info.Size() > guideMax {
		return nil, fault.New(fault.Request, "name a regular file of at most 4 MiB", "read %s %q: it is a %s of %d bytes", input, name, kindOf(info), info.Size())
	}
	return root.ReadFile(filepath.FromSlash(name))
}

func kindOf(info fs.FileInfo) string {
	if info.IsDir() {
		return "directory"
	}
	return "file"
}

func (r *reviewing) readTools() (*identity.Tools, error) {
	data, err := r.readInside("tools-file", r.opt.toolsFile)
	if errors.Is(err, fs.ErrNotExist) && !r.opt.toolsNamed {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tools, err := identity.ParseTools(filepath.ToSlash(r.opt.toolsFile), data)
	if err != nil {
		return nil, fault.New(fault.Request, "mend the file, or name another with tools-file", "%w", err)
	}
	return tools, nil
}

// readSchema also finds what the model's provider would refuse, before anything is spent on it.
func (r *reviewing) readSchema() (*review.Schema, error) {
	data := []byte(r.opt.schema)
	if r.opt.schemaFile != "" {
		var err error
		if data, err = r.readInside("output-schema-file", r.opt.schemaFile); err != nil {
			return nil, err
		}
	}
	if len(data) == 0 {
		return review.BuiltIn(), nil
	}
	schema, err := review.LoadSchema(data)
	if err != nil {
		return nil, asRequest(err)
	}
	if !hasFindings(data) {
		return nil, fault.New(fault.Request, "give the review a list `findings`: of objects as in the built-in schema, of strings, or as Codex's own review example has it",
			"check the output schema: it asks for no `findings`, so recibo could not read the review")
	}
	if problems := schema.StructuredOutputProblems(); len(problems) > 0 {
		p := problems[0]
		return nil, fault.New(fault.Request, "mend the schema: structured outputs refuse it, and the run would be paid for nothing",
			"check the output schema: at %s: %s (%d problems in all)", p.Path, p.What, len(problems))
	}
	return schema, nil
}

// hasFindings says whether a schema asks for a member findings at the top.
func hasFindings(schema []byte) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Properties["findings"] != nil
}

// connect opens the bottom of the stack: the live endpoint, or a session that is replayed. A
// session that was made with another prompt is refused: its answers are about something else.
func (r *reviewing) connect() (err error) {
	out := &r.receipt.Wire
	out.Endpoint, out.Origin = receipt.Text(r.opt.endpoint.Host()), receipt.OriginLive
	if !r.opt.endpoint.IsReplay() {
		r.gate.Upstream, err = gateway.Live(r.opt.endpoint, r.opt.key, gateway.Dialing{Proxy: gateway.EnvironmentProxy(r.world.getenv)})
		return err
	}
	f, err := os.Open(r.path(r.opt.endpoint.Session))
	if err != nil {
		return fault.New(fault.Request, "give the path of a session file; a relative one starts at the repository's root", "replay %q: %w", r.opt.endpoint.Session, err)
	}
	defer f.Close()
	out.Endpoint = "replay"
	upstream, header, err := gateway.Replay(f)
	if err != nil {
		return fmt.Errorf("replay %q: %w", r.opt.endpoint.Session, err)
	}
	if header.PromptSHA != r.guide.prompt.SHA {
		return fault.New(fault.Request, "replay a session of this prompt, or ask the real model",
			"replay %q: it was made with the prompt %.12s, this run has %.12s", r.opt.endpoint.Session, header.PromptSHA, r.guide.prompt.SHA)
	}
	r.gate.Upstream, out.Origin = upstream, receipt.Text(header.Origin)
	return nil
}
