package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/recibo-ci/recibo/"

// floors is the house: a package may use those of lower floors only.
var floors = map[string]int{
	"pkg/digest": 0, "pkg/disk": 0, "pkg/fault": 0, "pkg/diff": 0, "pkg/actions": 0, "pkg/git": 0,
	"pkg/prompt": 1, "pkg/identity": 1, "pkg/wire": 1, "pkg/review": 1,
	"pkg/gateway": 2, "pkg/codex": 2, "pkg/sandbox": 2, "pkg/effect": 2, "pkg/receipt": 2, "pkg/artifact": 2, "pkg/experiment": 2,
	"pkg/pull": 3, "pkg/report": 3,
	"pkg/command": 4,
	"fixtures":    0,
}

// only lists who may import what: each mechanism, and with it each secret, has one home.
var only = map[string][]string{
	"os/exec":  {"pkg/codex", "pkg/sandbox", "pkg/git"},
	"net/http": {"pkg/gateway", "pkg/codex", "pkg/artifact", "pkg/pull"},
}

type source struct {
	pkg, path string
	file      *ast.File
	fset      *token.FileSet
	lines     int
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, data, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, source{filepath.ToSlash(filepath.Dir(path)), path, file, fset, bytes.Count(data, []byte("\n"))})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func imports(t *testing.T, s source) []string {
	t.Helper()
	var out []string
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestArrowsPointDown(t *testing.T) {
	t.Parallel()
	arrows := 0
	for _, s := range sources(t) {
		from, known := floors[s.pkg]
		if strings.HasPrefix(s.pkg, "pkg/") && !known {
			t.Errorf("%s: package %s stands on no floor", s.path, s.pkg)
		}
		for _, p := range imports(t, s) {
			target, ours := strings.CutPrefix(p, module)
			if !ours || !known {
				continue
			}
			arrows++
			to, ok := floors[target]
			if !ok || to >= from {
				t.Errorf("%s: floor %d may not use %s on floor %d", s.path, from, target, to)
			}
		}
	}
	if arrows < 30 {
		t.Errorf("found %d arrows: the test does not see the house", arrows)
	}
}

func TestMechanismsHaveOneHome(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, s := range sources(t) {
		for _, p := range imports(t, s) {
			homes, guarded := only[p]
			if !guarded {
				continue
			}
			seen[p]++
			if strings.HasPrefix(s.pkg, "pkg/") && !slices.Contains(homes, s.pkg) {
				t.Errorf("%s imports %s, which only %v may", s.path, p, homes)
			}
		}
	}
	for p := range only {
		if seen[p] == 0 {
			t.Errorf("nothing imports %s: the test does not see the house", p)
		}
	}
}

func TestRoomsAreSmall(t *testing.T) {
	t.Parallel()
	functions := 0
	for _, s := range sources(t) {
		if s.lines > 300 {
			t.Errorf("%s has %d lines; split it before 300", s.path, s.lines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			functions++
			if f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s has an init function", s.path)
			}
			n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if n > 80 {
				t.Errorf("%s: %s has %d lines; split it before 80", s.path, f.Name.Name, n)
			}
		}
	}
	if functions < 100 {
		t.Errorf("found %d functions: the test does not see the house", functions)
	}
}

func TestMainIsShort(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\n")); n > 30 {
		t.Errorf("main.go has %d lines, want at most 30", n)
	}
}
