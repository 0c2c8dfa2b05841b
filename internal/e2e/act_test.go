//go:build docker

package e2e

import (
	"archive/zip"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/receipt"
)

const act = "github.com/nektos/act@v0.2.89"

const workflow = `name: review
on: pull_request
jobs:
  review:
    runs-on: ubuntu-latest
    outputs:
      verdict: ${{ steps.recibo.outputs.verdict }}
    steps:
      - uses: actions/checkout@v4
      - id: recibo
        uses: ./action
        with:
          prompt-file: .github/codex/prompts/review.v4.md
          responses-api-endpoint: replay:session.v4.jsonl
      - env:
          VERDICT: ${{ steps.recibo.outputs.verdict }}
          COUNT: ${{ steps.recibo.outputs.findings-count }}
          SHA: ${{ steps.recibo.outputs.prompt-sha }}
        run: |
          test "$VERDICT" = findings
          test "$COUNT" = 3
          test "$(sha256sum < .github/codex/prompts/review.v4.md | cut -d' ' -f1)" = "$SHA"
          grep '"level": "full"' usage.json
          echo "a later step has read everything"
  after:
    needs: review
    runs-on: ubuntu-latest
    steps:
      - env:
          VERDICT: ${{ needs.review.outputs.verdict }}
        run: |
          test "$VERDICT" = findings
          echo "a second job has read the verdict"
`

// A workflow that uses the action, as act runs it: inputs with hyphens, outputs to a later step
// and to a second job. The action is this repository's action.yml with the image just built.
func TestActRunsTheAction(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	definition, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	built := strings.Replace(string(definition), "image: Dockerfile", "image: docker://"+image, 1)
	if built == string(definition) {
		t.Fatal("action.yml does not build the Dockerfile")
	}
	for path, data := range map[string][]byte{
		"action/action.yml": []byte(built), ".github/workflows/review.yml": []byte(workflow),
		"session.v4.jsonl": fixture(t, "session.v4.jsonl"),
	} {
		path = filepath.Join(r.workspace, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, data)
	}
	kept := filepath.Join(r.dir, "artifacts")
	c := exec.Command("go", "run", act, "--artifact-server-path", kept, "--artifact-server-addr", "127.0.0.1", "--artifact-server-port", freePort(t), "pull_request", "-C", r.workspace, "-e", filepath.Join(r.dir, "workflow", "event.json"),
		"-P", "ubuntu-latest=node:22-bookworm-slim", "--pull=false", "--action-offline-mode", "--no-cache-server",
		"--container-daemon-socket", "-", "--rm", "-s", "GITHUB_TOKEN=x", "--env", "GITHUB_REPOSITORY=example/orders", "--env", "GITHUB_RUN_ID=42")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("act: %v\n%s", err, out)
	}
	checkArtifact(t, kept)
	for _, want := range []string{"a later step has read everything", "a second job has read the verdict"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("act's log does not say %q:\n%s", want, out)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// checkArtifact reads what act's artifact server took.
func checkArtifact(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.zip"))
	if err != nil || len(found) != 1 {
		t.Fatalf("artifacts in act's server: %q, %v; want one", found, err)
	}
	z, err := zip.OpenReader(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("usage.json")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := receipt.Parse(data)
	if err != nil || rec.Status != receipt.Completed || rec.Review.Findings != 3 {
		t.Errorf("the artifact's receipt: %v, %+v", err, rec)
	}
}
