package codex

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// fakeCodexSource prints the version in the file "version" beside it, and notes its environment
// and what it left in its home in the file "seen".
const fakeCodexSource = `package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	version, err := os.ReadFile(filepath.Join(filepath.Dir(self), "version"))
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("CODEX_HOME"), "left"), nil, 0o644); err != nil {
		panic(err)
	}
	seen := strings.Join(append(os.Args[1:], os.Environ()...), "\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(self), "seen"), []byte(seen), 0o644); err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", version)
}
`

// builtFakeCodex is the native fake, built once for all tests.
var builtFakeCodex = sync.OnceValues(func() (program []byte, err error) {
	dir, err := os.MkdirTemp("", "recibo-fake-codex-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "codex")
	if err := os.WriteFile(source, []byte(fakeCodexSource), 0o644); err != nil {
		return nil, err
	}
	if said, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the fake Codex: %w: %s", err, said)
	}
	return os.ReadFile(out)
})

func nativeFake(t *testing.T) string {
	t.Helper()
	program, err := builtFakeCodex()
	if err != nil {
		t.Fatal(err)
	}
	return string(program)
}

// layFiles writes files below dir; names end with "*" when they are executable.
func layFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		mode := os.FileMode(0o644)
		if bare, ok := strings.CutSuffix(name, "*"); ok {
			name, mode = bare, 0o755
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// codexBinCase is an installed Codex, and what is found of it; paths are relative.
type codexBinCase struct {
	files map[string]string
	link  [2]string // name, target
	bin   string
	want  Programs
	warn  string
}

func codexBinCases(native string) map[string]codexBinCase {
	vendor := "vendor/" + tripleOf(thisPlatform()) + "/"
	platform := "@openai/codex-" + thisPlatform() + "/"
	main := `{"name": "@openai/codex"}`
	const version = "codex-cli 1.2.3"
	return map[string]codexBinCase{
		"package_layout": {
			files: map[string]string{"p/bin/codex*": native, "p/bin/version": version, "p/bin/codex-code-mode-host*": "h", "p/codex-path/rg*": "r", "p/codex-package.json": "{}"},
			bin:   "p/bin/codex",
			want:  Programs{Dir: "p", Codex: "p/bin/codex", CodeModeHost: "p/bin/codex-code-mode-host", RG: "p/codex-path/rg", PathDir: "p/codex-path"},
		},
		"alone": {
			files: map[string]string{"bin/codex*": native, "bin/version": version, "path/rg*": "r"},
			bin:   "bin/codex",
			want:  Programs{Dir: ".", Codex: "bin/codex", RG: "path/rg", PathDir: "path"},
			warn:  "comes without codex-code-mode-host",
		},
		"rg_on_path": {
			files: map[string]string{"opt/codex*": native, "opt/version": version, "opt/codex-code-mode-host*": "h", "on-path/rg*": "r"},
			bin:   "opt/codex",
			want:  Programs{Dir: "opt", Codex: "opt/codex", CodeModeHost: "opt/codex-code-mode-host", RG: "on-path/rg", PathDir: "on-path"},
		},
		"npm_nested": {
			files: map[string]string{
				"lib/node_modules/@openai/codex/package.json": main, "lib/node_modules/@openai/codex/bin/codex.js*": "#!/usr/bin/env node\n",
				"lib/node_modules/@openai/codex/node_modules/" + platform + vendor + "bin/codex*":                native,
				"lib/node_modules/@openai/codex/node_modules/" + platform + vendor + "bin/version":               version,
				"lib/node_modules/@openai/codex/node_modules/" + platform + vendor + "bin/codex-code-mode-host*": "h",
				"lib/node_modules/@openai/codex/node_modules/" + platform + vendor + "codex-path/rg*":            "r",
			},
			link: [2]string{"codex", "lib/node_modules/@openai/codex/bin/codex.js"},
			bin:  "codex",
			want: programsIn("lib/node_modules/@openai/codex/node_modules/" + platform + strings.TrimSuffix(vendor, "/")),
		},
		"npm_beside": {
			files: map[string]string{
				"node_modules/@openai/codex/package.json": main, "node_modules/@openai/codex/bin/codex.js*": "#!/usr/bin/env node\n",
				"node_modules/" + platform + vendor + "bin/codex*": native, "node_modules/" + platform + vendor + "bin/version": version,
				"node_modules/" + platform + vendor + "bin/codex-code-mode-host*": "h", "node_modules/" + platform + vendor + "codex-path/rg*": "r",
			},
			bin:  "node_modules/@openai/codex/bin/codex.js",
			want: programsIn("node_modules/" + platform + strings.TrimSuffix(vendor, "/")),
		},
	}
}

func TestCodexBin(t *testing.T) {
	t.Parallel()
	for name, c := range codexBinCases(nativeFake(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			layFiles(t, dir, c.files)
			if c.link[0] != "" {
				if err := os.Symlink(c.link[1], filepath.Join(dir, c.link[0])); err != nil {
					t.Fatal(err)
				}
			}
			f := newFinding(t, "", map[string]string{"PATH": filepath.Join(dir, "on-path"), "SECRET": "x"})
			got, err := f.Find(t.Context(), Want{Version: "1.2.3", Bin: filepath.Join(dir, c.bin), Workspace: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			want.Version, want.Source = "1.2.3", FromBin
			for _, path := range []*string{&want.Dir, &want.Codex, &want.CodeModeHost, &want.RG, &want.PathDir} {
				if *path != "" {
					*path = filepath.Join(dir, *path)
				}
			}
			if diff := cmp.Diff(&want, got, cmp.AllowUnexported(Programs{})); diff != "" {
				t.Errorf("programs (-want +got):\n%s", diff)
			}
			if (c.warn != "") != (len(f.warned) > 0) || !f.told(c.warn) && c.warn != "" {
				t.Errorf("warned %q, want %q", f.warned, c.warn)
			}
			checkAsked(t, filepath.Dir(got.Codex))
			if d, err := got.Digest(t.Context()); err != nil || got.Verify(d) != nil {
				t.Errorf("Digest and Verify: %v, %v", err, got.Verify(d))
			}
		})
	}
}

func programsIn(dir string) Programs {
	return Programs{Dir: dir, Codex: dir + "/bin/codex", CodeModeHost: dir + "/bin/codex-code-mode-host", RG: dir + "/codex-path/rg", PathDir: dir + "/codex-path"}
}

// checkAsked asserts what the fake saw: --version, a home of its own and nothing else, which is
// gone now.
func checkAsked(t *testing.T, dir string) {
	t.Helper()
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(seen), "\n")
	var home string
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, "=")
		if name != "HOME" && name != "CODEX_HOME" && name != "PWD" {
			t.Errorf("it was given %q", line)
		}
		if name == "CODEX_HOME" {
			home = value
		}
	}
	if lines[0] != "--version" || home == "" {
		t.Errorf("it was given %q", lines)
	}
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its home %s stays behind (%v)", home, err)
	}
}

func TestCodexBinRefused(t *testing.T) {
	t.Parallel()
	native := nativeFake(t)
	workspace, outside := t.TempDir(), t.TempDir()
	layFiles(t, outside, map[string]string{
		"codex*": native, "version": "codex-cli 1.2.3", "text": native, "script*": "#!/bin/sh\necho codex-cli 1.2.3\n",
		"other/codex*": native, "other/version": "codex-cli 1.2.4", "odd/codex*": native, "odd/version": "something 1.2.3 else",
		"fails/codex*": native, "npm/package.json": `{"name":"@openai/codex"}`, "npm/bin/codex.js*": "#!/usr/bin/env node\n",
		"fake/package.json": `{"name":"@openal/codex"}`, "fake/bin/codex.js*": "#!/usr/bin/env node\n",
		"vend/package.json": `{"name":"@openai/codex"}`, "vend/bin/codex.js*": "#!/usr/bin/env node\n",
		"empty*": "",
	})
	layFiles(t, workspace, map[string]string{"codex*": native, "version": "codex-cli 1.2.3"})
	planted := filepath.Join(workspace, "codex")
	vendor := filepath.Join(outside, "vend", "vendor", tripleOf(thisPlatform()), "bin")
	err := errors.Join(
		os.Symlink(planted, filepath.Join(outside, "into")), os.Symlink(filepath.Join(outside, "codex"), filepath.Join(workspace, "out")),
		os.MkdirAll(vendor, 0o755), os.Symlink(planted, filepath.Join(vendor, "codex")),
	)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ bin, words string }{
		"missing":                {filepath.Join(outside, "nothing"), "no such file"},
		"directory":              {outside, "not an executable file"},
		"not_executable":         {filepath.Join(outside, "text"), "not an executable file"},
		"in_workspace":           {planted, "workspace"},
		"link_into_workspace":    {filepath.Join(outside, "into"), "workspace"},
		"link_from_workspace":    {filepath.Join(workspace, "out"), "workspace"},
		"script":                 {filepath.Join(outside, "script"), "it is a script"},
		"empty":                  {filepath.Join(outside, "empty"), "it is a script"},
		"other_version":          {filepath.Join(outside, "other", "codex"), "1.2.4"},
		"odd_answer":             {filepath.Join(outside, "odd", "codex"), "something 1.2.3 else"},
		"fails":                  {filepath.Join(outside, "fails", "codex"), "exit status"},
		"npm_without_program":    {filepath.Join(outside, "npm", "bin", "codex.js"), "optional dependencies"},
		"another_npm_package":    {filepath.Join(outside, "fake", "bin", "codex.js"), "it is a script"},
		"npm_leads_to_workspace": {filepath.Join(outside, "vend", "bin", "codex.js"), "no native program"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFinding(t, "", nil)
			got, err := f.Find(t.Context(), Want{Version: "1.2.3", Bin: c.bin, Workspace: workspace})
			if got != nil {
				t.Errorf("found %+v", got)
			}
			checkFault(t, err, fault.Request, c.words)
		})
	}
	t.Run("wall_taken_away", func(t *testing.T) {
		t.Parallel()
		f := newFinding(t, "", nil)
		if got, err := f.Find(t.Context(), Want{Version: "1.2.3", Bin: planted}); err != nil || got.Codex == "" {
			t.Errorf("without a workspace: %+v, %v; want the planted one", got, err)
		}
	})
}
