package diff

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// seeds adds the files of the corpus and what came wrong once.
func seeds(f *testing.F, add func(text string)) {
	f.Helper()
	n := 0
	for s := range strings.SplitSeq("\n"+string(smallDiff(f)), "\ndiff --git ") {
		add("diff --git " + s + "\n")
		n++
	}
	if n < 100 {
		f.Fatalf("got %d seeds, want the corpus", n)
	}
	add(top + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n")
	add(top + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n@@ -1,0 +2 @@\n+c\n")
	add(top + "@@ -0,0 +1,2 @@\n+a\n+b\n@@ -5,2 +7 @@ f\n \n-\n")
	add("diff --git a/x b/x\nindex " + idA + ".." + idB + " 100644\nGIT binary patch\nliteral 1\nIcmZ\n\ndelta 0\nx\n\n")
}

func FuzzParse(f *testing.F) {
	seeds(f, func(text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		files, err := Parse(strings.NewReader(text))
		if err != nil {
			if files != nil || err.Error() == "" {
				t.Fatalf("got %d files beside error %q", len(files), err)
			}
			return
		}
		if err := checkHeaders(text, files); err != nil {
			t.Error(err)
		}
		again, err := Parse(strings.NewReader(render(files, func(File, Side, int) string { return "" })))
		if err != nil || !slices.Equal(again, files) {
			t.Errorf("rendered and read again: got %+v and error %v, want %+v", again, err, files)
		}
	})
}

// checkHeaders compares the hunks with the numbers that stand in text.
func checkHeaders(text string, files []File) error {
	if strings.Contains(text, "GIT binary patch") {
		return nil
	}
	var got, want []string
	for _, f := range files {
		oldEnd, newEnd := 0, 0
		for h := range f.Hunks() {
			firstOld, lastOld := h.lines(Left)
			firstNew, lastNew := h.lines(Right)
			if firstOld <= oldEnd || firstNew <= newEnd || h.OldLines+h.NewLines == 0 {
				return fmt.Errorf("%q: hunk %+v is not behind %d and %d", f.Path(), h, oldEnd, newEnd)
			}
			if h.NoNewlineOld && h.OldLines == 0 || h.NoNewlineNew && h.NewLines == 0 {
				return fmt.Errorf("%q: hunk %+v has the end of a side that it has no line of", f.Path(), h)
			}
			oldEnd, newEnd = lastOld, lastNew
			if f.Status == TypeChanged {
				h.OldStart, h.NewStart = min(h.OldStart, h.OldLines), min(h.NewStart, h.NewLines)
			}
			got = append(got, fmt.Sprint(h.OldStart, h.OldLines, h.NewStart, h.NewLines))
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^@@ -0*(\d+)(?:,0*(\d+))? \+0*(\d+)(?:,0*(\d+))? @@`).FindAllStringSubmatch(text, -1) {
		for i := range m {
			if m[i] == "" {
				m[i] = "1"
			}
		}
		want = append(want, strings.Join(m[1:], " "))
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("hunks: got %q, want %q", got, want)
	}
	return nil
}

// checkPlacement holds an answer of Place against what Commentable says.
func checkPlacement(x *Index, r Range) error {
	p := x.Place(r)
	f, known := x.File(r.Side, r.Path)
	var holds, meets bool
	for first, last := range f.Commentable(r.Side) {
		holds = holds || first <= p.Range.Start && p.Range.End <= last
		meets = meets || max(first, r.Start) <= min(last, r.End)
	}
	kept := p.Range.Start >= r.Start && p.Range.End <= r.End && p.Range.Start <= p.Range.End
	same := p.Range.Start == r.Start && p.Range.End == r.End
	ok := map[Fit]bool{
		Inside:  known && holds && same && p.Range.Path == f.Path(),
		Clipped: known && holds && kept && !same && p.Range.Path == f.Path(),
		Outside: p.Range == r && (!meets || r.Start < 1 || r.End < r.Start),
		NoFile:  p.Range == r && !known,
	}[p.Fit]
	if !ok || p.Reason == "" {
		return fmt.Errorf("place %+v: got %+v", r, p)
	}
	return nil
}

func FuzzPlace(f *testing.F) {
	seeds(f, func(text string) { f.Add(text, "x", true, 1, 3) })
	f.Fuzz(func(t *testing.T, text, path string, right bool, start, end int) {
		files, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		x, side := NewIndex(files), map[bool]Side{true: Right, false: Left}[right]
		paths := []string{path}
		for _, f := range files {
			paths = append(paths, f.Path(), f.Old)
		}
		for _, p := range paths {
			if err := checkPlacement(x, Range{p, side, start, end}); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, p := range []string{"x", "./x", "b/a/x", `"\141"`, "`x`:12", "{old => new}/x", "C:\\x", "#L1", "/w/x", " ", "a/../../x"} {
		f.Add(p, "x\x00a/x\x00new/x", true)
	}
	files := placeDiff(f)
	f.Fuzz(func(t *testing.T, path, tree string, right bool) {
		x, side := NewIndex(files), map[bool]Side{true: Right, false: Left}[right]
		all := strings.Split(tree, "\x00")
		exists := func(p string) bool { return slices.Contains(all, p) }
		r := x.Resolve(Written{Path: path, Side: side, Roots: []string{"/w"}, Exists: exists, Paths: slices.Values(all)})
		_, changed := x.File(side, r.Path)
		if r.How == "" || r.Path != "" && (r.Candidates != nil || !exists(r.Path) && !changed) {
			t.Errorf("resolve %q: got %+v, a file that is not there", path, r)
		}
		if r.Path == "" && len(r.Candidates) == 1 {
			t.Errorf("resolve %q: got %+v, ambiguous with one candidate", path, r)
		}
	})
}
