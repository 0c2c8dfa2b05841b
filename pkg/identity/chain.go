// Package identity holds the documents that steer an agent beside its prompt: the AGENTS.md
// chain, the declared tools, the context message.
//
// It starts nothing and sends nothing; what really reached the model is the wire's to say.
package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// ChainLimit is how many bytes of AGENTS.md files Codex loads by default, over all files
// (project_doc_max_bytes in Codex's configuration reference).
const ChainLimit = 32 << 10

// fileMax bounds what is read of one instruction file, so that a hostile one costs little. What
// lies past ChainLimit is hashed but never loaded.
const fileMax = 16 << 20

// Doc is one instruction file.
type Doc struct {
	// Path is relative to the repository, with forward slashes.
	Path string
	SHA  digest.SHA256
	// Size is the whole file in bytes; Loaded are the bytes of it that Codex takes.
	Size      int64
	Loaded    []byte
	Truncated bool
}

// Chain is the instruction files that Codex composes, from the repository's root to the working
// directory.
type Chain []Doc

// LoadChain reads the chain for the directory dir (relative to root, "." for root itself) as
// Codex does: in each directory AGENTS.override.md, if it is a file, else AGENTS.md; files of
// nothing but white space are left out; ChainLimit counts bytes over all files. Symbolic links
// are followed inside root only.
func LoadChain(root, dir string) (Chain, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var chain Chain
	left := ChainLimit
	for _, d := range ancestry(dir) {
		doc, err := loadDoc(r, d)
		if err != nil {
			return nil, err
		}
		if doc == nil {
			continue
		}
		doc.cut(left)
		left -= len(doc.Loaded)
		chain = append(chain, *doc)
	}
	return chain, nil
}

// ancestry lists "." and each directory down to dir.
func ancestry(dir string) []string {
	dir = path.Clean(strings.ReplaceAll(dir, "\\", "/"))
	dirs := []string{"."}
	if dir == "." {
		return dirs
	}
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		dirs = append(dirs, at)
	}
	return dirs
}

func loadDoc(r *os.Root, dir string) (*Doc, error) {
	for _, name := range []string{"AGENTS.override.md", "AGENTS.md"} {
		p := path.Join(dir, name)
		doc, err := readDoc(r, p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotAFile) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read instructions %q: %w", p, err)
		}
		return doc, nil
	}
	return nil, nil
}

var errNotAFile = errors.New("not a regular file")

func readDoc(r *os.Root, p string) (*Doc, error) {
	info, err := r.Stat(p)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotAFile
	}
	f, err := r.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileMax+1))
	if err != nil {
		return nil, err
	}
	if len(data) > fileMax {
		return nil, fmt.Errorf("over %d bytes", fileMax)
	}
	return &Doc{Path: p, SHA: digest.Of(data), Size: int64(len(data)), Loaded: data}, nil
}

// cut keeps the first left bytes. A file of nothing but white space is listed with nothing of
// it loaded: it still hides its sibling.
func (d *Doc) cut(left int) {
	if len(d.Loaded) > left {
		d.Loaded = d.Loaded[:left]
		d.Truncated = true
	}
	if strings.TrimSpace(string(d.Loaded)) == "" {
		d.Loaded = nil
	}
}

// Compose returns the text between Codex's <INSTRUCTIONS> tags, or "" when nothing is loaded.
// Bytes that are not UTF-8 become U+FFFD, as on the wire.
func (c Chain) Compose() string {
	var parts []string
	for _, d := range c {
		if len(d.Loaded) > 0 {
			parts = append(parts, lossy(d.Loaded))
		}
	}
	return strings.Join(parts, "\n\n")
}

// lossy decodes b as UTF-8, one U+FFFD for each maximal invalid part, as the Unicode Standard
// (section 3.9, "U+FFFD Substitution of Maximal Subparts") and Rust do. Go's own conversion
// gives one for each byte.
func lossy(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		n := validPrefix(b)
		out.Write(b[:n])
		b = b[n:]
		if len(b) == 0 {
			break
		}
		out.WriteString("\uFFFD")
		b = b[badLength(b):]
	}
	return out.String()
}

// SHA returns the digest of the chain: over each file in order the length of its path, the path,
// its digest, and one byte that is 1 when it was truncated. The digest of an empty chain is that
// of no bytes, so that "no instructions" is a claim that can be checked.
func (c Chain) SHA() digest.SHA256 {
	h := sha256.New()
	var length [8]byte
	for _, d := range c {
		binary.BigEndian.PutUint64(length[:], uint64(len(d.Path)))
		h.Write(length[:])
		io.WriteString(h, d.Path)
		h.Write(d.SHA[:])
		h.Write([]byte{truth(d.Truncated)})
	}
	return digest.SHA256(h.Sum(nil))
}

func truth(b bool) byte {
	if b {
		return 1
	}
	return 0
}
