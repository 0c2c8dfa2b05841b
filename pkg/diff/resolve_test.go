package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	text := ""
	for _, n := range []string{"cmd/app/main.go", "cmd/tool/main.go", "pkg/a/x.go", "with space/y z.go", `back\slash.go`, "b/b.go"} {
		text += "diff --git a/" + n + " b/" + n + "\nold mode 100644\nnew mode 100755\n"
	}
	text += "diff --git a/old/name.go b/new/name.go\nsimilarity index 100%\nrename from old/name.go\nrename to new/name.go\n"
	text += "diff --git a/s.go b/c.go\nsimilarity index 100%\ncopy from s.go\ncopy to c.go\n"
	text += "diff --git a/gone.go b/gone.go\ndeleted file mode 100644\nindex " + idA + "..0000000000000000000000000000000000000000\nBinary files differ\n"
	x := NewIndex(mustParse(t, []byte(text)))
	kept := []string{"README.md", "a/README.md", "lib/other.go", "deep/x/lonely.go", "s.go", "docs/C#.md", "x/tail.md", "y/tail.md"}
	for name, tc := range map[string]struct {
		path string
		side Side
		want Resolution
	}{
		"as_written":         {"pkg/a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "as written"}},
		"unchanged_file":     {"lib/other.go", Right, Resolution{Path: "lib/other.go", How: "as written"}},
		"backslash_is_name":  {`back\slash.go`, Right, Resolution{Path: `back\slash.go`, How: "as written"}},
		"b_is_a_directory":   {"b/b.go", Right, Resolution{Path: "b/b.go", How: "as written"}},
		"literal_wins":       {"a/README.md", Right, Resolution{Path: "a/README.md", How: "as written"}},
		"dot_slash":          {"./pkg/a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "path cleaned"}},
		"double_slash":       {"pkg//a/./x.go", Right, Resolution{Path: "pkg/a/x.go", How: "path cleaned"}},
		"inner_dots":         {"pkg/b/../a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "path cleaned"}},
		"outside":            {"../pkg/a/x.go", Right, Resolution{How: "there is no such file"}},
		"a_prefix":           {"a/pkg/a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "a/ removed"}},
		"b_prefix":           {"b/pkg/a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "b/ removed"}},
		"b_prefix_of_b":      {"b/b/b.go", Right, Resolution{Path: "b/b.go", How: "b/ removed"}},
		"root":               {"/work/tree/pkg/a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "root removed"}},
		"other_root":         {"/github/workspace/pkg/a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "root removed"}},
		"no_root":            {"/other/pkg/a/x.go", Right, Resolution{How: "there is no such file"}},
		"slash":              {"/pkg/a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "slash in front removed"}},
		"backslashes":        {`pkg\a\x.go`, Right, Resolution{Path: "pkg/a/x.go", How: "backslashes turned"}},
		"backticks":          {"`pkg/a/x.go`", Right, Resolution{Path: "pkg/a/x.go", How: "quotes removed"}},
		"quotes":             {`"pkg/a/x.go"`, Right, Resolution{Path: "pkg/a/x.go", How: "quotes removed"}},
		"git_quotes":         {`"with\040space/y z.go"`, Right, Resolution{Path: "with space/y z.go", How: "quotes removed"}},
		"white_space":        {" pkg/a/x.go\n", Right, Resolution{Path: "pkg/a/x.go", How: "white space removed"}},
		"line":               {"pkg/a/x.go:12", Right, Resolution{Path: "pkg/a/x.go", How: "line number removed"}},
		"lines":              {"pkg/a/x.go:12-14", Right, Resolution{Path: "pkg/a/x.go", How: "line number removed"}},
		"line_and_column":    {"pkg/a/x.go:12:5", Right, Resolution{Path: "pkg/a/x.go", How: "line number removed, then line number removed"}},
		"github_lines":       {"pkg/a/x.go#L12-L14", Right, Resolution{Path: "pkg/a/x.go", How: "line number removed"}},
		"hash_in_name":       {"docs/C#.md", Right, Resolution{Path: "docs/C#.md", How: "as written"}},
		"several_steps":      {" `b/pkg/a/x.go:12` ", Right, Resolution{Path: "pkg/a/x.go", How: "white space removed, then quotes removed, then line number removed, then b/ removed"}},
		"arrow":              {"old/name.go => new/name.go", Right, Resolution{Path: "new/name.go", How: "arrow read"}},
		"arrow_at_base":      {"old/name.go => new/name.go", Left, Resolution{Path: "old/name.go", How: "arrow read"}},
		"arrow_in_braces":    {"{old => new}/name.go", Right, Resolution{Path: "new/name.go", How: "arrow read"}},
		"arrow_from_nothing": {"cmd/{ => app}/main.go", Right, Resolution{Path: "cmd/app/main.go", How: "arrow read"}},
		"arrow_to_nothing":   {"pkg/{b => }/a/x.go", Right, Resolution{Path: "pkg/a/x.go", How: "arrow read"}},
		"old_name":           {"old/name.go", Right, Resolution{Path: "new/name.go", How: "name of the other side of a rename"}},
		"old_name_prefixed":  {"a/old/name.go", Right, Resolution{Path: "new/name.go", How: "a/ removed, then name of the other side of a rename"}},
		"new_name_at_base":   {"new/name.go", Left, Resolution{Path: "old/name.go", How: "name of the other side of a rename"}},
		"old_name_at_base":   {"old/name.go", Left, Resolution{Path: "old/name.go", How: "as written"}},
		"deleted":            {"gone.go", Right, Resolution{Path: "gone.go", How: "name that is only on the other side"}},
		"copy_at_base":       {"c.go", Left, Resolution{Path: "c.go", How: "name that is only on the other side"}},
		"end":                {"x.go", Right, Resolution{Path: "pkg/a/x.go", How: "the only changed file that ends so"}},
		"end_with_directory": {"app/main.go", Right, Resolution{Path: "cmd/app/main.go", How: "the only changed file that ends so"}},
		"end_of_a_name":      {"in.go", Right, Resolution{How: "there is no such file"}},
		"end_twice":          {"main.go", Right, Resolution{How: "several files could be meant", Candidates: []string{"cmd/app/main.go", "cmd/tool/main.go"}}},
		"end_not_changed":    {"lonely.go", Right, Resolution{How: "there is no such file"}},
		"empty":              {"", Right, Resolution{How: "there is no such file"}},
		"dot":                {".", Right, Resolution{How: "there is no such file"}},
		"slashes":            {"///", Right, Resolution{How: "there is no such file"}},
		"nowhere":            {"no/such.go", Right, Resolution{How: "there is no such file"}},
		"sentence":           {"the file x.go", Right, Resolution{How: "there is no such file"}},
		"too_long":           {strings.Repeat("./", maxWritten) + "pkg/a/x.go", Right, Resolution{How: "the path is too long"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := x.Resolve(Written{
				Path: tc.path, Side: tc.side, Roots: []string{"/work/tree", "/github/workspace/"},
				Exists: func(p string) bool { return slices.Contains(kept, p) },
			})
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("resolve %.200q on %s: want (-), got (+):\n%s", tc.path, tc.side, d)
			}
		})
	}
}

// With the whole tree known, an end that a file outside of the diff has too is ambiguous, and an
// unchanged file can be found by its end.
func TestResolveWithAllPaths(t *testing.T) {
	t.Parallel()
	x := NewIndex(mustParse(t, []byte("diff --git a/p/x.go b/p/x.go\nold mode 100644\nnew mode 100755\n")))
	for name, tc := range map[string]struct {
		path  string
		paths []string
		want  Resolution
	}{
		"changed":   {"x.go", []string{"p/x.go", "q/y.go"}, Resolution{Path: "p/x.go", How: "the only file that ends so"}},
		"unchanged": {"y.go", []string{"p/x.go", "q/y.go"}, Resolution{Path: "q/y.go", How: "the only file that ends so"}},
		"both":      {"x.go", []string{"p/x.go", "q/x.go"}, Resolution{How: "several files could be meant", Candidates: []string{"p/x.go", "q/x.go"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tc.want, x.Resolve(Written{Path: tc.path, Side: Right, Paths: slices.Values(tc.paths)})); d != "" {
				t.Errorf("resolve %q: want (-), got (+):\n%s", tc.path, d)
			}
		})
	}
}
