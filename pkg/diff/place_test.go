package diff

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// placeDiff has the forms of file that Place tells apart. In "x" the hunks are, at base, 10-16
// (line 13 replaced by two), 30-36 (lines 32-34 removed) and 37-39 (nothing but context and one
// line added behind 39).
func placeDiff(tb testing.TB) []File {
	tb.Helper()
	zero := "0000000000000000000000000000000000000000"
	index := "index " + idA + ".." + idB
	return mustParse(tb, []byte(top+
		"@@ -10,7 +10,8 @@\n 10\n 11\n 12\n-13\n+13\n+14\n 14\n 15\n 16\n"+
		"@@ -30,7 +31,4 @@\n 30\n 31\n-32\n-33\n-34\n 35\n 36\n"+
		"@@ -37,3 +35,4 @@\n 37\n 38\n 39\n+39\n"+
		"diff --git a/gone b/gone\ndeleted file mode 100644\nindex "+idA+".."+zero+"\n--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"+
		"diff --git a/new b/new\nnew file mode 100644\nindex "+zero+".."+idB+"\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n"+
		"diff --git a/old b/moved\nsimilarity index 90%\nrename from old\nrename to moved\n"+index+" 100644\n--- a/old\n+++ b/moved\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"+
		"diff --git a/pure b/pure2\nsimilarity index 100%\nrename from pure\nrename to pure2\n"+
		"diff --git a/same b/copy\nsimilarity index 90%\ncopy from same\ncopy to copy\n"+index+" 100644\n--- a/same\n+++ b/copy\n@@ -5,2 +5,2 @@\n a\n-b\n+c\n"+
		"diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n"+
		"diff --git a/bin b/bin\n"+index+" 100644\nBinary files a/bin and b/bin differ\n"+
		"diff --git a/empty b/empty\nnew file mode 100644\nindex "+zero+".."+emptySHA1+"\n"+
		"diff --git a/sub b/sub\n"+index+" 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n"+
		"diff --git a/kind b/kind\ndeleted file mode 100644\nindex "+idA+".."+zero+"\n--- a/kind\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n"+
		"diff --git a/kind b/kind\nnew file mode 120000\nindex "+zero+".."+idB+"\n--- /dev/null\n+++ b/kind\n@@ -0,0 +1 @@\n+to\n\\ No newline at end of file\n"))
}

func TestPlace(t *testing.T) {
	t.Parallel()
	x := NewIndex(placeDiff(t))
	whole, clip := "all of it is in one hunk", func(asked, kept string) string {
		return asked + " reach beyond one hunk of the diff: kept " + kept + ", where most of the changes are"
	}
	for name, tc := range map[string]struct {
		ask  Range
		want Placement
	}{
		"context_line":        {Range{"x", Right, 10, 10}, Placement{Inside, Range{"x", Right, 10, 10}, whole}},
		"added_lines":         {Range{"x", Right, 13, 14}, Placement{Inside, Range{"x", Right, 13, 14}, whole}},
		"whole_hunk":          {Range{"x", Right, 10, 17}, Placement{Inside, Range{"x", Right, 10, 17}, whole}},
		"removed_line":        {Range{"x", Left, 13, 13}, Placement{Inside, Range{"x", Left, 13, 13}, whole}},
		"context_at_base":     {Range{"x", Left, 16, 16}, Placement{Inside, Range{"x", Left, 16, 16}, whole}},
		"starts_before":       {Range{"x", Right, 1, 12}, Placement{Clipped, Range{"x", Right, 10, 12}, clip("lines 1-12", "lines 10-12")}},
		"ends_behind":         {Range{"x", Right, 17, 20}, Placement{Clipped, Range{"x", Right, 17, 17}, clip("lines 17-20", "line 17")}},
		"most_changes_win":    {Range{"x", Right, 14, 38}, Placement{Clipped, Range{"x", Right, 14, 17}, clip("lines 14-38", "lines 14-17")}},
		"most_changes_last":   {Range{"x", Right, 15, 99}, Placement{Clipped, Range{"x", Right, 35, 38}, clip("lines 15-99", "lines 35-38")}},
		"most_changes_left":   {Range{"x", Left, 1, 99}, Placement{Clipped, Range{"x", Left, 30, 36}, clip("lines 1-99", "lines 30-36")}},
		"equal_most_lines":    {Range{"x", Right, 16, 37}, Placement{Clipped, Range{"x", Right, 31, 34}, clip("lines 16-37", "lines 31-34")}},
		"equal_first":         {Range{"x", Right, 17, 31}, Placement{Clipped, Range{"x", Right, 17, 17}, clip("lines 17-31", "line 17")}},
		"hunks_that_touch":    {Range{"x", Right, 34, 35}, Placement{Clipped, Range{"x", Right, 34, 34}, clip("lines 34-35", "line 34")}},
		"between_hunks":       {Range{"x", Right, 18, 30}, Placement{Outside, Range{"x", Right, 18, 30}, "lines 18-30: not in the diff"}},
		"behind_all":          {Range{"x", Right, 39, 39}, Placement{Outside, Range{"x", Right, 39, 39}, "line 39: not in the diff"}},
		"line_0":              {Range{"x", Right, 0, 12}, Placement{Outside, Range{"x", Right, 0, 12}, "lines 0-12: not a range of lines"}},
		"backwards":           {Range{"x", Right, 14, 13}, Placement{Outside, Range{"x", Right, 14, 13}, "lines 14-13: not a range of lines"}},
		"no_side":             {Range{"x", "right", 13, 13}, Placement{Outside, Range{"x", "right", 13, 13}, `side "right" is neither LEFT nor RIGHT`}},
		"unchanged_file":      {Range{"y", Right, 1, 1}, Placement{NoFile, Range{"y", Right, 1, 1}, `"y" is not changed in the diff`}},
		"deleted_at_base":     {Range{"gone", Left, 1, 2}, Placement{Inside, Range{"gone", Left, 1, 2}, whole}},
		"deleted_at_head":     {Range{"gone", Right, 1, 2}, Placement{Outside, Range{"gone", Right, 1, 2}, "the file is deleted: its lines are on the side LEFT"}},
		"new_at_head":         {Range{"new", Right, 2, 2}, Placement{Inside, Range{"new", Right, 2, 2}, whole}},
		"new_at_base":         {Range{"new", Left, 2, 2}, Placement{Outside, Range{"new", Left, 2, 2}, "the file is new: its lines are on the side RIGHT"}},
		"renamed_at_head":     {Range{"moved", Right, 2, 2}, Placement{Inside, Range{"moved", Right, 2, 2}, whole}},
		"renamed_at_base":     {Range{"old", Left, 2, 2}, Placement{Inside, Range{"moved", Left, 2, 2}, whole}},
		"renamed_left_by_new": {Range{"moved", Left, 2, 2}, Placement{Inside, Range{"moved", Left, 2, 2}, whole}},
		"old_name_at_head":    {Range{"old", Right, 2, 2}, Placement{NoFile, Range{"old", Right, 2, 2}, `"old" is not changed in the diff`}},
		"pure_rename":         {Range{"pure2", Right, 2, 2}, Placement{Outside, Range{"pure2", Right, 2, 2}, "the file is renamed without a change"}},
		"copy_left_by_new":    {Range{"copy", Left, 6, 6}, Placement{Inside, Range{"copy", Left, 6, 6}, whole}},
		"source_of_a_copy":    {Range{"same", Left, 6, 6}, Placement{NoFile, Range{"same", Left, 6, 6}, `"same" is not changed in the diff`}},
		"mode_only":           {Range{"mode", Right, 1, 1}, Placement{Outside, Range{"mode", Right, 1, 1}, "only the file's mode is changed"}},
		"binary":              {Range{"bin", Right, 1, 1}, Placement{Outside, Range{"bin", Right, 1, 1}, "the file is binary for git"}},
		"empty":               {Range{"empty", Right, 1, 1}, Placement{Outside, Range{"empty", Right, 1, 1}, "the file is empty"}},
		"submodule":           {Range{"sub", Right, 1, 1}, Placement{Outside, Range{"sub", Right, 1, 1}, "it is a submodule, which has no lines"}},
		"type_at_base":        {Range{"kind", Left, 1, 3}, Placement{Inside, Range{"kind", Left, 1, 3}, whole}},
		"type_at_head":        {Range{"kind", Right, 1, 1}, Placement{Inside, Range{"kind", Right, 1, 1}, whole}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tc.want, x.Place(tc.ask)); d != "" {
				t.Errorf("place %+v: want (-), got (+):\n%s", tc.ask, d)
			}
		})
	}
}

func TestHunkFields(t *testing.T) {
	t.Parallel()
	files := placeDiff(t)
	var got []Hunk
	for h := range files[0].Hunks() {
		h.runs = ""
		got = append(got, h)
	}
	want := []Hunk{
		{OldStart: 10, OldLines: 7, NewStart: 10, NewLines: 8},
		{OldStart: 30, OldLines: 7, NewStart: 31, NewLines: 4},
		{OldStart: 37, OldLines: 3, NewStart: 35, NewLines: 4},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	link := files[len(files)-1]
	got = slices.Collect(link.Hunks())
	if link.Status != TypeChanged || len(got) != 2 || !got[1].NoNewlineNew || got[0].NoNewlineOld || got[1].NewStart != 1 {
		t.Errorf("changed type: got %v with %+v", link.Status, got)
	}
}

// Whatever is asked over the corpus, the answer is inside one hunk, and no line that could be
// commented on is refused.
func TestPlaceOverCorpus(t *testing.T) {
	t.Parallel()
	files := mustParse(t, smallDiff(t))
	x, asked := NewIndex(files), 0
	for _, f := range files {
		for _, side := range []Side{Left, Right} {
			name := f.name(side)
			if name == "" || f.Status == Copied {
				continue
			}
			for start := 1; start < 60; start++ {
				for _, n := range []int{0, 1, 5, 30} {
					asked++
					if err := checkPlacement(x, Range{name, side, start, start + n}); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	if asked < 10_000 {
		t.Errorf("asked %d times, want the corpus", asked)
	}
}

func BenchmarkPlace(b *testing.B) {
	files, err := Parse(bytes.NewReader(generated(46 << 20)))
	if err != nil {
		b.Fatal(err)
	}
	x, ask := NewIndex(files), Range{files[0].New, Right, 1, 1 << 29}
	for b.Loop() {
		if p := x.Place(ask); p.Fit != Clipped {
			b.Fatalf("got %v, want %v", p.Fit, Clipped)
		}
	}
}
