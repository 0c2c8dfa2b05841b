package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lineText gives the text of a line, with its line end if it has one.
type lineText func(f File, side Side, n int) string

// render writes files as git would, with the names in octal throughout.
func render(files []File, text lineText) string {
	var b strings.Builder
	for _, f := range files {
		if f.Status == TypeChanged {
			gone, made := split(f)
			renderFile(&b, gone, text)
			f = made
		}
		renderFile(&b, f, text)
	}
	return b.String()
}

// split is what joined undoes. Hunks of the two halves are told apart by the side they have.
func split(f File) (gone, made File) {
	absent := strings.Repeat("\x00", len(f.ids)/2)
	gone = File{Old: f.Old, Status: Deleted, OldMode: f.OldMode, ids: f.ids[:len(f.ids)/2] + absent}
	made = File{New: f.New, Status: Added, NewMode: f.NewMode, ids: absent + f.ids[len(f.ids)/2:]}
	for h := range f.Hunks() {
		half := &gone
		flags := uint64(0)
		if h.NewLines > 0 {
			half = &made
		}
		if h.NoNewlineOld || h.NoNewlineNew {
			flags = endFlags(map[bool]Kind{true: AddedLine, false: RemovedLine}[h.NewLines > 0])
		}
		half.hunks += "\x00" + h.runs + string(rune(packedEnd(flags)))
	}
	gone.Binary = f.Binary && gone.hunks == ""
	made.Binary = f.Binary && made.hunks == ""
	return gone, made
}

func octal(prefix, name string) string {
	q := `"` + prefix
	for _, c := range []byte(name) {
		q += fmt.Sprintf(`\%03o`, c)
	}
	return q + `"`
}

func renderFile(b *strings.Builder, f File, text lineText) {
	old, new := f.Old, f.New
	if old == "" {
		old = new
	}
	if new == "" {
		new = old
	}
	fmt.Fprintf(b, "diff --git %s %s\n", octal("a/", old), octal("b/", new))
	switch {
	case f.Status == Added:
		fmt.Fprintf(b, "new file mode %v\n", f.NewMode)
	case f.Status == Deleted:
		fmt.Fprintf(b, "deleted file mode %v\n", f.OldMode)
	case f.OldMode != f.NewMode:
		fmt.Fprintf(b, "old mode %v\nnew mode %v\n", f.OldMode, f.NewMode)
	}
	if verb := map[Status]string{Renamed: "rename", Copied: "copy"}[f.Status]; verb != "" {
		fmt.Fprintf(b, "similarity index %d%%\n%s from %s\n%s to %s\n", f.Similarity, verb, octal("", old), verb, octal("", new))
	}
	if f.ids != "" {
		fmt.Fprintf(b, "index %s..%s", f.OldID(), f.NewID())
		if f.OldMode == f.NewMode && f.OldMode != 0 {
			fmt.Fprintf(b, " %v", f.OldMode)
		}
		b.WriteString("\n")
	}
	renderBody(b, f, text)
}

func renderBody(b *strings.Builder, f File, text lineText) {
	if f.Binary {
		b.WriteString("Binary files differ\n")
		return
	}
	if f.hunks == "" {
		return
	}
	names := []string{"/dev/null", "/dev/null"}
	if f.Old != "" {
		names[0] = octal("a/", f.Old)
	}
	if f.New != "" {
		names[1] = octal("b/", f.New)
	}
	fmt.Fprintf(b, "--- %s\n+++ %s\n", names[0], names[1])
	for h := range f.Hunks() {
		fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		old, lastOld := h.lines(Left)
		new, lastNew := h.lines(Right)
		for r := range h.Runs() {
			for range r.Lines {
				side, n, mark := Right, new, " -+"[r.Kind:r.Kind+1]
				if r.Kind == RemovedLine {
					side, n = Left, old
				}
				b.WriteString(mark + strings.TrimSuffix(text(f, side, n), "\n") + "\n")
				if h.NoNewlineOld && r.Kind.on(Left) && old == lastOld || h.NoNewlineNew && r.Kind.on(Right) && new == lastNew {
					b.WriteString("\\ No newline at end of file\n")
				}
				if r.Kind.on(Left) {
					old++
				}
				if r.Kind.on(Right) {
					new++
				}
			}
		}
	}
}

// A patch made from the numbers the parser gave and the lines of the blobs, and from nothing
// else, must lead git apply from one tree to the other.
func TestGitAppliesWhatWasParsed(t *testing.T) {
	t.Parallel()
	base, head := corpus(40)
	r := newRepo(t, "sha1", attributes, base, head)
	for _, name := range []string{"plain", "renames", "one_line", "whole_files", "all_text"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := repo{t, r.dir}
			j := newJudge(r, variants()[name]...)
			files := slices.DeleteFunc(mustParse(t, r.diff(variants()[name]...)), func(f File) bool { return f.Binary })
			if len(files) < 100 {
				t.Fatalf("got %d files, want the corpus", len(files))
			}
			checkApplied(t, r, files, j.apply(t, files))
		})
	}
}

// apply applies the patch to an index of its own and returns what is in there by path.
func (j judge) apply(t *testing.T, files []File) map[string]string {
	t.Helper()
	split := map[string][]string{}
	for id, blob := range j.blobs {
		split[id] = splitLines(blob)
	}
	patch := render(files, func(f File, side Side, n int) string {
		if f.mode(side) == SubmoduleMode {
			return "Subproject commit " + map[Side]string{Left: f.OldID(), Right: f.NewID()}[side]
		}
		return split[map[Side]string{Left: f.OldID(), Right: f.NewID()}[side]][n-1]
	})
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index"), "TMPDIR=" + os.TempDir()}
	var listed []byte
	for _, args := range [][]string{
		{"read-tree", "base"},
		{"apply", "--cached", "--unidiff-zero", "--whitespace=nowarn", "-"},
		{"ls-files", "-s", "-z"},
	} {
		out, err := j.tryGit(patch, env, args...)
		if err != nil {
			t.Fatal(err)
		}
		listed = out
	}
	return objects(listed, 1)
}

// objects reads what ls-files -s and ls-tree print with -z: names of objects by path.
func objects(listed []byte, field int) map[string]string {
	byPath := map[string]string{}
	for _, e := range strings.Split(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		about, path, _ := strings.Cut(e, "\t")
		byPath[path] = strings.Fields(about)[field]
	}
	return byPath
}

func checkApplied(t *testing.T, r repo, files []File, index map[string]string) {
	t.Helper()
	made, head := map[string]bool{}, objects(r.git("ls-tree", "-r", "-z", "head"), 2)
	for _, f := range files {
		if f.New == "" {
			continue
		}
		made[f.New] = true
		if got, want := index[f.New], head[f.New]; got != want || want == "" {
			t.Errorf("%v %.100q: git apply made %q, want %q", f.Status, f.New, got, want)
		}
	}
	for _, f := range files {
		if gone := f.Status == Deleted || f.Status == Renamed; gone && !made[f.Old] && index[f.Old] != "" {
			t.Errorf("%v %.100q: still there after git apply", f.Status, f.Old)
		}
	}
}
