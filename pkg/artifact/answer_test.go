package artifact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/artifacttest"
	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestParseList(t *testing.T) {
	t.Parallel()
	sum := digest.Of([]byte("zip"))
	for name, body := range map[string]string{
		"github": `{"artifacts":[{"workflow_run_backend_id":"r","workflow_job_run_backend_id":"j","database_id":"9007199254740993","name":"a","size":"7","created_at":"2026-01-02T03:04:05Z","digest":"sha256:` + sum.String() + `"}]}`,
		"act":    `{"artifacts":[{"workflowRunBackendId":"r","workflowJobRunBackendId":"j","databaseId":"9007199254740993","name":"a","size":"7","createdAt":"2026-01-02T03:04:05Z","digest":"sha256:` + sum.String() + `"}]}`,
		"bare":   `{"artifacts":[{"workflow_run_backend_id":"r","workflow_job_run_backend_id":"j","database_id":9007199254740993,"name":"a","size":7,"digest":"sha256:` + sum.String() + `"}]}`,
	} {
		a, err := parseAnswer([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseList(a)
		want := []Listed{{ID: 9007199254740993, Name: "a", Size: 7, SHA: sum, backend: backend{"r", "j"}}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Listed{}, backend{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestParseListWithLessInIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		want []Listed
	}{
		"empty":        {`{}`, nil},
		"null":         {`{"artifacts":null}`, nil},
		"no_digest":    {`{"artifacts":[{"database_id":"1","digest":null}]}`, []Listed{{ID: 1}}},
		"other_digest": {`{"artifacts":[{"database_id":"1","digest":"md5:0"}]}`, []Listed{{ID: 1}}},
	} {
		a, err := parseAnswer([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseList(a)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(Listed{}, backend{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestAnswersThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `[]`, `null`, `{`, `"a"`, `{} {}`} {
		if a, err := parseAnswer([]byte(body)); err == nil {
			t.Errorf("%q: got %v", body, a)
		}
	}
	for _, body := range []string{
		`{"artifacts":{}}`, `{"artifacts":["a"]}`, `{"artifacts":[{}]}`, `{"artifacts":[{"database_id":"0"}]}`, `{"artifacts":[{"database_id":"-1"}]}`,
		`{"artifacts":[{"database_id":"9223372036854775808"}]}`, `{"artifacts":[{"database_id":1.5}]}`, `{"artifacts":[{"database_id":{}}]}`,
		`{"artifacts":[{"database_id":"1","name":7}]}`, `{"artifacts":[{"database_id":"1","size":"x"}]}`,
		`{"artifacts":[{"database_id":"1","digest":"sha256:short"}]}`, `{"artifacts":[{"database_id":"1","workflow_run_backend_id":1}]}`,
	} {
		a, err := parseAnswer([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseList(a); err == nil {
			t.Errorf("%s: got %+v", body, got)
		}
	}
}

// A service that answers 200 with something else than an artifact.
func TestOddAnswersToUpload(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body, want string
		tries      int
	}{
		"not_json":           {"<html>", "not a JSON object", tries},
		"empty":              {"", "not a JSON object", tries},
		"not_ok":             {`{"ok":false}`, "did not work", 1},
		"ok_is_absent":       {`{"signed_upload_url":"https://blob.example/?sig=s3cret"}`, "did not work", 1},
		"ok_is_a_string":     {`{"ok":"true"}`, "did not work", 1},
		"no_address":         {`{"ok":true}`, "not an address", 1},
		"address_is_no_text": {`{"ok":true,"signed_upload_url":["https://blob.example/?sig=s3cret"]}`, "not of the expected type", 1},
		"address_unreadable": {`{"ok":true,"signed_upload_url":"https://blob.example/%zz?sig=s3cret"}`, "not an address", 1},
		"address_of_a_file":  {`{"ok":true,"signed_upload_url":"file:///etc/passwd?sig=s3cret"}`, "not an address", 1},
		"address_with_user":  {`{"ok":true,"signed_upload_url":"https://u:s3cret@blob.example/"}`, "not an address", 1},
		"too_long":           {strings.Repeat(" ", answerMax+1), "over its limit", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			w := newWorld(t, artifacttest.Options{}, only(&asked, 200, tt.body))
			_, err := w.Upload(t.Context(), oneFile("a"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || asked != tt.tries {
				t.Errorf("got %v after %d requests, want %q after %d", err, asked, tt.want, tt.tries)
			}
			if fault.KindOf(err) != fault.Remote || fault.HintOf(err) == "" {
				t.Errorf("got kind %d, hint %q", fault.KindOf(err), fault.HintOf(err))
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("a secret is shown: %v", err)
			}
		})
	}
}

// Files are not sent in the clear by a service that is not in the clear itself.
func TestPlainBlobAddressOfSecureService(t *testing.T) {
	t.Parallel()
	asked := 0
	w := newWorld(t, artifacttest.Options{}, only(&asked, 200, `{"ok":true,"signed_upload_url":"http://blob.example/?sig=s3cret"}`),
		func(c *Config) { c.ResultsURL = "https://results.example/" })
	_, err := w.Upload(t.Context(), oneFile("a"))
	if err == nil || !strings.Contains(err.Error(), "not an address") || asked != 1 {
		t.Errorf("got %v after %d requests", err, asked)
	}
}

func TestFinalizeWithoutID(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"ok":true}`, `{"ok":true,"artifact_id":"x"}`, `{"ok":true,"artifact_id":"0"}`, `{"ok":false,"artifact_id":"1"}`} {
		w := newWorld(t, artifacttest.Options{}, rewrite(t, "FinalizeArtifact", func(string) string { return body }))
		if got, err := w.Upload(t.Context(), oneFile("a")); fault.KindOf(err) != fault.Remote || got != (Uploaded{}) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

func FuzzParseList(f *testing.F) {
	f.Add([]byte(`{"artifacts":[{"database_id":"1","name":"a","size":"7","digest":"sha256:00"}]}`))
	f.Add([]byte(`{"artifacts":[{"databaseId":1,"workflowRunBackendId":"r"},null]}`))
	f.Add([]byte(`{"msg":"no"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		messageOf(body)
		a, err := parseAnswer(body)
		if err != nil {
			return
		}
		found, err := parseList(a)
		for _, l := range found {
			if err != nil || l.ID <= 0 {
				t.Errorf("got %+v, %v", l, err)
			}
		}
	})
}
