package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestGeneratedPartsAreCurrent(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"action.yml": ActionYML(), "README.md": InputTable()} {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := Splice(data, text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(data)); d != "" {
			t.Errorf("%s is not what the table says; run `make generate` (-want +got):\n%s", name, d)
		}
	}
}

func TestSplice(t *testing.T) {
	t.Parallel()
	got, err := Splice([]byte("a\n# generated: start\nold\n# generated: end\nb\n"), "new\n")
	if want := "a\n# generated: start\nnew\n# generated: end\nb\n"; err != nil || string(got) != want {
		t.Errorf("Splice() = %q, %v; want %q", got, err, want)
	}
	if _, err := Splice([]byte("no marks"), "new\n"); err == nil {
		t.Error("a file without marks was taken")
	}
}

func TestMarketplaceRules(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "\ndescription: ")
	line, _, _ := strings.Cut(rest, "\n")
	if n := utf8.RuneCountInString(line); !ok || n >= 125 {
		t.Errorf("the description has %d characters, the marketplace takes fewer than 125", n)
	}
}

func TestHelpNamesEveryInput(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	b.want(exitDone, "help", "review")
	named := 0
	for _, in := range inputs() {
		if in.notice == "" && !strings.Contains(b.stdout.String(), "--"+in.name) {
			t.Errorf("help does not name --%s", in.name)
		}
		named++
	}
	if named < 20 {
		t.Errorf("the table has %d inputs", named)
	}
}
