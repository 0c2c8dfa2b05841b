package artifact

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/artifacttest"
	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
)

const limit = 1 << 20

// pack makes a zip of headers and contents, good or bad.
func pack(t testing.TB, entries ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(entries); i += 2 {
		header, ok := entries[i].(*zip.FileHeader)
		if !ok {
			header = &zip.FileHeader{Name: entries[i].(string), Method: zip.Deflate}
		}
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write([]byte(entries[i+1].(string)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDownload(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]artifacttest.Options{"github": {}, "act": {Decimal: true, Camel: true, Undigested: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o)
			w.Add("theirs", pack(t, "a", "other job's"))
			up, err := w.Upload(t.Context(), oneFile("ours"))
			must(t, err)
			for name, want := range map[string]File{"theirs": {Name: "a", Data: []byte("other job's")}, "ours": {Name: "usage.json", Data: []byte("{}\n")}} {
				data, err := w.Download(t.Context(), name, limit)
				must(t, err)
				files, err := Unzip(data, limit)
				if diff := cmp.Diff([]File{want}, files); err != nil || diff != "" {
					t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
				}
				if name == "ours" && digest.Of(data) != up.SHA {
					t.Errorf("got %s, want %s", digest.Of(data), up.SHA)
				}
			}
			if len(w.masked) != 6 {
				t.Errorf("masked %d secrets, want both forms of three signatures", len(w.masked))
			}
		})
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	id := w.Add("theirs", []byte("zip"))
	up, err := w.Upload(t.Context(), oneFile("ours"))
	must(t, err)
	got, err := w.List(t.Context())
	want := []Listed{{ID: id, Name: "theirs", Size: 3, SHA: digest.Of([]byte("zip"))}, {ID: up.ID, Name: "ours", Size: up.Size, SHA: up.SHA}}
	same := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".backend" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, same); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDownloadFaultsAreSatOut(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"ListArtifacts", "GetSignedArtifactURL", "GetBlob"} {
		for _, f := range []artifacttest.Fault{{Kind: artifacttest.Cut}, {Kind: artifacttest.Refuse, Status: 503}} {
			w := newWorld(t, artifacttest.Options{})
			w.Add("a", pack(t, "a", "content"))
			f.Call = call
			w.Break(f)
			if data, err := w.Download(t.Context(), "a", limit); err != nil || len(w.waits) != 1 || len(data) == 0 {
				t.Errorf("%s: got %d bytes, %v after waits %v", &f, len(data), err, w.waits)
			}
		}
	}
}

func TestDownloadRefuses(t *testing.T) {
	t.Parallel()
	content := pack(t, "a", "content")
	for name, tt := range map[string]struct {
		artifact string
		limit    int64
		faults   []artifacttest.Fault
		change   func(*Config)
		kind     fault.Kind
		want     string
	}{
		"bad_name":    {"a/b", limit, nil, nil, fault.Request, "name artifact"},
		"none":        {"b", limit, nil, nil, fault.Request, "none of this name"},
		"over_limit":  {"a", 10, nil, nil, fault.Remote, "over its limit"},
		"list_denied": {"a", limit, []artifacttest.Fault{{Call: "ListArtifacts", Kind: artifacttest.Refuse, Status: 403}}, nil, fault.Remote, "403"},
		"sign_denied": {"a", limit, []artifacttest.Fault{{Call: "GetSignedArtifactURL", Kind: artifacttest.Refuse, Status: 404}}, nil, fault.Remote, "404"},
		"blob_denied": {"a", limit, []artifacttest.Fault{{Call: "GetBlob", Kind: artifacttest.Refuse, Status: 403}}, nil, fault.Remote, `403 Forbidden: "Injected"`},
		"odd_list":    {"a", limit, nil, rewrite(t, "ListArtifacts", func(string) string { return `{"artifacts":[{}]}` }), fault.Remote, "names no artifact"},
		"odd_address": {"a", limit, nil, rewrite(t, "GetSignedArtifactURL", func(string) string { return `{"signed_url":"s3cret"}` }), fault.Remote, "not an address"},
		"spoiled": {"a", limit, nil, func(c *Config) {
			below := c.Transport
			c.Transport = transport(func(r *http.Request) (*http.Response, error) {
				res, err := below.RoundTrip(r)
				if err == nil && r.Method == http.MethodGet {
					res.Body = http.NoBody
				}
				return res, err
			})
		}, fault.Remote, "its digest is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, artifacttest.Options{}, func(c *Config) {
				if tt.change != nil {
					tt.change(c)
				}
			})
			w.Add("a", content)
			w.Break(tt.faults...)
			data, err := w.Download(t.Context(), tt.artifact, tt.limit)
			if err == nil || data != nil || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %d bytes, %v (kind %d), want %q (kind %d)", len(data), err, fault.KindOf(err), tt.want, tt.kind)
			}
			w.holdsNoSecret(t, err)
		})
	}
}

func TestUnzipRefuses(t *testing.T) {
	t.Parallel()
	link := &zip.FileHeader{Name: "a", Method: zip.Store}
	link.SetMode(0o777 | fs.ModeSymlink)
	pipe := &zip.FileHeader{Name: "a", Method: zip.Store}
	pipe.SetMode(0o600 | fs.ModeNamedPipe)
	var many []any
	for n := range entriesMax + 1 {
		many = append(many, strings.Repeat("a", n%200+1)+string(rune('b'+n/200)), "")
	}
	spoiled := pack(t, &zip.FileHeader{Name: "a", Method: zip.Store}, "content")
	spoiled[bytes.Index(spoiled, []byte("content"))] ^= 1
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"not_a_zip":     {[]byte("zip"), "not a valid zip"},
		"cut":           {pack(t, "a", "content")[:30], "not a valid zip"},
		"spoiled":       {spoiled, "checksum"},
		"absolute":      {pack(t, "/etc/passwd", ""), "not a relative path"},
		"above":         {pack(t, "../a", ""), "not a relative path"},
		"backslash":     {pack(t, `..\a`, ""), `'\\'`},
		"directory":     {pack(t, "a/", ""), "not a relative path"},
		"link":          {pack(t, link, "/etc/passwd"), "not a regular file"},
		"pipe":          {pack(t, pipe, ""), "not a regular file"},
		"twice":         {pack(t, "a", "1", "a", "2"), "two files"},
		"many":          {pack(t, many...), "1001 files"},
		"bomb":          {pack(t, "a", strings.Repeat("\x00", 1<<16)), "over its limit"},
		"bomb_in_parts": {pack(t, "a", strings.Repeat("\x00", 600), "b", strings.Repeat("\x00", 600)), "over its limit"},
		"odd_method":    {oddMethod(t), "unsupported"},
	} {
		if got, err := Unzip(tt.data, 1000); err == nil || !strings.Contains(err.Error(), tt.want) || got != nil {
			t.Errorf("%s: got %d files, %v, want %q", name, len(got), err, tt.want)
		}
	}
	if _, err := Unzip(pack(t, "a", strings.Repeat("\x00", 1001)), 1000); !errors.Is(err, disk.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, disk.ErrTooLarge)
	}
	if files, err := Unzip(pack(t, "a", strings.Repeat("\x00", 1000), "b/c", ""), 1000); err != nil || len(files) != 2 {
		t.Errorf("got %d files, %v, want two of together 1000 bytes", len(files), err)
	}
}

// oddMethod is a zip whose one file says that it is packed in a way that nobody knows.
func oddMethod(t *testing.T) []byte {
	data := pack(t, &zip.FileHeader{Name: "a", Method: zip.Store}, "content")
	for _, at := range []int{8, bytes.Index(data, []byte("PK\x01\x02")) + 10} {
		data[at] = 99
	}
	return data
}

func FuzzUnzip(f *testing.F) {
	f.Add(pack(f, "a", "content", "b/c", ""))
	f.Add(pack(f, "../a", "content"))
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := Unzip(data, 1000)
		total, seen := 0, map[string]bool{}
		for _, f := range files {
			total += len(f.Data)
			if err != nil || checkFileName(f.Name) != nil || seen[f.Name] {
				t.Errorf("got %q, %v", f.Name, err)
			}
			seen[f.Name] = true
		}
		if total > 1000 {
			t.Errorf("%d bytes, want at most 1000", total)
		}
	})
}
