package codex

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// installed returns a Finder whose cache holds p, after one installation from reg.
func installed(t *testing.T, reg *fakeRegistry, p fakePackage) *finding {
	t.Helper()
	reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), p.file())
	f := newFinding(t, reg.URL, nil)
	f.lock = p.locked()
	if _, err := f.Find(t.Context(), Want{}); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDamagedEntryIsInstalledAnew(t *testing.T) {
	t.Parallel()
	cases := map[string]func(dir string) error{
		"truncated":       func(dir string) error { return os.Truncate(filepath.Join(dir, "bin", "codex"), 100) },
		"missing_program": func(dir string) error { return os.Remove(filepath.Join(dir, "codex-path", "rg")) },
		"not_executable":  func(dir string) error { return os.Chmod(filepath.Join(dir, "bin", "codex"), 0o644) },
		"program_is_a_link": func(dir string) error {
			path := filepath.Join(dir, "bin", "codex")
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		},
		"package_file_changed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, packageFile), []byte(`{"pathDir":"/tmp/path0"}`), 0o644)
		},
		"no_record":    func(dir string) error { return os.Remove(filepath.Join(dir, recordName)) },
		"empty_record": func(dir string) error { return os.WriteFile(filepath.Join(dir, recordName), nil, 0o644) },
		"record_of_another_package": func(dir string) error {
			return editRecord(dir, newFakePackage(t, "1.2.3").sum.String(), tarballSum{9}.String())
		},
		"record_of_another_version": func(dir string) error { return editRecord(dir, `"1.2.3"`, `"1.2.2"`) },
		"record_without_codex":      func(dir string) error { return editRecord(dir, "bin/codex\"", "bin/codex-code-mode-host\"") },
		"record_leads_outside":      func(dir string) error { return editRecord(dir, "codex-path/rg", "../../rg") },
		"record_of_the_future":      func(dir string) error { return editRecord(dir, `"format": 1`, `"format": 2`) },
		"a_file": func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, []byte("x"), 0o644))
		},
		"empty": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)) },
	}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFakePackage(t, "1.2.3")
			reg := newFakeRegistry(t)
			f := installed(t, reg, p)
			if err := damage(filepath.Join(f.CacheDir, p.release.id())); err != nil {
				t.Fatal(err)
			}
			reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), p.file())
			got, err := f.Find(t.Context(), Want{})
			if err != nil {
				t.Fatal(err)
			}
			checkWhole(t, f, got, FromInstall, "lock")
			if !f.told("is not used") {
				t.Errorf("warned %q, want the damage told", f.warned)
			}
		})
	}
}

func editRecord(dir, from, to string) error {
	path := filepath.Join(dir, recordName)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	edited := strings.Replace(string(data), from, to, 1)
	if edited == string(data) {
		return errors.New("the record has no " + from)
	}
	return os.WriteFile(path, []byte(edited), 0o644)
}

// Same size, other bytes: the look at the cache does not see it, the digest beside the run does.
func TestChangedProgramIsSeenByVerify(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bin/codex", "bin/codex-code-mode-host", "codex-path/rg"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			p := newFakePackage(t, "1.2.3")
			f := installed(t, newFakeRegistry(t), p)
			path := filepath.Join(f.CacheDir, p.release.id(), filepath.FromSlash(name))
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-1] ^= 1
			if err := os.WriteFile(path, data, 0o755); err != nil {
				t.Fatal(err)
			}
			got, err := f.Find(t.Context(), Want{})
			if err != nil || got.Source != FromCache {
				t.Fatalf("Find: %+v, %v; want the entry as it is", got, err)
			}
			d, err := got.Digest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			checkFault(t, got.Verify(d), fault.Request, filepath.Base(name), "remove that directory")
		})
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	reg := newFakeRegistry(t)
	made := installed(t, reg, p)
	f := newFinding(t, reg.URL, nil)
	f.lock, f.ImageDir = p.locked(), made.CacheDir
	got, err := f.Find(t.Context(), Want{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Source != FromImage || got.Dir != filepath.Join(made.CacheDir, p.release.id()) || got.Integrity != "lock" {
		t.Errorf("found %+v, want the image's", got)
	}
	if left := f.remains(t); len(left) != 0 {
		t.Errorf("the cache holds %q, want nothing", left)
	}
	// Another version is not in the image; no damage, so nothing to tell.
	q := newFakePackage(t, "1.2.4")
	reg.on(q.docPath(), q.doc(reg.URL)).on(q.tarballPath(), q.file())
	got, err = f.Find(t.Context(), Want{Version: "1.2.4"})
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, f, got, FromInstall, "registry")
	if len(f.warned) != 0 {
		t.Errorf("warned %q", f.warned)
	}
}

func TestCacheInWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	f := installed(t, newFakeRegistry(t), p)
	workspace, outside := t.TempDir(), t.TempDir()
	// What a pull request would plant, and the ways it would be reached.
	planted := filepath.Join(workspace, ".cache")
	if err := os.CopyFS(planted, os.DirFS(f.CacheDir)); err != nil {
		t.Fatal(err)
	}
	into, from := filepath.Join(outside, "into"), filepath.Join(workspace, "from")
	if err := errors.Join(os.Symlink(planted, into), os.Symlink(f.CacheDir, from)); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"in_it": planted, "by_a_link": into, "by_a_link_of_its_own": from, "to_be_made": filepath.Join(into, "a", "b"), "the_workspace": workspace,
	} {
		g := newFinding(t, "", nil)
		g.lock, g.CacheDir = p.locked(), dir
		got, err := g.Find(t.Context(), Want{Workspace: workspace})
		if got != nil {
			t.Errorf("%s: found %+v", name, got)
		}
		checkFault(t, err, fault.Request, "XDG_CACHE_HOME")
	}
	// The wall taken away: the planted one would be used.
	g := newFinding(t, "", nil)
	g.lock, g.CacheDir = p.locked(), planted
	if got, err := g.Find(t.Context(), Want{}); err != nil || got.Source != FromCache {
		t.Errorf("without a workspace: %+v, %v; want the planted entry", got, err)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	f := newFinding(t, "", nil)
	f.lock = p.locked()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.CacheDir = filepath.Join(file, "codex")
	_, err := f.Find(t.Context(), Want{})
	checkFault(t, err, fault.Review, f.CacheDir, "XDG_CACHE_HOME")
	f.CacheDir = ""
	_, err = f.Find(t.Context(), Want{})
	checkFault(t, err, fault.Request, "codex-bin")
	full := diskFault("/cache", &fs.PathError{Op: "write", Path: "/cache/codex", Err: syscall.ENOSPC})
	checkFault(t, full, fault.Review, "free 600 MB", "no space left")
}

// Without the lock (not every file system has one) the first rename stands.
func TestPublishGivesWayToAWholeEntry(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	f := installed(t, newFakeRegistry(t), p)
	dest := filepath.Join(f.CacheDir, p.release.id())
	before, err := os.Stat(dest)
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(f.CacheDir, partPrefix+"mine")
	if err := os.CopyFS(part, os.DirFS(dest)); err != nil {
		t.Fatal(err)
	}
	r := p.release
	r.pinned = p.sum
	if err := publish(part, dest, r); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(dest); err != nil || !os.SameFile(before, after) {
		t.Errorf("the entry was replaced (%v)", err)
	}
	if _, err := os.Stat(part); err != nil {
		t.Errorf("what was not needed is gone before its owner removes it: %v", err)
	}
}

func TestSweepTakesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := release{version: "1.2.3-a", platform: "linux-x64"}
	dead := []string{".part-1.2.3-a-linux-x64~1", ".part-1.2.3-a-linux-x64~2.old"}
	stay := []string{
		".lock-1.2.3-a-linux-x64", ".part-1.2.3-a-linux-arm64~1", ".part-1.2.3-a-linux-x64-b-linux-x64~1",
		".part-1.2.3-linux-x64~1", "1.2.3-a-linux-x64",
	}
	for _, name := range append(dead, stay...) {
		if err := os.MkdirAll(filepath.Join(dir, name, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := sweep(dir, r); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(stay, got); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"format":1,"version":"1.2.3","platform":"linux-x64","integrity":"sha512-x","files":[{"path":"bin/codex","bytes":1,"sha256":"` + strings.Repeat("a", 64) + `"}]}`))
	f.Add([]byte(`{"format":1,"files":[{"path":"../bin/codex"}]}`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := parseRecord(data)
		if err != nil {
			return
		}
		for _, file := range rec.Files {
			if !filepath.IsLocal(file.Path) || file.SHA256.IsZero() {
				t.Errorf("a record with %+v", file)
			}
		}
	})
}
