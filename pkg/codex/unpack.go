package codex

import (
	"archive/tar"
	"bufio"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/recibo-ci/recibo/pkg/digest"
)

// Bounds of a package. Codex 0.171.0 has 45 files, 172 MB packed, 444 MB unpacked.
const (
	tarballMax     = 1 << 30
	unpackedMax    = 2 << 30
	packageEntries = 10_000
)

// unpackTo says where a package goes, and which of its platform directories.
type unpackTo struct {
	// dir is an empty directory.
	dir, triple string
	// max bounds what comes out of the tarball in bytes; 0 is unpackedMax.
	max int64
}

// unpackTarball writes the kept files of a gzipped npm tarball into to.dir and returns what it wrote, in the order of the archive. Everything else in it is read over: only
// names that are known beforehand are ever made, so that no name, link or device in an archive
// can reach outside of dir. An archive with a name that would try is refused all the same.
//
// The files are on the disk when it returns. What they are worth is for the caller to say, who
// hashes r.
func unpackTarball(r io.Reader, to unpackTo) ([]entryFile, error) {
	z, err := gzip.NewReader(bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	plain := readAhead(&boundedReader{r: z, left: cmp.Or(to.max, unpackedMax)})
	defer plain.Close()
	u := unpacking{dir: to.dir, top: "vendor/" + to.triple + "/", seen: map[string]bool{}}
	err = u.all(tar.NewReader(plain))
	if err == nil {
		// The checksum of the compression stands at the end.
		_, err = io.Copy(io.Discard, plain)
	}
	err = errors.Join(err, u.synced())
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return u.files, nil
}

// unpacking is the state of one unpackTarball.
type unpacking struct {
	dir, top string
	seen     map[string]bool
	files    []entryFile
	// syncs has an answer a written file: a disk is slower than the unpacking, and is let work
	// while the next file comes.
	syncs []chan error
}

func (u *unpacking) all(t *tar.Reader) error {
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == packageEntries {
			return fmt.Errorf("package has over %d entries", packageEntries)
		}
		if err := u.entry(h, t); err != nil {
			return err
		}
	}
}

func (u *unpacking) entry(h *tar.Header, r io.Reader) error {
	name := strings.TrimSuffix(h.Name, "/")
	if !filepath.IsLocal(name) || strings.Contains(name, `\`) {
		return fmt.Errorf("package has an entry named %.120q", h.Name)
	}
	// npm drops the first directory of each name, whatever it is called.
	_, inside, _ := strings.Cut(name, "/")
	rel, ok := strings.CutPrefix(inside, u.top)
	if !ok {
		return nil
	}
	program, kept := keptFile(rel)
	if !kept {
		return nil
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("package has %q as something else than a file (type %q)", rel, h.Typeflag)
	}
	// The two layouts share program names; one package has one of them.
	key := program
	if key == "" {
		key = rel
	}
	if u.seen[key] {
		return fmt.Errorf("package has %q twice", rel)
	}
	u.seen[key] = true
	return u.write(rel, program != "", r)
}

func (u *unpacking) write(rel string, executable bool, r io.Reader) error {
	path := filepath.Join(u.dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	perm := os.FileMode(0o644)
	if executable {
		perm = 0o755
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(f, sum), struct{ io.Reader }{r}, make([]byte, 256<<10))
	if err == nil {
		// Whatever the umask says: the agent is another user.
		err = f.Chmod(perm)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	u.files = append(u.files, entryFile{Path: rel, Bytes: n, SHA256: digest.SHA256(sum.Sum(nil))})
	done := make(chan error, 1)
	u.syncs = append(u.syncs, done)
	go func() { done <- errors.Join(f.Sync(), f.Close()) }()
	return nil
}

// synced waits until everything that was written is on the disk.
func (u *unpacking) synced() error {
	var errs []error
	for _, done := range u.syncs {
		errs = append(errs, <-done)
	}
	return errors.Join(errs...)
}

// boundedReader fails, rather than ends, when more than left bytes come.
type boundedReader struct {
	r    io.Reader
	left int64
}

var errTooMuch = errors.New("package is too large")

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}
