package receipt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, path string, r *Receipt) string {
	t.Helper()
	aside, err := Write(path, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err != nil {
		t.Errorf("read what was written: %v", err)
	}
	return aside
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWrite_makes_the_file(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "er", "usage.json")
	if aside := write(t, path, completed(t)); aside != "" {
		t.Errorf("moved %q aside, want nothing", aside)
	}
	if diff := cmp.Diff(string(golden(t, "completed.json")), read(t, path)); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Mode().Perm(), fs.FileMode(0o644); got != want {
		t.Errorf("permissions are %v, want %v", got, want)
	}
}

func TestWrite_keeps_other_keys_and_replaces_its_own(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "usage.json")
	old := `{"zeta":[1e400,9007199254740993,-0.10, "\u00e9\/\ud800", {"b":1,"a":{},"b":[]}],
		"status":"completed","jail":{"level":"full","mine":1},"Status":"kept","alpha":"<&>", "zeta": null, "z\"\\":"\\\"{"}`
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if aside := write(t, path, refused()); aside != "" {
		t.Errorf("moved %q aside, want nothing", aside)
	}
	// The others' keys stand where their names sort, the rest is the golden as it is.
	want := string(golden(t, "refused.json"))
	want = strings.Replace(want, "{\n", "{\n  \"Status\": \"kept\",\n", 1)
	want = strings.Replace(want, "  \"codex_sha\"", "  \"alpha\": \"<&>\",\n  \"codex_sha\"", 1)
	want = strings.Replace(want, "  \"wire_tools_sha\": null\n}", `  "wire_tools_sha": null,
  "z\"\\": "\\\"{",
  "zeta": [
    1e400,
    9007199254740993,
    -0.10,
    "\u00e9\/\ud800",
    {
      "a": {},
      "b": 1,
      "b": []
    }
  ],
  "zeta": null
}`, 1)
	if diff := cmp.Diff(want, read(t, path)); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"usage.json"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Mode().Perm(), fs.FileMode(0o600); got != want {
		t.Errorf("permissions are %v, want %v: they were not to widen", got, want)
	}
}

// TestPrint_keeps_the_order_of_equal_names takes more of them than sorting gets right by luck.
func TestPrint_keeps_the_order_of_equal_names(t *testing.T) {
	t.Parallel()
	var in, want []string
	for i := range 100 {
		in = append(in, fmt.Sprintf(`"b": %d, "a": %d`, i, i))
		want = append(want, fmt.Sprintf("  \"a\": %d", i))
	}
	for i := range 100 {
		want = append(want, fmt.Sprintf("  \"b\": %d", i))
	}
	v, err := parseTree([]byte("{" + strings.Join(in, ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{\n"+strings.Join(want, ",\n")+"\n}\n", string(v.print())); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func TestWrite_again_changes_nothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "usage.json")
	if err := os.WriteFile(path, []byte(`{"cost":{"eur":0.10}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, path, completed(t))
	first := read(t, path)
	write(t, path, completed(t))
	if diff := cmp.Diff(first, read(t, path)); diff != "" {
		t.Errorf("second writing (-first +second):\n%s", diff)
	}
}

func TestWrite_moves_aside_what_it_cannot_keep(t *testing.T) {
	t.Parallel()
	// Indented, it would be over the limit, though it is not as it stands.
	grows := `{"a":[` + strings.Repeat("1,", fileMax/4) + `1]}`
	for _, c := range []struct{ name, content string }{
		{"array", `[1, 2]`},
		{"text", "12 tokens\n"},
		{"cut", `{"a": 1`},
		{"two_objects", "{}\n{}"},
		{"not_utf8", "{\"a\": \"\xe9\"}"},
		{"byte_order_mark", "\uFEFF{}"},
		{"deep", `{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}"},
		{"too_large", `{"a": "` + strings.Repeat("x", fileMax) + `"}`},
		{"grows_too_large", grows},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "usage.json")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".kept-1", []byte("earlier"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, want := write(t, path, refused()), path+".kept-2"; got != want {
				t.Errorf("moved aside to %q, want %q", got, want)
			}
			if diff := cmp.Diff(string(golden(t, "refused.json")), read(t, path)); diff != "" {
				t.Errorf("receipt (-want +got):\n%s", diff)
			}
			if read(t, path+".kept-2") != c.content || read(t, path+".kept-1") != "earlier" {
				t.Error("what was moved aside has changed")
			}
			if diff := cmp.Diff([]string{"usage.json", "usage.json.kept-1", "usage.json.kept-2"}, names(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrite_takes_an_empty_file_as_none(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"empty": "", "white_space": " \n\t\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "usage.json")
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if aside := write(t, path, refused()); aside != "" {
				t.Errorf("moved %q aside, want nothing", aside)
			}
			if diff := cmp.Diff([]string{"usage.json"}, names(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrite_follows_nothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		put  func(path, target string) error
		mode fs.FileMode
	}{
		{"symbolic_link", func(path, target string) error { return os.Symlink(target, path) }, fs.ModeSymlink},
		{"dangling_link", func(path, _ string) error { return os.Symlink("/nowhere/at/all", path) }, fs.ModeSymlink},
		{"hard_link", func(path, target string) error { return os.Link(target, path) }, 0},
		{"directory", func(path, _ string) error { return os.MkdirAll(filepath.Join(path, "sub"), 0o755) }, fs.ModeDir},
		{"pipe", func(path, _ string) error { return makePipe(path) }, fs.ModeNamedPipe},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, elsewhere := t.TempDir(), t.TempDir()
			path, target := filepath.Join(dir, "usage.json"), filepath.Join(elsewhere, "precious")
			if err := os.WriteFile(target, []byte(`{"precious": true}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.put(path, target); err != nil {
				t.Fatal(err)
			}
			if got, want := write(t, path, refused()), path+".kept-1"; got != want {
				t.Errorf("moved aside to %q, want %q", got, want)
			}
			info, err := os.Lstat(path + ".kept-1")
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Type(); got != c.mode {
				t.Errorf("moved aside is a %v, want %v", got, c.mode)
			}
			if got := read(t, target); got != `{"precious": true}` {
				t.Errorf("the file elsewhere is now %q", got)
			}
			if diff := cmp.Diff(string(golden(t, "refused.json")), read(t, path)); diff != "" {
				t.Errorf("receipt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrite_says_where_it_cannot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file", "usage.json")
	aside, err := Write(path, refused())
	if aside != "" || err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %q and error %v, want an error that names %q", aside, err, path)
	}
	if diff := cmp.Diff([]string{"file"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func FuzzWrite(f *testing.F) {
	f.Add([]byte(`{"zeta": 1e400, "status": 7, "a": [{"b": "\ud800"}, -0.0]}`))
	f.Add([]byte(`{"a": 1, "a": 2, "\u0061": 3, "": {}}`))
	f.Add([]byte("\uFEFF{}"))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, old []byte) {
		path := filepath.Join(t.TempDir(), "usage.json")
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		aside := write(t, path, refused())
		if aside != "" {
			if got := read(t, aside); got != string(old) {
				t.Errorf("moved aside is %q, want %q", got, old)
			}
			return
		}
		if diff := cmp.Diff(othersOf(t, old), othersOf(t, []byte(read(t, path)))); diff != "" {
			t.Errorf("others' keys (-before +after):\n%s", diff)
		}
	})
}

// othersOf decodes what is not the receipt's with the standard library, which is another reader
// than the one under test.
func othersOf(t *testing.T, data []byte) map[string]any {
	t.Helper()
	others := map[string]any{}
	if len(bytes.TrimSpace(data)) == 0 {
		return others
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&others); err != nil {
		t.Fatal(err)
	}
	for name := range fieldNames() {
		delete(others, name)
	}
	return others
}
