package codex

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p := &Programs{Codex: path("codex", "abc"), CodeModeHost: path("host", ""), RG: path("ripgrep", "rg")}
	got, err := p.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The first two are test vectors of FIPS 180-4.
	const (
		ofABC   = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
		ofEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	)
	ofRG := fmt.Sprintf("%x", sha256.Sum256([]byte("rg")))
	lines := "codex " + ofABC + "\ncodex-code-mode-host " + ofEmpty + "\nrg " + ofRG + "\n"
	parse := func(s string) digest.SHA256 {
		d, err := digest.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := ProgramDigests{
		Programs: []ProgramDigest{
			{Name: "codex", SHA256: parse(ofABC), Bytes: 3},
			{Name: "codex-code-mode-host", SHA256: parse(ofEmpty)},
			{Name: "rg", SHA256: parse(ofRG), Bytes: 2},
		},
		SHA: sha256.Sum256([]byte(lines)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
	// A program that is not there does not count as an empty one.
	p.CodeModeHost = ""
	without, err := p.Digest(t.Context())
	if err != nil || without.SHA == got.SHA || len(without.Programs) != 2 {
		t.Errorf("without the host: %+v, %v", without, err)
	}
}

func TestDigestFails(t *testing.T) {
	t.Parallel()
	p := &Programs{Codex: filepath.Join(t.TempDir(), "codex")}
	if got, err := p.Digest(t.Context()); !errors.Is(err, fs.ErrNotExist) || len(got.Programs) != 0 {
		t.Errorf("a missing program: %+v, %v", got, err)
	}
	if err := os.WriteFile(p.Codex, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := p.Digest(ctx); !errors.Is(err, context.Canceled) || !got.SHA.IsZero() {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	a, b := digest.Of([]byte("a")), digest.Of([]byte("b"))
	recorded := map[string]digest.SHA256{"codex": a, "rg": b}
	cases := map[string]struct {
		recorded map[string]digest.SHA256
		got      []ProgramDigest
		wrong    string
	}{
		"same":      {recorded: recorded, got: []ProgramDigest{{Name: "codex", SHA256: a}, {Name: "rg", SHA256: b}}},
		"codex_bin": {got: []ProgramDigest{{Name: "codex", SHA256: b}}},
		"changed":   {recorded: recorded, got: []ProgramDigest{{Name: "codex", SHA256: b}, {Name: "rg", SHA256: b}}, wrong: "codex"},
		"missing":   {recorded: recorded, got: []ProgramDigest{{Name: "codex", SHA256: a}}, wrong: "rg"},
		"added":     {recorded: recorded, got: []ProgramDigest{{Name: "codex", SHA256: a}, {Name: "more", SHA256: a}, {Name: "rg", SHA256: b}}, wrong: "more"},
		"nothing":   {recorded: recorded, wrong: "codex, rg"},
	}
	for name, c := range cases {
		p := &Programs{Dir: "/dir", recorded: c.recorded}
		err := p.Verify(ProgramDigests{Programs: c.got})
		if c.wrong == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		checkFault(t, err, fault.Request, "/dir", c.wrong)
	}
}
