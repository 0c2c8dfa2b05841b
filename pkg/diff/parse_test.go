package diff

import (
	"slices"
	"strings"
	"testing"
)

const attributes = "*.text diff\n"

// variants are options that change the form of a diff, not which package can read it.
func variants() map[string][]string {
	return map[string][]string{
		"plain":          {"--no-renames"},
		"renames":        {"-M"},
		"copies":         {"-C", "--find-copies-harder"},
		"rewrites":       {"-B10%", "-M"},
		"no_context":     {"-M", "-U0"},
		"one_line":       {"-M", "-U1"},
		"whole_files":    {"-M", "-U100000"},
		"joined_hunks":   {"-M", "--inter-hunk-context=7"},
		"functions":      {"-M", "-W"},
		"histogram":      {"-M", "--histogram"},
		"minimal":        {"-M", "--minimal"},
		"all_text":       {"-M", "--text"},
		"binary_patches": {"-M", "--binary"},
		"many_renames":   {"-M1%"},
	}
}

func TestParseAgainstGit(t *testing.T) {
	t.Parallel()
	base, head := corpus(40)
	r := newRepo(t, "sha1", attributes, base, head)
	for name, options := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := repo{t, r.dir}
			files := mustParse(t, r.diff(options...))
			if len(files) < 100 {
				t.Fatalf("got %d files, want the corpus", len(files))
			}
			if err := newJudge(r, options...).check(files); err != nil {
				t.Error(err)
			}
		})
	}
}

// Configuration that changes what git prints with the documented flags must change nothing here.
func TestParseUnderConfiguration(t *testing.T) {
	t.Parallel()
	base, head := corpus(40)
	r := newRepo(t, "sha1", attributes, base, head)
	want := mustParse(t, r.diff("-M"))
	for _, setting := range []string{
		"core.quotePath=false", "diff.suppressBlankEmpty=true", "color.ui=always", "diff.noprefix=true",
		"diff.mnemonicPrefix=true", "diff.submodule=log", "diff.context=9", "diff.interHunkContext=9",
		"core.abbrev=7", "diff.external=false", "diff.wsErrorHighlight=all", "diff.colorMoved=zebra",
	} {
		t.Run(strings.ReplaceAll(setting, ".", "_"), func(t *testing.T) {
			t.Parallel()
			r := repo{t, r.dir}
			text := r.git(slices.Concat([]string{"-c", setting, "diff"}, flags(), []string{"-M", "base", "head", "--"})...)
			if got := mustParse(t, text); !slices.Equal(got, want) {
				t.Errorf("got other files than without %s", setting)
			}
		})
	}
}

func TestParseSHA256Repository(t *testing.T) {
	t.Parallel()
	base, head := corpus(64)
	r := newRepo(t, "sha256", attributes, base, head)
	if err := newJudge(r, "-M").check(mustParse(t, r.diff("-M"))); err != nil {
		t.Error(err)
	}
}
