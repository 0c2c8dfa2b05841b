package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/prompt"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// checkout returns a repository with everything that the cases name, beside a folder that is not
// part of it.
func checkout(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	root := filepath.Join(top, "repo")
	write(t, filepath.Join(root, "review.md"), " Look for bugs.\r\n\x00\n\n")
	write(t, filepath.Join(root, "service", "near.md"), "near")
	write(t, filepath.Join(root, "blank.md"), " \n\t\u00a0")
	write(t, filepath.Join(root, "bad.md"), "ok \xff")
	write(t, filepath.Join(root, ".git", "config"), "token")
	write(t, filepath.Join(root, "modules", ".GIT", "config"), "token")
	write(t, filepath.Join(top, "secret.md"), "secret")
	write(t, filepath.Join(top, "repo-other", "secret.md"), "secret")
	link(t, "review.md", filepath.Join(root, "inside.md"))
	link(t, filepath.Join(root, "review.md"), filepath.Join(root, "inside-absolute.md"))
	link(t, "../secret.md", filepath.Join(root, "out.md"))
	link(t, filepath.Join(top, "secret.md"), filepath.Join(root, "out-absolute.md"))
	link(t, "..", filepath.Join(root, "up"))
	link(t, "up", filepath.Join(root, "up-twice"))
	if err := os.Mkdir(filepath.Join(root, "service", "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "service/inner", filepath.Join(root, "deep"))
	link(t, "nowhere.md", filepath.Join(root, "dangling.md"))
	link(t, "loop.md", filepath.Join(root, "loop.md"))
	link(t, ".git", filepath.Join(root, "dotgit"))
	link(t, "/dev/zero", filepath.Join(root, "zero"))
	link(t, "repo", filepath.Join(top, "alias"))
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestLoadReads(t *testing.T) {
	t.Parallel()
	root := checkout(t)
	for name, c := range map[string]struct {
		source     prompt.Source
		text, path string
	}{
		"inline":                {prompt.Source{Inline: "\n hi \r\n"}, "\n hi \r\n", ""},
		"inline_blank_file":     {prompt.Source{Inline: "hi", File: " \n"}, "hi", ""},
		"file":                  {prompt.Source{File: "review.md"}, " Look for bugs.\r\n\x00\n\n", "review.md"},
		"file_blank_inline":     {prompt.Source{Inline: " \t", File: "review.md"}, " Look for bugs.\r\n\x00\n\n", "review.md"},
		"file_of_a_folder":      {prompt.Source{File: "near.md", Dir: filepath.Join(root, "service")}, "near", "service/near.md"},
		"file_up_and_inside":    {prompt.Source{File: "../review.md", Dir: filepath.Join(root, "service")}, " Look for bugs.\r\n\x00\n\n", "review.md"},
		"file_absolute":         {prompt.Source{File: filepath.Join(root, "service/near.md")}, "near", "service/near.md"},
		"file_by_another_name":  {prompt.Source{File: filepath.Join(root, "../alias/service/near.md")}, "near", "service/near.md"},
		"link_inside":           {prompt.Source{File: "inside.md"}, " Look for bugs.\r\n\x00\n\n", "review.md"},
		"link_inside_absolute":  {prompt.Source{File: "inside-absolute.md"}, " Look for bugs.\r\n\x00\n\n", "review.md"},
		"dots_behind_a_link":    {prompt.Source{File: "deep/../near.md"}, "near", "service/near.md"},
		"links_out_and_back_in": {prompt.Source{File: "up/repo/review.md"}, " Look for bugs.\r\n\x00\n\n", "review.md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.source.Root = root
			p, err := prompt.Load(c.source)
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			if got := string(p.Bytes()); got != c.text {
				t.Errorf("got text %q, want %q", got, c.text)
			}
			if p.Path != c.path {
				t.Errorf("got path %q, want %q", p.Path, c.path)
			}
			if want := digest.Of([]byte(c.text)); p.SHA != want {
				t.Errorf("got digest %v, want %v", p.SHA, want)
			}
		})
	}
}

func TestLoadWorksBelowALinkedTop(t *testing.T) {
	t.Parallel()
	root := checkout(t)
	p, err := prompt.Load(prompt.Source{File: "review.md", Root: filepath.Join(root, "../alias")})
	if err != nil || p.Path != "review.md" {
		t.Errorf("got %q, %v, want review.md", p.Path, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	root := checkout(t)
	for name, c := range map[string]struct {
		source    prompt.Source
		err, hint string
	}{
		"both":               {prompt.Source{Inline: "a", File: "review.md"}, "both set", "remove one"},
		"neither":            {prompt.Source{}, "neither prompt nor prompt-file is set", "set prompt-file"},
		"both_blank":         {prompt.Source{Inline: "\u2003\n", File: "\t"}, "neither", "set prompt-file"},
		"inline_not_utf8":    {prompt.Source{Inline: "a\xc3"}, "input prompt: the prompt is not UTF-8: the first bad byte is 0xC3 at offset 1", "UTF-8"},
		"file_blank":         {prompt.Source{File: "blank.md"}, `prompt file "blank.md": the prompt is empty or white space alone`, "look for"},
		"file_not_utf8":      {prompt.Source{File: "bad.md"}, "0xFF at offset 3", "UTF-8"},
		"missing":            {prompt.Source{File: "nope.md"}, `"nope.md": does not exist`, "commit the file"},
		"below_a_file":       {prompt.Source{File: "review.md/x"}, "does not exist", "commit the file"},
		"name_with_newline":  {prompt.Source{File: "review.md\n"}, "does not exist", "white space around"},
		"dangling":           {prompt.Source{File: "dangling.md"}, "does not exist", "commit the file"},
		"loop":               {prompt.Source{File: "loop.md"}, "leads nowhere", "replace the symbolic link"},
		"directory":          {prompt.Source{File: "service"}, "is a directory, not a file", "regular file"},
		"top":                {prompt.Source{File: "."}, "is a directory, not a file", "regular file"},
		"pipe":               {prompt.Source{File: "pipe"}, "is a pipe, not a file", "regular file"},
		"device_by_link":     {prompt.Source{File: "zero"}, "outside the repository", "inside the repository"},
		"device":             {prompt.Source{File: "zero", Root: "/dev"}, "is a device, not a file", "regular file"},
		"up":                 {prompt.Source{File: "../secret.md"}, "outside the repository", "inside the repository"},
		"up_missing":         {prompt.Source{File: "../nothing-here.md"}, "outside the repository", "inside the repository"},
		"sibling_prefix":     {prompt.Source{File: "../repo-other/secret.md"}, "outside the repository", "inside the repository"},
		"absolute_elsewhere": {prompt.Source{File: "/etc/passwd"}, "outside the repository", "inside the repository"},
		"link_out":           {prompt.Source{File: "out.md"}, "outside the repository", "inside the repository"},
		"link_out_absolute":  {prompt.Source{File: "out-absolute.md"}, "outside the repository", "inside the repository"},
		"folder_link_out":    {prompt.Source{File: "up/secret.md"}, "outside the repository", "inside the repository"},
		"folder_links_out":   {prompt.Source{File: "up-twice/secret.md"}, "outside the repository", "inside the repository"},
		"link_then_dots":     {prompt.Source{File: "up/repo/../secret.md"}, "outside the repository", "inside the repository"},
		"git":                {prompt.Source{File: ".git/config"}, "inside .git", "repository contains"},
		"git_by_link":        {prompt.Source{File: "dotgit/config"}, "inside .git", "repository contains"},
		"git_nested_case":    {prompt.Source{File: "modules/.GIT/config"}, "inside .git", "repository contains"},
		"text_as_name":       {prompt.Source{File: strings.Repeat("long ", 2000)}, "…: the name is too long", "as prompt"},
		"top_is_relative":    {prompt.Source{File: "review.md", Root: "."}, "not an absolute directory", "checkout"},
		"top_is_missing":     {prompt.Source{File: "review.md", Root: "/nowhere/at/all"}, "not an absolute directory", "checkout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.source.Root == "" {
				c.source.Root = root
			}
			p, err := prompt.Load(c.source)
			wantRefusal(t, err, c.err, c.hint)
			if p.Bytes() != nil || p.Path != "" || !p.SHA.IsZero() {
				t.Errorf("a refused prompt holds something: %+v", p)
			}
		})
	}
}

func wantRefusal(t *testing.T, err error, text, hint string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", text)
	}
	if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
		t.Errorf("got error %q, want one short line with %q", err, text)
	}
	if got := fault.KindOf(err); got != fault.Request {
		t.Errorf("got kind %v, want a request fault", got)
	}
	if got := fault.HintOf(err); !strings.Contains(got, hint) {
		t.Errorf("got hint %q, want %q in it", got, hint)
	}
}

func TestLoadCountsALongFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "long.md"), strings.Repeat("é", 80_001))
	write(t, filepath.Join(root, "full.md"), strings.Repeat("é", 80_000))
	if err := os.Truncate(filepath.Join(root, "long.md"), 160_002); err != nil {
		t.Fatal(err)
	}
	if _, err := prompt.Load(prompt.Source{File: "full.md", Root: root}); err != nil {
		t.Errorf("80,000 characters: %v", err)
	}
	_, err := prompt.Load(prompt.Source{File: "long.md", Root: root})
	wantRefusal(t, err, "has 80001 characters, and at most 80000 stay whole", "shorten")
	// A sparse file of 1 TB must neither be read whole nor fill the memory.
	write(t, filepath.Join(root, "huge.md"), "x")
	if err := os.Truncate(filepath.Join(root, "huge.md"), 1<<40); err != nil {
		t.Fatal(err)
	}
	_, err = prompt.Load(prompt.Source{File: "huge.md", Root: root})
	wantRefusal(t, err, "1099511627776 bytes long", "shorten")
}

func TestBytesIsOneSlice(t *testing.T) {
	t.Parallel()
	text := []byte("keep me")
	p, err := prompt.New("a.md", text)
	if err != nil {
		t.Fatal(err)
	}
	first, second := p.Bytes(), p.Bytes()
	if unsafe.SliceData(first) != unsafe.SliceData(text) || unsafe.SliceData(second) != unsafe.SliceData(text) {
		t.Error("Bytes returned a copy, want the slice that was hashed")
	}
}
