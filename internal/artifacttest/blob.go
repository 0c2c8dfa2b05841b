package artifacttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
)

const (
	blocksMax = 50_000
	idMax     = 64
	listMax   = 8 << 20
)

// block is a staged block, in memory or in a file.
type block struct {
	data []byte
	file string
	size int64
}

func (b block) open() (io.ReadCloser, error) {
	if b.file == "" {
		return io.NopCloser(bytes.NewReader(b.data)), nil
	}
	return os.Open(b.file)
}

type blobHandler struct{ *Server }

// ServeHTTP answers what is asked of the blob store.
func (s blobHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := "GetBlob"
	if r.Method == http.MethodPut {
		call = "PutBlock"
		if strings.Contains(r.URL.RawQuery, "comp=blocklist") {
			call = "PutBlockList"
		}
	}
	s.serve(call, w, r, func(w http.ResponseWriter, r *http.Request) {
		if refused := s.act(w, r); refused != nil {
			s.t.Errorf("blob store: %s: %d %s: %s", call, refused.status, refused.code, refused.msg)
			w.Header().Set("x-ms-error-code", refused.code)
			w.WriteHeader(refused.status)
			fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code></Error>`, refused.code)
		}
	})
}

func (s *Server) act(w http.ResponseWriter, r *http.Request) *refusal {
	if r.Header.Get("Authorization") != "" {
		return never(http.StatusForbidden, "AuthenticationFailed", "a bearer token came to the blob store")
	}
	a := s.blobAt(r.URL.Path)
	if a == nil {
		return never(http.StatusNotFound, "ResourceNotFound", "there is no blob at %q", r.URL.Path)
	}
	if r.Method == http.MethodGet {
		return s.get(w, r, a)
	}
	rest, ok := strings.CutPrefix(r.URL.RawQuery, a.upload)
	if !ok || rest != "" && rest[0] != '&' {
		return never(http.StatusForbidden, "AuthenticationFailed", "the signed query was changed")
	}
	query, err := url.ParseQuery(strings.TrimPrefix(rest, "&"))
	switch {
	case err != nil:
		return never(http.StatusBadRequest, "InvalidQueryParameterValue", "query: %v", err)
	case r.Method != http.MethodPut:
		return never(http.StatusMethodNotAllowed, "UnsupportedHttpVerb", "unexpected %s", r.Method)
	case r.ContentLength < 0:
		return never(http.StatusLengthRequired, "MissingContentLengthHeader", "no Content-Length")
	case r.ContentLength == 0:
		return never(http.StatusBadRequest, "InvalidHeaderValue", "Content-Length is 0")
	}
	var refused *refusal
	switch query.Get("comp") {
	case "block":
		refused = s.putBlock(a, r, query.Get("blockid"))
	case "blocklist":
		refused = s.putBlockList(a, r)
	default:
		refused = never(http.StatusBadRequest, "InvalidHeaderValue", "a whole blob in one PUT, comp=%q", query.Get("comp"))
	}
	if refused == nil {
		w.WriteHeader(http.StatusCreated)
	}
	return refused
}

func (s *Server) blobAt(path string) *artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.artifacts {
		if a.path == path {
			return a
		}
	}
	return nil
}

func (s *Server) putBlock(a *artifact, r *http.Request, id string) *refusal {
	plain, err := base64.StdEncoding.DecodeString(id)
	if err != nil || len(plain) == 0 || len(plain) > idMax {
		return never(http.StatusBadRequest, "InvalidQueryParameterValue", "block id %q is not base64 of 1 to %d bytes", id, idMax)
	}
	b, err := s.store(r.Body)
	if err != nil {
		return never(http.StatusBadRequest, "RequestBodyInvalid", "read block: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.committed {
		return never(http.StatusConflict, "InvalidBlobOrBlock", "a block after the list was committed")
	}
	// Before encoding: base64 hides a difference of two bytes.
	if len(a.arrived) > 0 && a.idSize != len(plain) {
		return never(http.StatusBadRequest, "InvalidBlobOrBlock", "block id %q is not as long as %q", id, a.arrived[0])
	}
	a.idSize = len(plain)
	if _, again := a.blocks[id]; !again {
		a.arrived = append(a.arrived, id)
	}
	a.blocks[id] = b
	return nil
}

func (s *Server) store(body io.Reader) (block, error) {
	if s.options.Dir == "" {
		data, err := io.ReadAll(body)
		return block{data: data, size: int64(len(data))}, err
	}
	file, err := os.Create(filepath.Join(s.options.Dir, uuid()))
	if err != nil {
		return block{}, err
	}
	defer file.Close()
	n, err := io.Copy(file, body)
	return block{file: file.Name(), size: n}, err
}

func (s *Server) putBlockList(a *artifact, r *http.Request) *refusal {
	ids, err := parseList(r.Body)
	if err != nil {
		return never(http.StatusBadRequest, "InvalidXmlDocument", "block list: %v", err)
	}
	if kind := r.Header.Get("x-ms-blob-content-type"); kind != "application/zip" {
		return never(http.StatusBadRequest, "InvalidHeaderValue", "the blob is said to be %q", kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if _, ok := a.blocks[id]; !ok {
			return never(http.StatusBadRequest, "InvalidBlockList", "block %q was not staged", id)
		}
	}
	inOrder := slices.Equal(ids, a.arrived)
	if s.options.AnyOrder {
		inOrder = slices.Equal(slices.Sorted(slices.Values(ids)), slices.Sorted(slices.Values(a.arrived)))
	}
	if !inOrder {
		return never(http.StatusBadRequest, "InvalidBlockList", "blocks %q were listed, %q were staged", ids, a.arrived)
	}
	a.list, a.committed = ids, true
	return a.seal()
}

func parseList(body io.Reader) ([]string, error) {
	var list struct {
		XMLName xml.Name
		Latest  []string `xml:"Latest"`
		Others  []struct {
			XMLName xml.Name
		} `xml:",any"`
		Text string `xml:",chardata"`
	}
	data, err := io.ReadAll(io.LimitReader(body, listMax))
	if err != nil {
		return nil, err
	}
	if err := xml.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	if list.XMLName.Local != "BlockList" || len(list.Others) > 0 || strings.TrimSpace(list.Text) != "" {
		return nil, fmt.Errorf("not a BlockList of Latest")
	}
	if len(list.Latest) == 0 || len(list.Latest) > blocksMax {
		return nil, fmt.Errorf("%d blocks", len(list.Latest))
	}
	return list.Latest, nil
}

// seal measures the committed content.
func (a *artifact) seal() *refusal {
	hash := sha256.New()
	a.Size = 0
	for _, id := range a.list {
		a.Size += a.blocks[id].size
	}
	if err := a.copyTo(hash); err != nil {
		return never(http.StatusInternalServerError, "InternalError", "%v", err)
	}
	a.SHA = digest.SHA256(hash.Sum(nil))
	return nil
}

// copyTo writes the committed content.
func (a *artifact) copyTo(w io.Writer) error {
	for _, id := range a.list {
		content, err := a.blocks[id].open()
		if err != nil {
			return err
		}
		_, err = io.Copy(w, content)
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}

// content is the committed content of blocks in memory.
func (a *artifact) content() []byte {
	var out []byte
	for _, id := range a.list {
		out = append(out, a.blocks[id].data...)
	}
	return out
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, a *artifact) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.download == "" || r.URL.RawQuery != a.download {
		return never(http.StatusForbidden, "AuthenticationFailed", "not the query that was signed for reading")
	}
	w.Header().Set("Content-Type", "application/zip")
	if err := a.copyTo(w); err != nil {
		s.t.Errorf("blob store: send a blob: %v", err)
	}
	return nil
}
