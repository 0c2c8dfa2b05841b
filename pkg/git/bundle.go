package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bundle is a git bundle (gitformat-bundle(5)) and the checkout to make of it.
type Bundle struct {
	File string
	// Dir is the directory to make; its parent must exist.
	Dir string
	// Commit is what to check out: a full id that the bundle holds.
	Commit string
	// Branch is the branch to check it out on, without refs/heads/; "" leaves HEAD detached.
	Branch string
	// Options say how git is run.
	Options Options
}

// Unbundle makes a checkout that holds the bundle's objects and refs. Like a tree laid out, it has
// a configuration of ours and the exact bytes of the blobs. When it fails, nothing is left.
func Unbundle(ctx context.Context, b Bundle) (Laid, error) {
	prog, err := newProgram(b.Options.Git)
	if err != nil {
		return Laid{}, err
	}
	// An unborn HEAD: git checks that HEAD is there before the objects are.
	d := gitDir{head: "ref: refs/heads/unborn", neutral: true}
	if d.format, err = bundleFormat(b.File); err != nil {
		return Laid{}, err
	}
	if !isID(b.Commit) {
		return Laid{}, badRevision(b.Commit, "a bundle needs a full commit id")
	}
	if b.Branch != "" && !plainRef("refs/heads/"+b.Branch) {
		return Laid{}, badRevision(b.Branch, "it is no plain branch name")
	}
	var laid Laid
	if laid.Dir, err = newPath(b.Dir); err != nil {
		return Laid{}, err
	}
	if err := os.Mkdir(laid.Dir, 0o755); err != nil {
		return Laid{}, err
	}
	laid.GitDir = filepath.Join(laid.Dir, ".git")
	d.path = laid.GitDir
	if err := prog.unpack(ctx, b, d, &laid); err != nil {
		return Laid{}, errors.Join(fmt.Errorf("unbundle %q: %w", b.File, err), os.RemoveAll(laid.Dir))
	}
	return laid, nil
}

func (p program) unpack(ctx context.Context, b Bundle, d gitDir, laid *Laid) error {
	if err := d.make(); err != nil {
		return err
	}
	file, err := filepath.Abs(b.File)
	if err != nil {
		return err
	}
	out, err := p.output(ctx, call{gitDir: d.path, args: []string{"bundle", "unbundle", file}})
	if err != nil {
		return err
	}
	refs, err := bundleRefs(out)
	if err != nil {
		return err
	}
	head := b.Commit
	if b.Branch != "" {
		head = "ref: refs/heads/" + b.Branch
		refs["refs/heads/"+b.Branch] = b.Commit
	}
	if err := d.write(map[string]string{"packed-refs": packedRefs(refs), "HEAD": head + "\n"}); err != nil {
		return err
	}
	// The same program as Open would make, for resolve alone.
	r := &Repository{program: p, private: d.path, place: place{gitDir: d.path}}
	found, err := r.resolve(ctx, b.Commit)
	if err != nil {
		return err
	}
	laid.Commit, laid.Tree = found[0].commit, found[0].tree
	return p.fill(ctx, laid)
}

// bundleRefs reads what `git bundle unbundle` prints; the bundle's own HEAD is not a ref.
func bundleRefs(out []byte) (map[string]string, error) {
	var kept strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.HasSuffix(line, " HEAD\n") {
			kept.WriteString(line)
		}
	}
	return parseRefs([]byte(kept.String()))
}

// bundleFormat reads the object format from a bundle's header: version 2 knows only SHA-1,
// version 3 names it as a capability.
func bundleFormat(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 4096)
	first, _ := in.ReadSlice('\n')
	switch string(first) {
	case "# v2 git bundle\n":
		return "sha1", nil
	case "# v3 git bundle\n":
	default:
		return "", fmt.Errorf("read bundle %q: not a git bundle of version 2 or 3", path)
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil || len(line) < 2 || line[0] != '@' {
			return "sha1", nil
		}
		if string(line) == "@object-format=sha256\n" {
			return "sha256", nil
		}
	}
}
