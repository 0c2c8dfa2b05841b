package codex

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// Names of the programs that take part in a review.
const (
	nameCodex = "codex"
	nameHost  = "codex-code-mode-host"
	nameRG    = "rg"
)

// Source says where programs were found.
type Source string

// The sources. A codex-bin that was named is used or refused; else the order is image, cache,
// installed.
const (
	FromBin     Source = "codex-bin"
	FromImage   Source = "image"
	FromCache   Source = "cache"
	FromInstall Source = "installed"
)

// Programs are the native programs of one Codex release, ready to run. Paths are absolute.
type Programs struct {
	// Version is MAJOR.MINOR.PATCH with an optional pre-release.
	Version string
	// Dir holds the programs in the layout of their package, by which Codex finds them.
	Dir string
	// Codex is always set. CodeModeHost is empty for releases from before there was one, and for
	// an incomplete codex-bin; RG is empty when there is none.
	Codex, CodeModeHost, RG string
	// PathDir is RG's directory, or empty.
	PathDir string
	Source  Source
	// Integrity says what vouched for the package: "lock" (this recibo's lock file), "registry"
	// (its own metadata) or "" for a codex-bin.
	Integrity string

	// recorded is what was written when the programs were installed; nil for a codex-bin.
	recorded map[string]digest.SHA256
}

// paths maps the names of the programs that are there to their paths.
func (p *Programs) paths() map[string]string {
	all := map[string]string{nameCodex: p.Codex, nameHost: p.CodeModeHost, nameRG: p.RG}
	for name, path := range all {
		if path == "" {
			delete(all, name)
		}
	}
	return all
}

// ProgramDigest names the bytes of one program.
type ProgramDigest struct {
	Name   string        `json:"name"`
	SHA256 digest.SHA256 `json:"sha256"`
	Bytes  int64         `json:"bytes"`
}

// ProgramDigests names all of them.
type ProgramDigests struct {
	// Programs is sorted by name.
	Programs []ProgramDigest
	// SHA is the SHA-256 over one line a program, sorted by name: the name, a space, the
	// program's SHA-256 in lower-case hex, a newline. `sha256sum` and `sort` can repeat it.
	SHA digest.SHA256
}

// Digest hashes the programs, all at once and streaming. It is made to run beside a review: it
// takes about as long as one turn, and reads 400 MB.
func (p *Programs) Digest(ctx context.Context) (ProgramDigests, error) {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		out  ProgramDigests
		fail error
	)
	for name, path := range p.paths() {
		wg.Go(func() {
			d, err := hashProgram(ctx, name, path)
			mu.Lock()
			defer mu.Unlock()
			out.Programs = append(out.Programs, d)
			fail = errors.Join(fail, err)
		})
	}
	wg.Wait()
	if fail != nil {
		return ProgramDigests{}, fail
	}
	out.SHA = sumPrograms(out.Programs)
	return out, nil
}

// sumPrograms sorts ds by name and returns the digest over all.
func sumPrograms(ds []ProgramDigest) digest.SHA256 {
	sort.Slice(ds, func(i, j int) bool { return ds[i].Name < ds[j].Name })
	var lines strings.Builder
	for _, d := range ds {
		fmt.Fprintf(&lines, "%s %s\n", d.Name, d.SHA256)
	}
	return digest.Of([]byte(lines.String()))
}

func hashProgram(ctx context.Context, name, path string) (ProgramDigest, error) {
	f, err := os.Open(path)
	if err != nil {
		return ProgramDigest{}, fmt.Errorf("hash Codex's programs: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(h, ctxReader{ctx, f}, make([]byte, 1<<20))
	if err != nil {
		return ProgramDigest{}, fmt.Errorf("hash %q: %w", path, err)
	}
	return ProgramDigest{Name: name, SHA256: digest.SHA256(h.Sum(nil)), Bytes: n}, nil
}

// ctxReader ends reading when ctx does.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// Verify compares what was hashed with what was recorded when the programs were installed from a
// package whose integrity was checked. A program that differs, is missing or was added is an
// error of kind fault.Request. A codex-bin has no record: its digests are told, not judged.
func (p *Programs) Verify(d ProgramDigests) error {
	if p.recorded == nil {
		return nil
	}
	var wrong []string
	seen := map[string]bool{}
	for _, got := range d.Programs {
		seen[got.Name] = true
		if want, ok := p.recorded[got.Name]; !ok || want != got.SHA256 {
			wrong = append(wrong, got.Name)
		}
	}
	for name := range p.recorded {
		if !seen[name] {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	sort.Strings(wrong)
	return fault.New(fault.Request, "remove that directory and run again: Codex is then installed anew",
		"programs in %q are not those that were installed: %s", p.Dir, strings.Join(wrong, ", "))
}
