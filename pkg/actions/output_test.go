package actions

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/sethvargo/go-githubactions"
)

// zeroToken is what a source of zeros makes.
const zeroToken = "recibo-00000000000000000000000000000000"

var errDisk = errors.New("source gone")

func outputFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteOutputs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before string
		give   []Output
		want   []Output
	}{
		"none":           {"", nil, nil},
		"plain":          {"", []Output{{"verdict", "ok"}, {"total-tokens", "7"}}, []Output{{"verdict", "ok"}, {"total-tokens", "7"}}},
		"empty_value":    {"", []Output{{"a", ""}, {"b", "x"}}, []Output{{"a", ""}, {"b", "x"}}},
		"newlines":       {"", []Output{{"a", "\n\nx\n\n"}}, []Output{{"a", "\n\nx\n\n"}}},
		"carriage":       {"", []Output{{"a", "x\r\ny\r"}}, []Output{{"a", "x\r\ny\r"}}},
		"forged_entry":   {"", []Output{{"a", "x\nverdict=ok\nverdict<<E\nok\nE"}}, []Output{{"a", "x\nverdict=ok\nverdict<<E\nok\nE"}}},
		"after_others":   {"x=1\n", []Output{{"a", "b"}}, []Output{{"x", "1"}, {"a", "b"}}},
		"after_partial":  {"x=1", []Output{{"a", "b"}}, []Output{{"x", "1"}, {"a", "b"}}},
		"other_scripts":  {"", []Output{{"a", "日本語🙂\x00"}}, []Output{{"a", "日本語🙂\x00"}}},
		"same_name":      {"", []Output{{"a", "1"}, {"a", "1"}}, []Output{{"a", "1"}, {"a", "1"}}},
		"largest_fits":   {"", []Output{{"a", strings.Repeat("x", 1<<19-1)}}, []Output{{"a", strings.Repeat("x", 1<<19-1)}}},
		"counted_utf_16": {"", []Output{{"a", strings.Repeat("é", 1<<19-1)}}, []Output{{"a", strings.Repeat("é", 1<<19-1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := outputFile(t, tc.before)
			if err := WriteOutputs(path, rand.Reader, tc.give...); err != nil {
				t.Fatalf("WriteOutputs: got %v, want no error", err)
			}
			got, err := readFileCommands(readFile(t, path))
			if err != nil {
				t.Fatalf("the runner cannot read the file: %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the runner reads (-want +got):\n%s", diff)
			}
			if strings.HasPrefix(readFile(t, path), "\n") || strings.Contains(strings.Split(readFile(t, path), "<<")[0], "\n\n") {
				t.Error("a blank line stands outside of a heredoc, which act refuses")
			}
		})
	}
}

func TestWriteOutputsRefuses(t *testing.T) {
	t.Parallel()
	ok := Output{"ok", "1"}
	for name, tc := range map[string]struct {
		bad  Output
		want string
	}{
		"empty_name":   {Output{"", "x"}, `write output "": not a name`},
		"equals":       {Output{"a=b", "x"}, `write output "a=b": not a name`},
		"newline":      {Output{"a\nb", "x"}, `write output "a\nb": not a name`},
		"heredoc":      {Output{"a<<b", "x"}, `write output "a<<b": not a name`},
		"digit_first":  {Output{"1a", "x"}, `write output "1a": not a name`},
		"not_utf8":     {Output{"a", "\xff"}, `write output "a": not UTF-8`},
		"too_large":    {Output{"a", strings.Repeat("x", 1<<19)}, `write output "a": 1048578 bytes, and outputs have room for 1048570 more`},
		"large_as_utf": {Output{"a", strings.Repeat("🙂", 1<<18)}, `write output "a": 1048578 bytes, and outputs have room for 1048570 more`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := outputFile(t, "")
			err := WriteOutputs(path, rand.Reader, tc.bad, ok)
			if err == nil || err.Error() != tc.want {
				t.Errorf("WriteOutputs: got %v, want %s", err, tc.want)
			}
			got, readErr := readFileCommands(readFile(t, path))
			if diff := cmp.Diff([]Output{ok}, got); diff != "" || readErr != nil {
				t.Errorf("the runner reads (-want +got):\n%s, %v", diff, readErr)
			}
		})
	}
}

func TestOutputSizeHint(t *testing.T) {
	t.Parallel()
	err := WriteOutputs(outputFile(t, strings.Repeat("a=1\n", 1<<18)), rand.Reader, Output{"final-message", "x"})
	size, ok := errors.AsType[*OutputSizeError](err)
	if !ok || size.Name != "final-message" || size.Room != 0 || size.Hint() == "" {
		t.Errorf("WriteOutputs: got %v, want an *OutputSizeError of final-message, no room, with a hint", err)
	}
}

func TestWriteOutputsDelimiter(t *testing.T) {
	t.Parallel()
	zeros := bytes.NewReader(make([]byte, 16))
	for name, tc := range map[string]struct {
		random io.Reader
		want   []Output
		fails  bool
	}{
		"taken_once":    {io.MultiReader(zeros, strings.NewReader("0123456789abcdef")), []Output{{"a", "x\n" + zeroToken + "\nb=c"}}, false},
		"always_taken":  {bytes.NewReader(make([]byte, 1024)), nil, true},
		"no_randomness": {strings.NewReader("short"), nil, true},
		"broken":        {io.MultiReader(strings.NewReader("short"), iotestErr{}), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := outputFile(t, "")
			err := WriteOutputs(path, tc.random, Output{"a", "x\n" + zeroToken + "\nb=c"})
			if (err != nil) != tc.fails || err != nil && !strings.Contains(err.Error(), `write output "a": `) {
				t.Errorf("WriteOutputs: got %v, want an error that names the output: %t", err, tc.fails)
			}
			got, readErr := readFileCommands(readFile(t, path))
			if diff := cmp.Diff(tc.want, got); diff != "" || readErr != nil {
				t.Errorf("the runner reads (-want +got):\n%s, %v", diff, readErr)
			}
		})
	}
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, errDisk }

// TestFixedDelimiterIsForged shows the attack that random delimiters are for.
func TestFixedDelimiterIsForged(t *testing.T) {
	t.Parallel()
	hostile := "findings\n_GitHubActionsFileCommandDelimeter_\nverdict=ok\nx<<_GitHubActionsFileCommandDelimeter_"
	fixed, random := outputFile(t, ""), outputFile(t, "")
	action := githubactions.New(githubactions.WithGetenv(environ("GITHUB_OUTPUT", fixed)))
	action.SetOutput("final-message", hostile)
	if err := WriteOutputs(random, rand.Reader, Output{"final-message", hostile}); err != nil {
		t.Fatal(err)
	}
	got, err := readFileCommands(readFile(t, fixed))
	if err != nil || len(got) != 3 || got[1] != (Output{"verdict", "ok"}) {
		t.Errorf("fixed delimiter: got %q, %v, want a forged verdict", got, err)
	}
	got, err = readFileCommands(readFile(t, random))
	if diff := cmp.Diff([]Output{{"final-message", hostile}}, got); diff != "" || err != nil {
		t.Errorf("random delimiter (-want +got):\n%s, %v", diff, err)
	}
}

func TestAppendedFiles(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(path string) error{
		"outputs": func(path string) error { return WriteOutputs(path, rand.Reader, Output{"a", "b"}) },
		"summary": func(path string) error { _, err := AppendSummary(path, "a"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			target, link, pipe := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
			if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink(target, link), syscall.Mkfifo(pipe, 0o600)); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{link, pipe, dir} {
				if err := write(path); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
					t.Errorf("%s: got %v, want that it is not a regular file", path, err)
				}
			}
			if got := readFile(t, target); got != "" {
				t.Errorf("behind the link: got %q, want nothing", got)
			}
			if err := write(filepath.Join(dir, "no", "such")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("missing directory: got %v, want %v", err, os.ErrNotExist)
			}
			if err := write(filepath.Join(dir, "new")); err != nil {
				t.Errorf("missing file: got %v, want it made", err)
			}
			if err := write(""); !errors.Is(err, ErrUnset) {
				t.Errorf("no path: got %v, want %v", err, ErrUnset)
			}
		})
	}
}

func FuzzWriteOutputs(f *testing.F) {
	f.Add("a", "x\ny", "b", zeroToken, []byte("0123456789abcdef"))
	f.Add("a", zeroToken, "b", "b<<"+zeroToken+"\n\n"+zeroToken, make([]byte, 64))
	f.Add("final-message", "", "a=b", "\r\n", []byte{})
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string, random []byte) {
		path := outputFile(t, "")
		give := []Output{{name1, value1}, {name2, value2}}
		err := WriteOutputs(path, bytes.NewReader(random), give...)
		got, readErr := readFileCommands(readFile(t, path))
		if readErr != nil {
			t.Fatalf("%q: the runner cannot read %q: %v", give, readFile(t, path), readErr)
		}
		if err == nil {
			if diff := cmp.Diff(give, got); diff != "" {
				t.Errorf("the runner reads (-want +got):\n%s", diff)
			}
			return
		}
		for _, o := range got {
			if o != give[0] && o != give[1] || !utf8.ValidString(o.Value) {
				t.Errorf("%q: the runner reads %q, which nobody wrote", give, o)
			}
		}
	})
}
