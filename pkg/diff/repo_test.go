package diff

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entry is a file of a tree: its mode and its bytes, or the object name of a submodule.
type entry struct {
	mode string
	data string
}

// tree is the files of a commit by path.
type tree map[string]entry

func file(data string) entry { return entry{"100644", data} }

// repo is a bare repository with the branches base and head, made by git itself.
type repo struct {
	tb  testing.TB
	dir string
}

// newRepo makes a repository with the two trees. Attributes go where bare repositories read them.
func newRepo(tb testing.TB, format, attributes string, base, head tree) repo {
	tb.Helper()
	r := repo{tb, filepath.Join(tb.TempDir(), "repo.git")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	r.git("init", "--quiet", "--bare", "--object-format="+format, ".")
	if err := os.MkdirAll(filepath.Join(r.dir, "info"), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "info", "attributes"), []byte(attributes), 0o644); err != nil {
		tb.Fatal(err)
	}
	r.gitIn(importStream(base, head), "fast-import", "--quiet")
	return r
}

// importStream is the input of git fast-import. Every byte of a path is written in octal, so that
// nothing here shares an idea of quoting with what is tested.
func importStream(base, head tree) string {
	var b strings.Builder
	for _, c := range []struct {
		name string
		tree tree
	}{{"base", base}, {"head", head}} {
		fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter A <a@example.com> 1700000000 +0000\ndata 0\ndeleteall\n", c.name)
		for path, e := range c.tree {
			quoted := ""
			for _, c := range []byte(path) {
				quoted += fmt.Sprintf(`\%03o`, c)
			}
			if e.mode == "160000" {
				fmt.Fprintf(&b, "M 160000 %s \"%s\"\n", e.data, quoted)
				continue
			}
			fmt.Fprintf(&b, "M %s inline \"%s\"\ndata %d\n%s\n", e.mode, quoted, len(e.data), e.data)
		}
	}
	return b.String()
}

func (r repo) git(args ...string) []byte {
	r.tb.Helper()
	return r.gitIn("", args...)
}

// gitIn runs git with input and without anybody's configuration.
func (r repo) gitIn(input string, args ...string) []byte {
	r.tb.Helper()
	out, err := r.tryGit(input, nil, args...)
	if err != nil {
		r.tb.Fatal(err)
	}
	return out
}

func (r repo) tryGit(input string, env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
	}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %q: %w: %s", args, err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// flags are those that the package documents.
func flags() []string {
	return []string{"--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--full-index",
		"--submodule=short", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0"}
}

// diff returns the diff of base and head with the options given last.
func (r repo) diff(options ...string) []byte {
	r.tb.Helper()
	return r.git(slices.Concat([]string{"diff"}, flags(), options, []string{"base", "head", "--"})...)
}

func mustParse(tb testing.TB, text []byte) []File {
	tb.Helper()
	files, err := Parse(bytes.NewReader(text))
	if err != nil {
		tb.Fatalf("parse: %v\n%.2000q", err, text)
	}
	return files
}
