//go:build docker

package artifact

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/digest"
)

const (
	act = "github.com/nektos/act@v0.2.89"
	// role is set where a job of act runs this test's program.
	role = "ARTIFACT_TEST_ROLE"
	// actContent is over one block and cannot be packed any smaller.
	actContent = blockMax + 1<<20
)

const actWorkflow = `name: artifact
on: push
jobs:
  keep:
    runs-on: ubuntu-latest
    outputs:
      kept: ${{ steps.keep.outputs.kept }}
    steps:
      - uses: actions/checkout@v4
      - id: keep
        env:
          ARTIFACT_TEST_ROLE: upload
        run: ./program >> "$GITHUB_OUTPUT"
  read:
    needs: keep
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - env:
          ARTIFACT_TEST_ROLE: download
          KEPT: ${{ needs.keep.outputs.kept }}
        run: test "$(./program)" = "kept=$KEPT" && echo "the second job has read $KEPT"
`

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	if err := play(os.Getenv(role)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play is a job's part; it prints the digest of the zip.
func play(part string) error {
	s, err := Open(Config{ResultsURL: os.Getenv("ACTIONS_RESULTS_URL"), Token: os.Getenv("ACTIONS_RUNTIME_TOKEN")})
	if err != nil {
		return err
	}
	content := make([]byte, actContent)
	if _, err := rand.NewChaCha8([32]byte{7}).Read(content); err != nil {
		return err
	}
	want := []File{{Name: "noise", Data: content}, {Name: "usage.json", Data: []byte("{}\n")}}
	if part == "upload" {
		up, err := s.Upload(context.Background(), Upload{Name: "recibo-keep-1", Files: want, RetentionDays: 1})
		fmt.Printf("kept=%s\n", up.SHA)
		return err
	}
	data, err := s.Download(context.Background(), "recibo-keep-1", 64<<20)
	if err != nil {
		return err
	}
	files, err := Unzip(data, 64<<20)
	if err != nil || !slices.EqualFunc(files, want, func(a, b File) bool { return a.Name == b.Name && string(a.Data) == string(b.Data) }) {
		return fmt.Errorf("%d files, not those that were kept: %w", len(files), err)
	}
	fmt.Printf("kept=%s\n", digest.Of(data))
	return nil
}

// A job keeps an artifact on act's own server, and a second job reads it back.
func TestActKeepsAndReads(t *testing.T) {
	t.Parallel()
	work, kept := t.TempDir(), t.TempDir()
	program, err := os.Executable()
	must(t, err)
	binary, err := os.ReadFile(program)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(work, "program"), binary, 0o755))
	write(t, work, ".github/workflows/artifact.yml", actWorkflow)
	c := exec.CommandContext(t.Context(), "go", "run", act, "push", "-C", work, "-P", "ubuntu-latest=node:22-bookworm-slim",
		"--pull=false", "--action-offline-mode", "--no-cache-server", "--container-daemon-socket", "-", "--rm",
		"--artifact-server-path", kept, "--artifact-server-addr", "127.0.0.1", "--artifact-server-port", freePort(t),
		"-s", "GITHUB_TOKEN=x", "--env", "GITHUB_REPOSITORY=example/orders", "--env", "GITHUB_RUN_ID=42")
	// act would hand on what a runner gave to this test.
	c.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "ACTIONS_") })
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("act: %v\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(kept, "42", "recibo-keep-1", "recibo-keep-1.zip"))
	must(t, err)
	if all := entries(t, data); len(all) != 2 || len(all[0]) != actContent+len("noise:") || all[1] != "usage.json:{}\n" {
		t.Errorf("the server has %d files", len(all))
	}
	if want := "the second job has read " + digest.Of(data).String(); !strings.Contains(string(out), want) {
		t.Errorf("act's log does not say %q:\n%s", want, out)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	return port
}
