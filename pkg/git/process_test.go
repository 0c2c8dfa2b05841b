package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is a program in git's place.
func fake(t *testing.T, text string) program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	script(t, path, text)
	p, err := newProgram(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEnvironment_is_from_nothing(t *testing.T) {
	t.Setenv("GIT_DIR", "/elsewhere")
	t.Setenv("GIT_EXTERNAL_DIFF", "evil")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=evil'")
	t.Setenv("INPUT_OPENAI-API-KEY", "secret")
	t.Setenv("LD_PRELOAD", "")
	out, err := fake(t, "env").output(t.Context(), call{cwd: t.TempDir(), gitDir: "/given", args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(line, "=")
		got[name] = true
		if strings.Contains(value, "evil") || strings.Contains(value, "secret") || strings.Contains(value, "elsewhere") {
			t.Errorf("process has %q", line)
		}
	}
	want := map[string]bool{"PWD": true, "GIT_DIR": true, "_": true, "SHLVL": true, "OLDPWD": true}
	for _, pair := range environment("/bin") {
		name, _, _ := strings.Cut(pair, "=")
		want[name] = true
		if !got[name] {
			t.Errorf("process lacks %q", name)
		}
	}
	for name := range got {
		if !want[name] {
			t.Errorf("process has %q", name)
		}
	}
}

// TestProcess_group dies whole: what git started must not outlive the question.
func TestProcess_group(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := fake(t, "sleep 600 & echo $! >"+dir+"/pid; mv "+dir+"/pid "+dir+"/child; echo begun; wait\n")
	ctx, cancel := context.WithCancel(t.Context())
	run, err := p.start(ctx, call{cwd: dir, args: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("begun\n"))
	if _, err := run.Read(line); err != nil || string(line) != "begun\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	cancel()
	if _, err := run.Read(line); !errors.Is(err, context.Canceled) {
		t.Errorf("Read after cancel = %v, want Canceled", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if !gone(child) {
		t.Errorf("child %d lives on", child)
	}
}

// gone waits for a killed process that somebody else has to reap.
func gone(pid int) bool {
	for range 500 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || zombie(pid) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func zombie(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(text), ") Z ")
}

func TestOutput_failure_is_one_safe_line(t *testing.T) {
	t.Parallel()
	p := fake(t, `i=0; while [ $i -lt 2000 ]; do echo "warning: $i" >&2; i=$((i+1)); done
printf 'fatal: no \033[31m\r##[command]\302\205\377\n' >&2; echo partial; exit 128`)
	dir := t.TempDir()
	out, err := p.output(t.Context(), call{cwd: dir, args: []string{"some-verb", "arg"}})
	if string(out) != "partial\n" || err == nil || exitCode(err) != 128 {
		t.Fatalf("output = %q, %v, want exit status 128", out, err)
	}
	said := err.Error()
	if !strings.HasSuffix(said, "fatal: no ?[31m?##[command]??") || !strings.HasPrefix(said, "git some-verb in \""+dir) {
		t.Errorf("error = ...%q", said[max(0, len(said)-80):])
	}
	if len(said) > 2*stderrLimit {
		t.Errorf("error has %d bytes, want at most %d", len(said), 2*stderrLimit)
	}
}

func TestFailure_kinds(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]error{
		"error: invalid path '.git/x'": ErrPath,
		"fatal: bad object abc":        ErrMissing,
		"fatal: unable to read abc":    ErrMissing,
	} {
		_, err := fake(t, "echo \""+said+"\" >&2; exit 1").output(t.Context(), call{cwd: t.TempDir(), args: []string{"x"}})
		if !errors.Is(err, want) || hintOf(err) == "" || !strings.Contains(err.Error(), said) {
			t.Errorf("%q = %v, hint %q, want %v", said, err, hintOf(err), want)
		}
	}
}

func TestResolve_answers_that_do_not_fit(t *testing.T) {
	t.Parallel()
	r := &Repository{program: fake(t, "echo one line"), private: t.TempDir()}
	if got, err := r.Commit(t.Context(), "HEAD"); got != "" || err == nil {
		t.Errorf("Commit = %q, %v, want an error", got, err)
	}
	if got, err := r.Blob(t.Context(), "HEAD", "f"); got.ID != "" || err == nil {
		t.Errorf("Blob = %+v, %v, want an error", got, err)
	}
}

func TestProcesses_are_few(t *testing.T) {
	t.Parallel()
	c, _ := branched(t)
	c.git("tag", "v1")
	log := filepath.Join(t.TempDir(), "log")
	counting := fake(t, `echo x >>`+log+"\n"+`exec git "$@"`)
	r := c.open()
	r.program.path = counting.path
	dir := filepath.Join(t.TempDir(), "laid")
	for name, test := range map[string]struct {
		most int
		ask  func() error
	}{
		"commit":     {1, func() error { _, err := r.Commit(t.Context(), "HEAD"); return err }},
		"merge base": {2, func() error { _, err := r.MergeBase(t.Context(), "main", "topic"); return err }},
		"blobs":      {3, func() error { _, err := r.Blobs(t.Context(), "HEAD", "f", "m1", "m2"); return err }},
		"describe":   {3, func() error { _, err := r.Describe(t.Context()); return err }},
		"diff":       {2, func() error { _, err := patch(t.Context(), r, "main", "topic"); return err }},
		"lay out":    {4, func() error { _, err := r.LayOut(t.Context(), LayOut{Rev: "main", Dir: dir}); return err }},
		"is tree":    {3, func() error { _, _, err := r.IsTree(t.Context(), "main", nil); return err }},
	} {
		os.Remove(log)
		if err := test.ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := os.ReadFile(log)
		if n := strings.Count(string(text), "x"); err != nil || n != test.most {
			t.Errorf("%s: %d processes, %v, want %d", name, n, err, test.most)
		}
	}
}

func TestAlternates_quoting(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"/plain/path", "/new\nline", `/quo"te\back`, "/tab\t", "/\xff", "#hash", `"`} {
		got := parseAlternates([]byte("# comment\n\n" + quote(dir) + "\n"))
		if diff := cmp.Diff([]string{dir}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", dir, diff)
		}
	}
	got := parseAlternates([]byte("../plain\n\"\\303\\274\\a\"\n\"open\n"))
	if diff := cmp.Diff([]string{"../plain", "ü\a", `"open`}, got); diff != "" {
		t.Errorf("as git writes it (-want +got):\n%s", diff)
	}
}

func FuzzAlternates(f *testing.F) {
	f.Add([]byte("/a\n\"\\n\\303\\\"\"\n#\n"), "dir\n\\")
	f.Fuzz(func(t *testing.T, text []byte, dir string) {
		parseAlternates(text)
		if got := unquote(quote(dir)); got != dir {
			t.Errorf("unquote(quote(%q)) = %q", dir, got)
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("core.bare\nfalse\x00remote.https://u:p@h/.url\nx\x00flag\x00"))
	f.Add([]byte("extensions.objectformat\nSHA256\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		c := parseConfig(out)
		if key, ok := c.harmless(); ok && strings.Contains(string(out), "credential.helper\n") && len(c) == 1 {
			t.Errorf("harmless(%q) = %q, %v", out, key, ok)
		}
		for _, s := range c.worktree() {
			if strings.ContainsAny(s.value, "\n\"\\") {
				t.Errorf("worktree(%q) has %q", out, s)
			}
		}
	})
}

func FuzzLinks(f *testing.F) {
	f.Add("dir/link", "../../x", "b", "dir")
	f.Add("a", "b/..", "b", "/etc")
	f.Add("a", "b", "b", "a")
	f.Fuzz(func(t *testing.T, path, target, path2, target2 string) {
		l := links{exact: map[string]string{path: target, path2: target2}, folded: map[string]string{}}
		why := l.judge(path, target)
		if why == "" && (strings.HasPrefix(target, "/") || strings.HasPrefix(target, strings.Repeat("../", strings.Count(path, "/")+1))) {
			t.Errorf("%q -> %q is allowed", path, target)
		}
	})
}
