package artifact

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/artifacttest"
	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]artifacttest.Options{"github": {}, "act": {Decimal: true, Camel: true, Undigested: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o)
			root := t.TempDir()
			write(t, root, "usage.json", "{}\n")
			write(t, root, ".recibo/review.json", `{"ok":true}`)
			write(t, root, ".recibo/notes.txt", "not ours")
			got, err := w.Upload(t.Context(), Upload{Name: "recibo-review-1", Root: root, Files: []File{
				{Name: "usage.json", Path: "usage.json"},
				{Name: "review.json", Path: filepath.Join(".recibo", "review.json")},
				{Name: "prompt/résumé.md", Data: []byte("look\r\n\x00")},
			}})
			if err != nil {
				t.Fatal(err)
			}
			kept := w.Artifacts()[0]
			want := Uploaded{ID: kept.ID, Name: "recibo-review-1", SHA: digest.Of(kept.Zip), Size: int64(len(kept.Zip))}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("uploaded (-want +got):\n%s", diff)
			}
			if !kept.Finalized || kept.ExpiresAt != "" || kept.ID <= 1<<53 {
				t.Errorf("kept: %+v", kept)
			}
			inside := []string{"prompt/résumé.md:look\r\n\x00", `review.json:{"ok":true}`, "usage.json:{}\n"}
			if diff := cmp.Diff(inside, entries(t, kept.Zip)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			calls := []string{"CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact"}
			if diff := cmp.Diff(calls, w.Calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if secrets := w.Secrets()[1:]; len(w.masked) != 2 || w.masked[0] != secrets[1] || w.masked[1] != secrets[0] {
				t.Errorf("masked: %q, want both forms of the signature %q", w.masked, secrets)
			}
		})
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	u := oneFile("a")
	u.RetentionDays = 3
	if _, err := w.Upload(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if got, want := w.Artifacts()[0].ExpiresAt, "2026-03-02T12:00:00Z"; got != want {
		t.Errorf("expires_at: got %q, want %q", got, want)
	}
	for _, days := range []int{-1, retentionMax + 1} {
		u.RetentionDays = days
		if _, err := w.Upload(t.Context(), u); fault.KindOf(err) != fault.Request {
			t.Errorf("%d days: got %v, want a refusal", days, err)
		}
	}
}

func TestSameFilesSameZip(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	files := []File{{Name: "b", Data: []byte("2")}, {Name: "a", Data: []byte("1")}, {Name: "c/d", Data: []byte("3")}}
	first, err := w.Upload(t.Context(), Upload{Name: "one", Files: files})
	if err != nil {
		t.Fatal(err)
	}
	if files[0].Name != "b" {
		t.Error("the caller's files were put in another order")
	}
	root := t.TempDir()
	write(t, root, "x", "1")
	second, err := w.Upload(t.Context(), Upload{Name: "two", Root: root, Files: []File{files[2], {Name: "a", Path: "x"}, files[0]}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(w.Artifacts()[0].Zip), first.Size)
	if err != nil || r.File[0].Modified.Year() != 1980 || r.File[0].Mode() != 0o644 {
		t.Errorf("got %v of %v, %v, want times and modes that tell nothing", r.File[0].Mode(), r.File[0].Modified, err)
	}
	if first.SHA != second.SHA || first.SHA.IsZero() {
		t.Errorf("got %s and %s, want the same", first.SHA, second.SHA)
	}
}

// noise is content that cannot be packed any smaller.
func noise(t *testing.T, n int) []byte {
	t.Helper()
	content := make([]byte, n)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(content); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestManyBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	w.block = 100
	content := noise(t, 1100)
	// The second block is lost twice: once before it was taken, once after.
	w.Break(artifacttest.Fault{Call: "PutBlock", Kind: artifacttest.DropBefore, Skip: 1},
		artifacttest.Fault{Call: "PutBlock", Kind: artifacttest.DropAfter})
	got, err := w.Upload(t.Context(), Upload{Name: "a", Files: []File{{Name: "x", Data: content}}})
	if err != nil {
		t.Fatal(err)
	}
	kept := w.Artifacts()[0]
	if got.Size <= 1100 || got.SHA != digest.Of(kept.Zip) {
		t.Errorf("got %+v, kept %d bytes with %s", got, kept.Size, kept.SHA)
	}
	if all := entries(t, kept.Zip); len(all) != 1 || all[0] != "x:"+string(content) {
		t.Error("the content differs")
	}
	blocks := int(got.Size+99)/100 + 2
	want := slices.Concat([]string{"CreateArtifact"}, slices.Repeat([]string{"PutBlock"}, blocks), []string{"PutBlockList", "FinalizeArtifact"})
	if diff := cmp.Diff(want, w.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestSendingFailsWhilePacking(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	w.block = 100
	w.Break(artifacttest.Fault{Call: "PutBlock", Kind: artifacttest.Refuse, Status: 403, Skip: 1})
	_, err := w.Upload(t.Context(), Upload{Name: "a", Files: []File{{Name: "x", Data: noise(t, 100_000)}}})
	if err == nil || !strings.HasPrefix(err.Error(), `upload artifact "a": send block 2 of the artifact: 403`) {
		t.Errorf("got %v, want what became of the block", err)
	}
	if calls := w.Calls(); len(calls) != 3 {
		t.Errorf("calls: got %v, want none after the refused block", calls)
	}
}

func TestTakenNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	w.Add("a", nil)
	w.Add("a-2", nil)
	got, err := w.Upload(t.Context(), oneFile("a"))
	if err != nil || got.Name != "a-3" {
		t.Fatalf("got %+v, %v, want a-3", got, err)
	}
	for n, a := range w.Artifacts() {
		if want := suffixed("a", n+1); a.Name != want || !a.Finalized {
			t.Errorf("the run has %q (finalized %v), want %q", a.Name, a.Finalized, want)
		}
	}
	if len(w.waits) != 0 {
		t.Errorf("waited %v: a taken name is no reason to", w.waits)
	}
}

func TestTakenNamesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	for n := range suffixMax {
		w.Add(suffixed("a", n+1), nil)
	}
	_, err := w.Upload(t.Context(), oneFile("a"))
	if fault.KindOf(err) != fault.Remote || fault.HintOf(err) != "choose another artifact-name" {
		t.Errorf("got %v (%s)", err, fault.HintOf(err))
	}
	if n := len(w.Calls()); n != suffixMax {
		t.Errorf("%d calls, want %d", n, suffixMax)
	}
}

// A create whose answer is lost comes back as 409. Nothing tells our own from another job's, so
// what is there stays as it is.
func TestLostCreate(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]artifacttest.Fault{
		"dropped": {Kind: artifacttest.DropAfter}, "cut": {Kind: artifacttest.Cut}, "500": {Kind: artifacttest.RefuseAfter, Status: 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, artifacttest.Options{})
			w.Break(artifacttest.Fault{Call: "CreateArtifact", Kind: f.Kind, Status: f.Status})
			got, err := w.Upload(t.Context(), oneFile("a"))
			if err != nil || got.Name != "a-2" || len(w.waits) != 1 {
				t.Fatalf("got %+v, %v after waits %v, want a-2 after one", got, err, w.waits)
			}
			all := w.Artifacts()
			if len(all) != 2 || all[0].Finalized || all[1].ID != got.ID || !all[1].Finalized {
				t.Errorf("the run has %+v, want only the second finalized", all)
			}
			listed, err := w.List(t.Context())
			if err != nil || len(listed) != 1 || listed[0].Name != "a-2" {
				t.Errorf("listed: %+v, %v, want only a-2", listed, err)
			}
		})
	}
}

func TestLostFinalize(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]artifacttest.Fault{
		"dropped": {Kind: artifacttest.DropAfter}, "cut": {Kind: artifacttest.Cut}, "500": {Kind: artifacttest.RefuseAfter, Status: 500},
	} {
		for again, o := range map[string]artifacttest.Options{"refused": {}, "taken": {Refinalize: true}, "undigested": {Undigested: true, Camel: true}} {
			t.Run(name+"_"+again, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, o)
				w.Break(artifacttest.Fault{Call: "FinalizeArtifact", Kind: f.Kind, Status: f.Status})
				got, err := w.Upload(t.Context(), oneFile("a"))
				if err != nil {
					t.Fatal(err)
				}
				if a := w.Artifacts()[0]; got.ID != a.ID || got.Name != "a" || got.SHA != a.SHA {
					t.Errorf("got %+v, the service has %+v", got, a)
				}
			})
		}
	}
}

// Every answer to finalize is lost; the list tells.
func TestFinalizeThatNeverAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{Refinalize: true})
	w.Break(artifacttest.Fault{Call: "FinalizeArtifact", Kind: artifacttest.RefuseAfter, Status: 502, Times: tries})
	got, err := w.Upload(t.Context(), oneFile("a"))
	if err != nil || got.ID != w.Artifacts()[0].ID {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What is listed under the name after a lost finalize is another's: its bytes differ, or its job.
func TestAnotherArtifactConfirmsNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) string{
		"other_bytes": func(s string) string {
			return strings.Replace(s, `"digest":"sha256:`, `"digest":"sha256:`+strings.Repeat("1", 64)+`","x":"`, 1)
		},
		"other_size": func(s string) string { return strings.Replace(s, `"size":"`, `"size":"1`, 1) },
		"other_job": func(s string) string {
			return strings.Replace(s, `"workflow_job_run_backend_id":"`, `"workflow_job_run_backend_id":"0`, 1)
		},
		"other_run": func(s string) string {
			return strings.Replace(s, `"workflow_run_backend_id":"`, `"workflow_run_backend_id":"0`, 1)
		},
		"none": func(string) string { return `{"artifacts":[]}` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, artifacttest.Options{}, rewrite(t, "ListArtifacts", change))
			w.Break(artifacttest.Fault{Call: "FinalizeArtifact", Kind: artifacttest.DropAfter})
			got, err := w.Upload(t.Context(), oneFile("a"))
			if statusOf(err) != 404 || fault.KindOf(err) != fault.Remote || got.ID != 0 {
				t.Errorf("got %+v, %v, want finalize's own 404", got, err)
			}
		})
	}
}

func TestConfirmFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	w.Break(artifacttest.Fault{Call: "FinalizeArtifact", Kind: artifacttest.DropAfter},
		artifacttest.Fault{Call: "ListArtifacts", Kind: artifacttest.Refuse, Status: 403})
	_, err := w.Upload(t.Context(), oneFile("a"))
	if err == nil || !strings.Contains(err.Error(), "FinalizeArtifact: 404") || !strings.Contains(err.Error(), "ListArtifacts: 403") {
		t.Errorf("got %v, want both failures", err)
	}
}

// rewrite changes the answers of one call, and fails the test when there was nothing to change.
func rewrite(t *testing.T, call string, change func(string) string) func(*Config) {
	return func(c *Config) {
		below := c.Transport
		c.Transport = transport(func(r *http.Request) (*http.Response, error) {
			res, err := below.RoundTrip(r)
			if err != nil || !strings.HasSuffix(r.URL.Path, "/"+call) {
				return res, err
			}
			data, err := io.ReadAll(res.Body)
			changed := change(string(data))
			if changed == string(data) {
				t.Errorf("nothing to change in %s", data)
			}
			res.Body, res.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
			return res, err
		})
	}
}

// Bytes that change on their way are found by the service, by the digest in finalize.
func TestBlockSpoiledOnItsWay(t *testing.T) {
	t.Parallel()
	r := &artifacttest.Recorder{}
	w := newWorld(r, artifacttest.Options{}, func(c *Config) {
		below := c.Transport
		c.Transport = transport(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.RawQuery, "comp=block&") {
				data, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				data[len(data)/2] ^= 1
				r.Body = io.NopCloser(bytes.NewReader(data))
			}
			return below.RoundTrip(r)
		})
	})
	_, err := w.Upload(t.Context(), oneFile("a"))
	if statusOf(err) != 400 || w.Artifacts()[0].Finalized {
		t.Errorf("got %v, want finalize refused", err)
	}
	w.holdsNoSecret(t, err)
	if got := r.Finish(); len(got) != 1 || !strings.Contains(got[0], "hash") {
		t.Errorf("complaints: got %q, want one about the hash", got)
	}
}

func TestUploadRefusesBeforeAsking(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a", "12345")
	data := []byte("x")
	many := make([]File, filesMax+1)
	for name, u := range map[string]Upload{
		"bad name":       {Name: "a/b", Files: []File{{Name: "a", Data: data}}},
		"0 files":        {Name: "a"},
		"1001 files":     {Name: "a", Files: many},
		"relative path":  {Name: "a", Files: []File{{Name: "../a", Data: data}}},
		"two files":      {Name: "a", Files: []File{{Name: "a", Data: data}, {Name: "a", Data: data}}},
		"no such file":   {Name: "a", Root: root, Files: []File{{Name: "a", Path: "b"}}},
		"limit of 9":     {Name: "a", Root: root, Limit: 9, Files: []File{{Name: "a", Path: "a"}, {Name: "b", Path: "a"}}},
		"below the dire": {Name: "a", Root: root, Files: []File{{Name: "a", Path: "../a"}}},
	} {
		w := newWorld(t, artifacttest.Options{})
		if _, err := w.Upload(t.Context(), u); err == nil || name != "bad name" && !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q in it", err, name)
		}
		if calls := w.Calls(); len(calls) != 0 {
			t.Errorf("%s: the service was asked %v", name, calls)
		}
	}
}

// A file that grows or goes while it is packed ends the upload, and nothing is finalized.
func TestFileChangesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(path string) error
		want   error
	}{
		"grown": {func(path string) error { return os.WriteFile(path, make([]byte, 100), 0o600) }, disk.ErrTooLarge},
		"gone":  {os.Remove, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, "a", "12345")
			w := newWorld(t, artifacttest.Options{}, func(c *Config) {
				// Told between create and packing.
				c.Mask = func(string) {
					if err := tt.change(filepath.Join(root, "a")); err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Error(err)
					}
				}
			})
			_, err := w.Upload(t.Context(), Upload{Name: "a", Root: root, Limit: 50, Files: []File{{Name: "a", Path: "a"}}})
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), `pack "a"`) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if a := w.Artifacts(); len(a) != 1 || a[0].Finalized || a[0].Size != 0 {
				t.Errorf("the service has %+v, want nothing committed", a)
			}
		})
	}
}

func BenchmarkUpload(b *testing.B) {
	content := bytes.Repeat([]byte(`{"n":1,"request":{"method":"POST","path":"/v1/responses"}}`+"\n"), 1<<19)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		w := newWorld(b, artifacttest.Options{})
		if _, err := w.Upload(b.Context(), Upload{Name: "a", Files: []File{{Name: "session.jsonl", Data: content}}}); err != nil {
			b.Fatal(err)
		}
	}
}
