package diff

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// smallDiff is the diff of the corpus without long lines and names.
func smallDiff(tb testing.TB) []byte {
	tb.Helper()
	base, head := corpus(40)
	for _, t := range []tree{base, head} {
		for path, e := range t {
			if len(path)+len(e.data) > 700 {
				delete(t, path)
			}
		}
	}
	return newRepo(tb, "sha1", attributes, base, head).diff("-M")
}

// wholeBefore reports whether a diff that ends before rest can be a whole one, as Parse tells.
func wholeBefore(rest string) bool {
	return slices.ContainsFunc([]string{"@@ -", `\ `, "index ", "similarity index "}, func(p string) bool {
		return strings.HasPrefix(rest, p)
	})
}

// sections splits smallDiff into its files.
func sections(t *testing.T) []string {
	t.Helper()
	var all []string
	for s := range strings.SplitSeq("\n"+string(smallDiff(t)), "\ndiff --git ") {
		if s != "" {
			all = append(all, "diff --git "+strings.TrimSuffix(s, "\n")+"\n")
		}
	}
	if len(all) < 100 {
		t.Fatalf("got %d files, want those of the corpus", len(all))
	}
	return all
}

func TestParseCutAnywhere(t *testing.T) {
	t.Parallel()
	whole := 0
	for _, text := range sections(t) {
		for cut := range len(text) {
			if cut%4 != 0 && text[cut-1] != '\n' {
				continue
			}
			_, err := Parse(strings.NewReader(text[:cut]))
			if err == nil && (cut == 0 || text[cut-1] == '\n' && wholeBefore(text[cut:])) {
				whole++
				continue
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("cut at %d of %.999q: got error %v, want an unexpected end", cut, text, err)
			}
		}
	}
	if whole < 100 {
		t.Errorf("got %d cuts at borders, want those of the corpus", whole)
	}
}

func TestParseLineLostOrTwice(t *testing.T) {
	t.Parallel()
	all := sections(t)
	for i, section := range all[:len(all)-1] {
		lines := slices.Collect(strings.Lines(section + all[i+1]))
		for n, line := range lines[:strings.Count(section, "\n")] {
			twice := strings.Join(lines[:n+1], "") + strings.Join(lines[n:], "")
			if files, err := Parse(strings.NewReader(twice)); err == nil {
				t.Errorf("%.60q twice in %.60q: got %d files, want an error", line, section, len(files))
			}
			lost := strings.Join(lines[:n], "") + strings.Join(lines[n+1:], "")
			if files, err := Parse(strings.NewReader(lost)); err == nil && !strings.HasPrefix(line, `\ `) {
				t.Errorf("%.60q lost in %.60q: got %d files, want an error", line, section, len(files))
			}
		}
	}
}

func TestParseReadsInAnyPieces(t *testing.T) {
	t.Parallel()
	text := smallDiff(t)
	want := mustParse(t, text)
	for name, r := range map[string]io.Reader{
		"one_byte":       iotest.OneByteReader(bytes.NewReader(text)),
		"half":           iotest.HalfReader(bytes.NewReader(text)),
		"data_with_eof":  iotest.DataErrReader(bytes.NewReader(text)),
		"nothing_at_all": iotest.DataErrReader(io.MultiReader(bytes.NewReader(text), strings.NewReader(""))),
	} {
		if got, err := Parse(r); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %d files and error %v, want %d", name, len(got), err, len(want))
		}
	}
}

func TestParseReadError(t *testing.T) {
	t.Parallel()
	text := smallDiff(t)
	broken := errors.New("git exited with 128")
	for _, n := range []int{0, 1, 5, 100, 1000, len(text) - 1, len(text)} {
		files, err := Parse(io.MultiReader(bytes.NewReader(text[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || files != nil {
			t.Errorf("error after %d bytes: got %d files and error %v, want %v", n, len(files), err, broken)
		}
	}
}

const (
	idA = "1111111111111111111111111111111111111111"
	idB = "2222222222222222222222222222222222222222"
	top = "diff --git a/x b/x\nindex " + idA + ".." + idB + " 100644\n--- a/x\n+++ b/x\n"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text   string
		line   int
		reason string
		hint   string
	}{
		"combined":         {"diff --cc x\nindex 1,2..3\n", 1, "not of git diff", "combined"},
		"combined_long":    {"diff --combined x\n", 1, "not of git diff", "combined"},
		"combined_hunk":    {top + "@@@ -1,1 -1,1 +1,1 @@@\n", 5, "a hunk of", "options"},
		"coloured":         {"\x1b[1mdiff --git a/x b/x\x1b[m\n", 1, "not of git diff", "--no-color"},
		"unmerged":         {"* Unmerged path x\n", 1, "not of git diff", "merge"},
		"submodule_log":    {"Submodule x 1..2:\n", 1, "not of git diff", "--submodule=short"},
		"log":              {"commit 1\n", 1, "not of git diff", "git diff"},
		"no_prefix":        {"diff --git x x\n\n", 1, "names", "--src-prefix=a/"},
		"mnemonic_prefix":  {"diff --git c/x w/x\n\n", 1, "names", "--src-prefix=a/"},
		"names_differ":     {"diff --git a/x b/y\n\n", 1, "names", "--src-prefix=a/"},
		"bad_quoting":      {"diff --git \"a/\\400\" \"b/\\400\"\n\n", 1, "names", "--src-prefix=a/"},
		"abbreviated":      {"diff --git a/x b/x\nindex 111..222 100644\n", 2, "whole", "--full-index"},
		"other_names":      {strings.Replace(top, "+++ b/x", "+++ b/y", 1), 4, "another file", ""},
		"other_old_name":   {strings.Replace(top, "--- a/x", "--- /dev/null", 1), 3, "another file", ""},
		"crlf_everywhere":  {strings.ReplaceAll(top, "\n", "\r\n"), 1, "names", ""},
		"hidden_lines":     {top + "@@ -5 +6 @@\n-a\n+b\n", 5, "does not fit", "-w"},
		"overlap":          {top + "@@ -5 +5 @@\n-a\n+b\n@@ -5 +5 @@\n-a\n+b\n", 8, "does not fit", ""},
		"backwards":        {top + "@@ -5 +5 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b\n", 8, "does not fit", ""},
		"line_zero":        {top + "@@ -0 +0 @@\n-a\n+b\n", 5, "does not fit", ""},
		"empty_hunk":       {top + "@@ -1,0 +1,0 @@\n", 5, "hunk header", ""},
		"huge_number":      {top + "@@ -9999999999 +1 @@\n", 5, "hunk header", ""},
		"signed_number":    {top + "@@ -+1 +1 @@\n", 5, "hunk header", ""},
		"no_second_range":  {top + "@@ -1 @@\n", 5, "hunk header", ""},
		"too_many_lines":   {top + "@@ -1 +1 @@\n-a\n-b\n", 7, "more lines", ""},
		"context_too_many": {top + "@@ -1 +1,2 @@\n-a\n+b\n c\n", 8, "more lines", ""},
		"lines_after_hunk": {top + "@@ -1 +1 @@\n-a\n+b\n c\n", 8, "not of git diff", ""},
		"not_a_line":       {top + "@@ -1 +1 @@\nx\n", 6, "not of a hunk", ""},
		"line_after_end":   {top + "@@ -1,2 +1 @@\n-a\n\\ No newline\n-b\n+c\n", 8, "follows the last line", ""},
		"hunk_after_end":   {top + "@@ -1 +1 @@\n-a\n\\ No newline\n+b\n@@ -3 +3 @@\n-a\n+c\n", 9, "does not fit", ""},
		"end_twice":        {top + "@@ -1 +1 @@\n-a\n\\ No newline\n\\ No newline\n+b\n", 8, "no line", ""},
		"end_of_nothing":   {top + "@@ -1 +1 @@\n\\ No newline\n-a\n+b\n", 6, "no line", ""},
		"new_with_old":     {strings.Replace(strings.Replace(top, "index "+idA, "new file mode 100644\nindex "+strings.Repeat("0", 40), 1), " 100644\n---", "\n---", 1), 4, "another file", ""},
		"old_lines_in_new": {"diff --git a/x b/x\nnew file mode 100644\nindex " + strings.Repeat("0", 40) + ".." + idB + "\n--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 6, "added file cannot", ""},
		"new_lines_in_old": {"diff --git a/x b/x\ndeleted file mode 100644\nindex " + idA + ".." + strings.Repeat("0", 40) + "\n--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 6, "deleted file cannot", ""},
		"empty_old_name":   {"diff --git a/x b/x\nnew file mode 100644\nindex " + strings.Repeat("0", 40) + ".." + idB + "\n--- a/\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", 4, "another file", ""},
		"name_with_tail":   {strings.Replace(top, "+++ b/x", "+++ b/x2", 1), 4, "another file", ""},
		"no_id_for_new":    {"diff --git a/x b/x\nnew file mode 100644\nindex " + idA + ".." + idB + "\n", 3, "do not fit", ""},
		"binary_no_block":  {"diff --git a/x b/x\nindex " + idA + ".." + idB + " 100644\nGIT binary patch\nx\n", 4, "a binary patch should", ""},
		"binary_no_end":    {"diff --git a/x b/x\nindex " + idA + ".." + idB + " 100644\nGIT binary patch\nliteral 1\nx\n", 5, "no end", ""},
		"bad_mode":         {"diff --git a/x b/x\nold mode 10064\n", 2, "six octal", ""},
		"bad_similarity":   {"diff --git a/x b/y\nsimilarity index 101%\n", 2, "percentage", ""},
		"lines_without_id": {"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 8, "without a line", ""},
		"long_header":      {"diff --git a/" + strings.Repeat("x", maxHeader+1<<16) + "\n", 1, "longer than", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := Parse(strings.NewReader(tc.text))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || files != nil {
				t.Fatalf("got %d files and error %v, want a syntax error", len(files), err)
			}
			before := strings.Join(slices.Collect(strings.Lines(tc.text))[:tc.line-1], "")
			if syntax.Offset != int64(len(before)) || syntax.Line != int64(tc.line) || !strings.Contains(syntax.Reason, tc.reason) {
				t.Errorf("got %q, want byte %d, line %d and %q", err, len(before), tc.line, tc.reason)
			}
			if !strings.Contains(syntax.Hint(), tc.hint) {
				t.Errorf("hint: got %q, want %q in it", syntax.Hint(), tc.hint)
			}
		})
	}
}

// The judge is only worth something if it sees a parser that is wrong.
func TestJudgeSeesWrongFiles(t *testing.T) {
	t.Parallel()
	base, head := tree{"x": file(numbered(1, 60)), "gone": file("a\n")}, tree{"x": file(strings.Replace(numbered(1, 60), "line 30\n", "line 31\nnew\n", 1)), "\xff": file("b")}
	r := newRepo(t, "sha1", "", base, head)
	j, files := newJudge(r, "-M"), mustParse(t, r.diff("-M"))
	if err := j.check(files); err != nil || len(files) != 3 {
		t.Fatalf("got %d files and error %v, want 3 and none", len(files), err)
	}
	for name, spoil := range map[string]func(f []File){
		"one_line_later":   func(f []File) { f[1].hunks = string(f[1].hunks[0]+1) + f[1].hunks[1:] },
		"one_line_earlier": func(f []File) { f[1].hunks = string(f[1].hunks[0]-1) + f[1].hunks[1:] },
		"less_context":     func(f []File) { f[1].hunks = f[1].hunks[:1] + string(f[1].hunks[1]-4) + f[1].hunks[2:] },
		"no_hunk":          func(f []File) { f[1].hunks = "" },
		"hunk_twice":       func(f []File) { f[1].hunks += f[1].hunks },
		"order":            func(f []File) { f[0], f[1] = f[1], f[0] },
		"name":             func(f []File) { f[2].New = "\\377" },
		"mode":             func(f []File) { f[1].NewMode = 0o100755 },
		"binary":           func(f []File) { f[1].Binary = true },
		"id":               func(f []File) { f[1].ids = f[1].ids[:39] + "x" },
		"line_end":         func(f []File) { f[2].hunks = f[2].hunks[:2] + string(rune(endMark)) },
		"status":           func(f []File) { f[0].Status = Modified },
	} {
		spoiled := slices.Clone(files)
		spoil(spoiled)
		if slices.Equal(spoiled, files) {
			t.Errorf("%s: nothing was spoiled", name)
		}
		if err := j.check(spoiled); err == nil {
			t.Errorf("%s: the judge saw nothing", name)
		}
	}
}
