package diff

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources are the files of this package, as real text to edit.
func sources(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 10 {
		t.Fatalf("got %d files and error %v, want those of the package", len(names), err)
	}
	var texts []string
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	return texts
}

// edited changes text in a few places, the way people and tools do.
func edited(r *rand.Rand, text string) string {
	lines := splitLines([]byte(text))
	for range 1 + r.IntN(6) {
		if len(lines) == 0 {
			break
		}
		at := r.IntN(len(lines))
		n := min(1+r.IntN(8), len(lines)-at)
		some := slices.Clone(lines[at : at+n])
		switch to := r.IntN(len(lines)); r.IntN(7) {
		case 0:
			lines = slices.Delete(lines, at, at+n)
		case 1:
			lines = slices.Insert(lines, to, some...)
		case 2:
			lines = slices.Delete(lines, at, at+n)
			lines = slices.Insert(lines, min(to, len(lines)), some...)
		case 3:
			for i := range n {
				lines[at+i] = fmt.Sprintf("%d %s", r.IntN(3), lines[at+i])
			}
		case 4:
			slices.Reverse(lines[at : at+n])
		case 5:
			lines[at] = strings.TrimSuffix(lines[at], "\n") + "\r\n"
		case 6:
			lines = slices.Insert(lines, at, "\n", "-- "+some[0], "++ "+some[0], "@@ -1 +1 @@\n", `\ `+some[0])
		}
	}
	text = strings.Join(lines, "")
	if r.IntN(4) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

func TestParseRandomEdits(t *testing.T) {
	t.Parallel()
	texts := sources(t)
	r := rand.New(rand.NewPCG(1, 2))
	base, head := tree{}, tree{}
	for i := range 300 {
		text := edited(r, texts[r.IntN(len(texts))])
		name := fmt.Sprintf("%d/%d.go", i%7, i)
		base[name], head[name] = file(text), file(edited(r, text))
		if r.IntN(6) == 0 {
			head["moved/"+name] = head[name]
			delete(head, name)
		}
	}
	repo := newRepo(t, "sha1", "", base, head)
	for _, context := range []string{"-U0", "-U3"} {
		files := mustParse(t, repo.diff("-M", context))
		if len(files) < 270 {
			t.Errorf("%s: got %d files, want most of 300", context, len(files))
		}
		if err := newJudge(repo, "-M", context).check(files); err != nil {
			t.Errorf("%s: %v", context, err)
		}
	}
}

// The head of a pull request may be a merge: its diff with the merge base is an ordinary one,
// while what git shows of the merge itself is refused.
func TestParseMerges(t *testing.T) {
	t.Parallel()
	text := numbered(1, 40)
	base, side := tree{"x": file(text), "y": file("y\n")}, tree{"x": file("top\n" + text), "z": file("z\n")}
	r := newRepo(t, "sha1", "", base, side)
	commit := func(tree string, parents ...string) string {
		args := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit-tree", tree, "-m", "x"}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		return strings.TrimSpace(string(r.git(args...)))
	}
	blob := strings.TrimSpace(string(r.gitIn("top and more\n"+text+"end\n", "hash-object", "-w", "--stdin")))
	merged := strings.TrimSpace(string(r.gitIn("100644 blob "+blob+"\tx\n", "mktree")))
	fork := commit("head^{tree}", "base")
	merge := commit(merged, "base", fork)
	if _, err := Parse(strings.NewReader(string(r.git("diff", merge, "base", fork)))); err == nil {
		t.Error("combined diff: got no error")
	} else if syntax := new(SyntaxError); !errors.As(err, &syntax) || !strings.Contains(syntax.Hint(), "combined") {
		t.Errorf("combined diff: got error %v, want one about a combined diff", err)
	}
	r.git("update-ref", "refs/heads/head", merge)
	threeDots := r.git(slices.Concat([]string{"diff"}, flags(), []string{"-M", "base...head", "--"})...)
	files := mustParse(t, threeDots)
	if err := newJudge(r, "-M").check(files); err != nil || len(files) != 2 {
		t.Errorf("got %d files and error %v, want 2 and none", len(files), err)
	}
}
