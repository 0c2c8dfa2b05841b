package artifacttest

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// raw speaks to the server as the test says, right or wrong.
type raw struct {
	*testing.T
	*Server
}

type reply struct {
	status int
	body   map[string]any
	code   string
}

func (c raw) send(method, to string, body io.Reader, change ...func(*http.Request)) reply {
	c.T.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, to, body)
	if err != nil {
		c.Fatal(err)
	}
	for _, f := range change {
		f(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	out := reply{status: res.StatusCode, code: res.Header.Get("x-ms-error-code")}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(data, &out.body); err != nil {
			c.Fatalf("answer %q: %v", data, err)
		}
		if code, ok := out.body["code"].(string); ok {
			out.code = code
		}
	}
	return out
}

// call sends fields, over those that a right call has; an empty value takes a field away.
func (c raw) call(method string, over map[string]any, change ...func(*http.Request)) reply {
	c.T.Helper()
	in := map[string]any{"workflow_run_backend_id": c.run, "workflow_job_run_backend_id": c.job}
	for name, v := range over {
		in[name] = v
		if v == nil {
			delete(in, name)
		}
	}
	body, err := json.Marshal(in)
	if err != nil {
		c.Fatal(err)
	}
	right := func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+c.Token)
		r.Header.Set("Content-Type", "application/json")
	}
	return c.send("POST", c.service.URL+servicePath+method, bytes.NewReader(body), append([]func(*http.Request){right}, change...)...)
}

func (c raw) create(name string) string {
	c.T.Helper()
	out := c.call("CreateArtifact", map[string]any{"name": name, "version": 4})
	to, _ := out.body["signed_upload_url"].(string)
	if out.status != 200 || out.body["ok"] != true || to == "" {
		c.Fatalf("create %q: %d %v", name, out.status, out.body)
	}
	return to
}

func (c raw) put(to, query, body string, change ...func(*http.Request)) reply {
	c.T.Helper()
	right := func(r *http.Request) { r.Header.Set("x-ms-blob-content-type", "application/zip") }
	return c.send("PUT", to+query, strings.NewReader(body), append([]func(*http.Request){right}, change...)...)
}

func (c raw) stage(to, id, body string) {
	c.T.Helper()
	if out := c.put(to, blockQuery(id), body); out.status != 201 {
		c.Fatalf("stage %q: %d %s", id, out.status, out.code)
	}
}

func (c raw) commit(to string, ids ...string) {
	c.T.Helper()
	if out := c.put(to, "&comp=blocklist", blockList(ids...)); out.status != 201 {
		c.Fatalf("commit: %d %s", out.status, out.code)
	}
}

// upload does all but the finalize, whose right fields it returns.
func (c raw) upload(name string) map[string]any {
	c.T.Helper()
	to, content := c.create(name), zipOf(c.T, name)
	half := len(content) / 2
	c.stage(to, "AAAA", content[:half])
	c.stage(to, "AAAB", content[half:])
	c.commit(to, "AAAA", "AAAB")
	return map[string]any{"name": name, "size": fmt.Sprint(len(content)), "hash": "sha256:" + digest.Of([]byte(content)).String()}
}

func blockQuery(id string) string { return "&comp=block&blockid=" + url.QueryEscape(id) }

func blockList(ids ...string) string {
	return "<BlockList><Latest>" + strings.Join(ids, "</Latest><Latest>") + "</Latest></BlockList>"
}

func zipOf(t *testing.T, name string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.Create(name + ".txt")
	if err == nil {
		_, err = io.WriteString(f, "content of "+name)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTakesWhatIsRight(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"github": {}, "act_ids": {Decimal: true}, "blocks_in_files": {Dir: t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := raw{t, Start(t, o)}
			other := c.Add("other", []byte(zipOf(t, "other")))
			fin := c.upload("a")
			if got := c.call("ListArtifacts", nil).body["artifacts"].([]any); len(got) != 1 {
				t.Errorf("before finalize %d artifacts are listed, want only the other job's", len(got))
			}
			out := c.call("FinalizeArtifact", fin)
			if out.status != 200 || out.body["ok"] != true || out.body["artifact_id"] != fmt.Sprint(other+1) {
				t.Errorf("finalize: got %d %v, want id %d", out.status, out.body, other+1)
			}
			item := c.call("ListArtifacts", map[string]any{"name_filter": "a"}).body["artifacts"].([]any)[0].(map[string]any)
			want := map[string]any{"workflow_run_backend_id": c.run, "workflow_job_run_backend_id": c.job, "database_id": fmt.Sprint(other + 1),
				"name": "a", "size": fin["size"], "digest": fin["hash"], "created_at": "2026-01-02T03:04:05Z"}
			if diff := cmp.Diff(want, item); diff != "" {
				t.Errorf("listed (-want +got):\n%s", diff)
			}
			from := c.call("GetSignedArtifactURL", map[string]any{"name": "a"}).body["signed_url"].(string)
			if out := c.send("GET", from, nil); out.status != 200 {
				t.Errorf("get: got %d, want 200", out.status)
			}
			calls := []string{"CreateArtifact", "PutBlock", "PutBlock", "PutBlockList", "ListArtifacts", "FinalizeArtifact", "ListArtifacts", "GetSignedArtifactURL", "GetBlob"}
			if diff := cmp.Diff(calls, c.Calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpellings(t *testing.T) {
	t.Parallel()
	c := raw{t, Start(t, Options{Camel: true, Undigested: true})}
	to := c.call("CreateArtifact", map[string]any{"name": "a", "version": 4}).body
	if to["signedUploadUrl"] == nil || to["signed_upload_url"] != nil {
		t.Errorf("created: %v, want camelCase", to)
	}
	c.Add("b", []byte(zipOf(t, "b")))
	item := c.call("ListArtifacts", nil).body["artifacts"].([]any)[0].(map[string]any)
	if item["databaseId"] == nil || item["workflowRunBackendId"] != c.run || item["digest"] != nil {
		t.Errorf("listed: %v, want camelCase and no digest", item)
	}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func unsized(r *http.Request) { r.ContentLength = -1 }

// refusals is everything the servers refuse, with the test's way of doing it. A complaint means
// that the client's test fails too; "" that a client must be able to live with it.
var refusals = []struct {
	name      string
	options   Options
	do        func(c raw) reply
	status    int
	complaint string
}{
	{"no_bearer", Options{}, func(c raw) reply { return c.call("ListArtifacts", nil, header("Authorization", "")) }, 401, "no bearer"},
	{"wrong_bearer", Options{}, func(c raw) reply {
		return c.call("ListArtifacts", nil, header("Authorization", "Bearer "+Token("Actions.Results:a:b")))
	}, 401, "not the job's bearer"},
	{"content_type", Options{}, func(c raw) reply {
		return c.call("ListArtifacts", nil, header("Content-Type", "application/protobuf"))
	}, 404, "Content-Type"},
	{"unknown_method", Options{}, func(c raw) reply { return c.call("DropArtifacts", nil) }, 404, "unexpected POST"},
	{"delete", Options{}, func(c raw) reply { return c.call("DeleteArtifact", map[string]any{"name": "a"}) }, 404, "unexpected POST"},
	{"wrong_verb", Options{}, func(c raw) reply { return c.send("GET", c.service.URL+servicePath+"ListArtifacts", nil) }, 404, "unexpected GET"},
	{"below_the_path", Options{}, func(c raw) reply { return c.send("POST", c.ResultsURL+servicePath[1:]+"ListArtifacts", nil) }, 404, "unexpected POST"},
	{"not_json", Options{}, func(c raw) reply {
		return c.call("ListArtifacts", nil, func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{]")), 2 })
	}, 400, "invalid character"},
	{"unknown_field", Options{}, func(c raw) reply {
		return c.call("CreateArtifact", map[string]any{"name": "a", "version": 4, "mime_type": "application/zip"})
	}, 400, `unknown field "mime_type"`},
	{"camel_field", Options{}, func(c raw) reply { return c.call("ListArtifacts", map[string]any{"nameFilter": "a"}) }, 400, "unknown field"},
	{"field_of_another_method", Options{}, func(c raw) reply { return c.call("ListArtifacts", map[string]any{"name": "a"}) }, 400, "unknown field"},
	{"number_for_string", Options{}, func(c raw) reply {
		fin := c.upload("a")
		fin["size"] = json.Number(fin["size"].(string))
		return c.call("FinalizeArtifact", fin)
	}, 400, "cannot unmarshal number"},
	{"wrong_run", Options{}, func(c raw) reply {
		return c.call("ListArtifacts", map[string]any{"workflow_run_backend_id": c.job})
	}, 403, "not the token's"},
	{"wrong_job", Options{}, func(c raw) reply {
		return c.call("ListArtifacts", map[string]any{"workflow_job_run_backend_id": nil})
	}, 403, "not the token's"},
	{"decimal_ids_where_uuids_are", Options{}, func(c raw) reply {
		return c.call("ListArtifacts", map[string]any{"workflow_run_backend_id": "42", "workflow_job_run_backend_id": "42"})
	}, 403, "not the token's"},
	{"version", Options{}, func(c raw) reply { return c.call("CreateArtifact", map[string]any{"name": "a", "version": 7}) }, 400, "version 7"},
	{"no_version", Options{}, func(c raw) reply { return c.call("CreateArtifact", map[string]any{"name": "a"}) }, 400, "version 0"},
	{"expiry", Options{}, func(c raw) reply {
		return c.call("CreateArtifact", map[string]any{"name": "a", "version": 4, "expires_at": "in a week"})
	}, 400, "not a time"},
	{"name_empty", Options{}, func(c raw) reply { return c.call("CreateArtifact", map[string]any{"version": 4}) }, 400, "1 to 255"},
	{"name_long", Options{}, func(c raw) reply {
		return c.call("CreateArtifact", map[string]any{"name": strings.Repeat("a", 256), "version": 4})
	}, 400, "1 to 255"},
	{"name_slash", Options{}, func(c raw) reply { return c.call("CreateArtifact", map[string]any{"name": "a/b", "version": 4}) }, 400, "not valid"},
	{"name_line_feed", Options{}, func(c raw) reply {
		return c.call("CreateArtifact", map[string]any{"name": "a\nb", "version": 4})
	}, 400, "not valid"},
	{"name_taken", Options{}, func(c raw) reply {
		c.Add("a", nil)
		return c.call("CreateArtifact", map[string]any{"name": "a", "version": 4})
	}, 409, ""},
	{"name_announced", Options{}, func(c raw) reply {
		c.create("a")
		return c.call("CreateArtifact", map[string]any{"name": "a", "version": 4})
	}, 409, ""},
	{"too_many", Options{}, func(c raw) reply {
		for n := range 500 {
			c.create(fmt.Sprint("a", n))
		}
		return c.call("CreateArtifact", map[string]any{"name": "a", "version": 4})
	}, 412, ""},
	{"finalize_unknown", Options{}, func(c raw) reply {
		return c.call("FinalizeArtifact", map[string]any{"name": "a", "size": "1", "hash": ""})
	}, 404, "no artifact"},
	{"finalize_another_jobs", Options{}, func(c raw) reply {
		c.Add("a", []byte(zipOf(c.T, "a")))
		return c.call("FinalizeArtifact", map[string]any{"name": "a", "size": "1", "hash": ""})
	}, 404, "no artifact"},
	{"finalize_without_content", Options{}, func(c raw) reply {
		c.stage(c.create("a"), "AAAA", "x")
		return c.call("FinalizeArtifact", map[string]any{"name": "a", "size": "1", "hash": ""})
	}, 412, "not there"},
	{"finalize_size", Options{}, func(c raw) reply {
		fin := c.upload("a")
		fin["size"] = "1"
		return c.call("FinalizeArtifact", fin)
	}, 400, `size "1"`},
	{"finalize_hash", Options{}, func(c raw) reply {
		fin := c.upload("a")
		fin["hash"] = "sha256:" + digest.Of(nil).String()
		return c.call("FinalizeArtifact", fin)
	}, 400, "hash"},
	{"finalize_hash_unprefixed", Options{}, func(c raw) reply {
		fin := c.upload("a")
		fin["hash"] = strings.TrimPrefix(fin["hash"].(string), "sha256:")
		return c.call("FinalizeArtifact", fin)
	}, 400, "hash"},
	{"finalize_no_zip", Options{}, func(c raw) reply {
		to := c.create("a")
		c.stage(to, "AAAA", "x")
		c.commit(to, "AAAA")
		return c.call("FinalizeArtifact", map[string]any{"name": "a", "size": "1", "hash": "sha256:" + digest.Of([]byte("x")).String()})
	}, 400, "not a zip"},
	{"finalize_twice", Options{}, func(c raw) reply {
		fin := c.upload("a")
		c.call("FinalizeArtifact", fin)
		return c.call("FinalizeArtifact", fin)
	}, 404, ""},
	{"signed_url_of_nothing", Options{}, func(c raw) reply { return c.call("GetSignedArtifactURL", map[string]any{"name": "a"}) }, 404, "no artifact"},
	{"signed_url_of_another_job", Options{}, func(c raw) reply {
		c.Add("a", nil)
		return c.call("GetSignedArtifactURL", map[string]any{"name": "a"})
	}, 404, "no artifact"},
	{"signed_url_before_finalize", Options{}, func(c raw) reply {
		c.upload("a")
		return c.call("GetSignedArtifactURL", map[string]any{"name": "a"})
	}, 404, "no artifact"},
	{"blob_bearer", Options{}, func(c raw) reply {
		return c.put(c.create("a"), blockQuery("AAAA"), "x", header("Authorization", "Bearer "+c.Token))
	}, 403, "a bearer token came"},
	{"blob_unknown", Options{}, func(c raw) reply { return c.put(c.blob.URL+"/container/a.zip?", blockQuery("AAAA"), "x") }, 404, "no blob"},
	{"blob_query_changed", Options{}, func(c raw) reply {
		return c.put(strings.Replace(c.create("a"), "sp=rw", "sp=rwd", 1), blockQuery("AAAA"), "x")
	}, 403, "signed query"},
	{"blob_query_escaped_otherwise", Options{}, func(c raw) reply {
		return c.put(strings.Replace(c.create("a"), "%2B", "+", 1), blockQuery("AAAA"), "x")
	}, 403, "signed query"},
	{"blob_verb", Options{}, func(c raw) reply { return c.send("POST", c.create("a")+blockQuery("AAAA"), strings.NewReader("x")) }, 405, "unexpected POST"},
	{"blob_whole", Options{}, func(c raw) reply { return c.put(c.create("a"), "", "x") }, 400, "in one PUT"},
	{"block_without_length", Options{}, func(c raw) reply { return c.put(c.create("a"), blockQuery("AAAA"), "x", unsized) }, 411, "no Content-Length"},
	{"block_empty", Options{}, func(c raw) reply { return c.put(c.create("a"), blockQuery("AAAA"), "") }, 400, "is 0"},
	{"block_without_id", Options{}, func(c raw) reply { return c.put(c.create("a"), "&comp=block", "x") }, 400, "block id"},
	{"block_id_not_base64", Options{}, func(c raw) reply { return c.put(c.create("a"), blockQuery("1"), "x") }, 400, "block id"},
	{"block_id_long", Options{}, func(c raw) reply {
		return c.put(c.create("a"), blockQuery(strings.Repeat("AAAA", 22)), "x")
	}, 400, "block id"},
	{"block_ids_of_unequal_length", Options{}, func(c raw) reply {
		to := c.create("a")
		c.stage(to, "AAAA", "x")
		return c.put(to, blockQuery("AAA="), "x")
	}, 400, "not as long"},
	{"block_after_commit", Options{}, func(c raw) reply {
		to := c.create("a")
		c.stage(to, "AAAA", "x")
		c.commit(to, "AAAA")
		return c.put(to, blockQuery("AAAB"), "x")
	}, 409, "after the list"},
	{"list_unknown_id", Options{}, func(c raw) reply { return c.put(c.create("a"), "&comp=blocklist", blockList("AAAA")) }, 400, "not staged"},
	{"list_out_of_order", Options{}, func(c raw) reply {
		to := c.create("a")
		c.stage(to, "AAAA", "x")
		c.stage(to, "AAAB", "y")
		return c.put(to, "&comp=blocklist", blockList("AAAB", "AAAA"))
	}, 400, "were listed"},
	{"list_incomplete", Options{AnyOrder: true}, func(c raw) reply {
		to := c.create("a")
		c.stage(to, "AAAA", "x")
		c.stage(to, "AAAB", "y")
		return c.put(to, "&comp=blocklist", blockList("AAAA", "AAAA"))
	}, 400, "were listed"},
	{"list_empty", Options{}, func(c raw) reply { return c.put(c.create("a"), "&comp=blocklist", "<BlockList/>") }, 400, "0 blocks"},
	{"list_not_xml", Options{}, func(c raw) reply { return c.put(c.create("a"), "&comp=blocklist", `["AAAA"]`) }, 400, "block list"},
	{"list_of_something_else", Options{}, func(c raw) reply {
		return c.put(c.create("a"), "&comp=blocklist", "<BlockList><Committed>AAAA</Committed></BlockList>")
	}, 400, "not a BlockList"},
	{"list_without_content_type", Options{}, func(c raw) reply {
		to := c.create("a")
		c.stage(to, "AAAA", "x")
		return c.put(to, "&comp=blocklist", blockList("AAAA"), header("x-ms-blob-content-type", ""))
	}, 400, "said to be"},
	{"get_with_upload_query", Options{}, func(c raw) reply { return c.send("GET", c.create("a"), nil) }, 403, "signed for reading"},
	{"get_with_bearer", Options{}, func(c raw) reply {
		return c.send("GET", c.create("a"), nil, header("Authorization", "Bearer "+c.Token))
	}, 403, "a bearer token came"},
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	if len(refusals) < 50 {
		t.Fatalf("%d refusals, want them all", len(refusals))
	}
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &Recorder{}
			got := tt.do(raw{t, Start(r, tt.options)})
			complaints := r.Finish()
			if got.status != tt.status || got.code == "" {
				t.Errorf("got %d %q %v, want %d and a code", got.status, got.code, got.body, tt.status)
			}
			var want []string
			if tt.complaint != "" {
				want = []string{tt.complaint}
			}
			same := slices.EqualFunc(complaints, want, strings.Contains)
			if !same {
				t.Errorf("complaints: got %q, want %q", complaints, want)
			}
		})
	}
}
