package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkLayOut lays a tree out and, beside it, has git add a worktree of it. RECIBO_BENCH_FILES
// is the number of files, 2,000 when not set.
func BenchmarkLayOut(b *testing.B) {
	files := 2000
	if text := os.Getenv("RECIBO_BENCH_FILES"); text != "" {
		if _, err := fmt.Sscan(text, &files); err != nil {
			b.Fatal(err)
		}
	}
	dir := benchRepository(b, files)
	r, err := Open(b.Context(), dir, Options{Scratch: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	out := filepath.Join(b.TempDir(), "out")
	b.Run("recibo", func(b *testing.B) {
		for b.Loop() {
			laid, err := r.LayOut(b.Context(), LayOut{Rev: "main", Dir: out})
			if err != nil || laid.Files != files {
				b.Fatalf("LayOut = %d files, %v, want %d", laid.Files, err, files)
			}
			b.StopTimer()
			os.RemoveAll(out)
			b.StartTimer()
		}
	})
	b.Run("worktree_add", func(b *testing.B) {
		for b.Loop() {
			benchGit(b, dir, "worktree", "add", "-q", "--detach", out, "main")
			b.StopTimer()
			benchGit(b, dir, "worktree", "remove", "--force", out)
			b.StartTimer()
		}
	})
	b.Run("in_place", func(b *testing.B) {
		benchGit(b, dir, "reset", "-q", "--hard", "main")
		b.ResetTimer()
		for b.Loop() {
			if exact, why, err := r.IsTree(b.Context(), "main", nil); !exact || err != nil {
				b.Fatalf("IsTree = %v, %q, %v", exact, why, err)
			}
		}
	})
}

// benchRepository has one commit of that many files of up to some 5 kB, packed.
func benchRepository(b *testing.B, files int) string {
	dir := b.TempDir()
	benchGit(b, dir, "init", "-q", "-b", "main")
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir = dir
	feed, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(feed, "commit refs/heads/main\ncommitter C <c@example.com> 1700000000 +0000\ndata 0\n")
	for i := range files {
		body := strings.Repeat(fmt.Sprintf("line of file %d with more words\n", i), 1+i*7919%150)
		fmt.Fprintf(feed, "M 100644 inline d%02d/e%02d/f%d.go\ndata %d\n%s\n", i%100, i/100%50, i, len(body), body)
	}
	if err := feed.Close(); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	benchGit(b, dir, "repack", "-a", "-d", "-q")
	return dir
}

func benchGit(b *testing.B, dir string, args ...string) {
	b.Helper()
	if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
		b.Fatalf("git %q: %v: %s", args, err, out)
	}
}
