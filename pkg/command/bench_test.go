package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/internal/modeltest"
	"github.com/recibo-ci/recibo/pkg/codex"
)

// BenchmarkReview times a whole review (inputs to receipt, in the jail) and a bare `codex exec`
// against the same scripted model, in pairs, and reports the ratio of the sums.
func BenchmarkReview(b *testing.B) {
	bench := newBench(b)
	var whole, bare time.Duration
	for b.Loop() {
		bench.ask(look(""), modeltest.Message(lockFinding))
		start := time.Now()
		bench.want(exitDone, "review", "--prompt-file="+promptV4)
		whole += time.Since(start)
		bare += bareCodex(b, bench.dir)
	}
	b.ReportMetric(whole.Seconds()*1000/float64(b.N), "ms/review")
	b.ReportMetric(bare.Seconds()*1000/float64(b.N), "ms/bare")
	b.ReportMetric(float64(whole)/float64(bare), "ratio")
}

// bareCodex runs Codex as a person would script it, in the checkout, with the key added by a
// plain proxy.
func bareCodex(b *testing.B, dir string) time.Duration {
	b.Helper()
	m := modeltest.Start(b, look(""), modeltest.Message(lockFinding))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+modeltest.Key)
		m.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	home := b.TempDir()
	config := fmt.Sprintf("model_provider = \"x\"\n[model_providers.x]\nname = \"x\"\nbase_url = %q\nwire_api = \"responses\"\n[features]\nplugins = false\n", proxy.URL+"/v1")
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o644); err != nil {
		b.Fatal(err)
	}
	cache, _ := keepDirs(World{Environ: []string{"HOME=" + os.Getenv("HOME")}}, os.Geteuid())
	p, err := codex.Finder{CacheDir: filepath.Join(cache, "codex"), Getenv: os.Getenv}.Find(b.Context(), codex.Want{})
	if err != nil {
		b.Fatal(err)
	}
	var out strings.Builder
	start := time.Now()
	process, err := codex.Direct(b.Context(), codex.Command{
		Path: p.Codex, Dir: dir, Stdin: strings.NewReader("Review.\n"), Stdout: &out, Stderr: &out,
		Args: []string{"exec", "--json", "--ephemeral", "--skip-git-repo-check", "-s", "danger-full-access", "-"},
		Env:  []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "CODEX_HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp")},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		b.Fatalf("codex: %v\n%s", err, out.String())
	}
	return time.Since(start)
}
