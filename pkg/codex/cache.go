package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// An entry is a directory VERSION-PLATFORM with the kept files in the layout of their package
// and a record of them. It is renamed into place when it is whole, and never changed after.
const (
	recordName   = "recibo.json"
	recordFormat = 1
	recordMax    = 64 << 10
	// partPrefix marks directories that are being filled or thrown away.
	partPrefix = ".part-"
	// partMark ends the release in such a name; it occurs in no version.
	partMark = "~"
	lockPoll = 100 * time.Millisecond
)

// entryRecord is the content of recibo.json.
type entryRecord struct {
	Format   int    `json:"format"`
	Version  string `json:"version"`
	Platform string `json:"platform"`
	// Integrity is that of the tarball the files came from.
	Integrity string      `json:"integrity"`
	Files     []entryFile `json:"files"`
}

// entryFile is one kept file.
type entryFile struct {
	// Path is relative to the entry, with slashes.
	Path   string        `json:"path"`
	Bytes  int64         `json:"bytes"`
	SHA256 digest.SHA256 `json:"sha256"`
}

// packageFile is what Codex reads to find its own parts. Without it the login shell in which the
// agent's commands run does not find rg.
const packageFile = "codex-package.json"

// keptFile says whether the file at rel, below a platform's directory in a package, is kept, and
// the name of the program that it is, if it is one.
func keptFile(rel string) (program string, kept bool) {
	switch rel {
	case "bin/codex", "codex/codex": // the second until 0.12x
		return nameCodex, true
	case "bin/codex-code-mode-host":
		return nameHost, true
	case "codex-path/rg", "path/rg": // the second until 0.12x
		return nameRG, true
	case packageFile:
		return "", true
	}
	return "", false
}

// openEntry returns the programs in dir if they are what r asks for and look whole: names, sizes
// and kinds are compared, bytes are not (Digest and Verify do that). A missing entry is
// fs.ErrNotExist; a damaged one is not.
func openEntry(dir string, r release) (*Programs, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dir); err != nil {
		return nil, err
	}
	rec, err := readRecord(dir, r)
	if err != nil {
		// An entry without a record is damaged, not missing.
		return nil, fmt.Errorf("read its record: %v", err)
	}
	p := &Programs{Version: r.version, Dir: dir, Integrity: "registry", recorded: map[string]digest.SHA256{}}
	if r.locked() {
		p.Integrity = "lock"
	}
	for _, file := range rec.Files {
		if err := p.take(file); err != nil {
			return nil, err
		}
	}
	if p.Codex == "" {
		return nil, errors.New("its record names no codex")
	}
	return p, nil
}

func readRecord(dir string, r release) (entryRecord, error) {
	data, err := disk.Read(dir, recordName, recordMax)
	if err != nil {
		return entryRecord{}, err
	}
	rec, err := parseRecord(data)
	if err != nil {
		return entryRecord{}, err
	}
	if rec.Version != r.version || rec.Platform != r.platform {
		return entryRecord{}, fmt.Errorf("it is of Codex %s for %s", rec.Version, rec.Platform)
	}
	if r.locked() && rec.Integrity != r.pinned.String() {
		return entryRecord{}, errors.New("it came from another package than the lock file names")
	}
	return rec, nil
}

func parseRecord(data []byte) (entryRecord, error) {
	var rec entryRecord
	if err := json.Unmarshal(data, &rec); err != nil {
		return entryRecord{}, err
	}
	if rec.Format != recordFormat {
		return entryRecord{}, fmt.Errorf("format %d, want %d", rec.Format, recordFormat)
	}
	for _, file := range rec.Files {
		if _, ok := keptFile(file.Path); !ok || file.SHA256.IsZero() {
			return entryRecord{}, fmt.Errorf("it names %.80q", file.Path)
		}
	}
	return rec, nil
}

// take adds a recorded file to p after a look at it.
func (p *Programs) take(file entryFile) error {
	path := filepath.Join(p.Dir, filepath.FromSlash(file.Path))
	info, err := os.Lstat(path)
	if err != nil {
		// No %w: a file that is missing from an entry is damage.
		return fmt.Errorf("%s: %v", file.Path, err)
	}
	if !info.Mode().IsRegular() || info.Size() != file.Bytes {
		return fmt.Errorf("%s is %d bytes (%s), want a file of %d", file.Path, info.Size(), info.Mode(), file.Bytes)
	}
	name, _ := keptFile(file.Path)
	if name == "" {
		return checkSmallFile(path, file)
	}
	if info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not executable", file.Path)
	}
	p.recorded[name] = file.SHA256
	switch name {
	case nameCodex:
		p.Codex = path
	case nameHost:
		p.CodeModeHost = path
	case nameRG:
		p.RG, p.PathDir = path, filepath.Dir(path)
	}
	return nil
}

// checkSmallFile compares the bytes: this file decides where Codex looks for programs, and no
// digest beside the run covers it.
func checkSmallFile(path string, file entryFile) error {
	got, _, err := digest.File(path)
	if err != nil {
		return err
	}
	if got != file.SHA256 {
		return fmt.Errorf("%s is not what was installed", file.Path)
	}
	return nil
}

// lockEntry waits until no other process installs r below dir. The returned function gives way
// to the next. alone is false where the file system cannot lock: then two may install at once,
// which costs a download and harms nothing, but leftovers must not be swept.
func (f Finder) lockEntry(ctx context.Context, dir string, r release) (unlock func() error, alone bool, err error) {
	path := filepath.Join(dir, ".lock-"+r.id())
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	if err := disk.Adopt(path, dir); err != nil {
		return nil, false, errors.Join(err, file.Close())
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return file.Close, true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return file.Close, false, nil
		}
		if !told {
			f.warn("another process is installing Codex " + r.version + " here; waiting for it")
		}
		if err := f.wait(ctx, lockPoll); err != nil {
			return nil, false, errors.Join(err, file.Close())
		}
	}
}

// sweep removes what killed installations of r left. Only the holder of the lock may call it.
func sweep(dir string, r release) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partPrefix+r.id()+partMark) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// publish moves the whole entry at part to dest. When another process was first, its entry
// stands and part is left to the caller; a damaged one is moved away.
func publish(part, dest string, r release) error {
	err := os.Rename(part, dest)
	if err == nil {
		return syncDir(filepath.Dir(dest))
	}
	if _, statErr := os.Lstat(dest); errors.Is(statErr, fs.ErrNotExist) {
		return err
	}
	if _, err := openEntry(dest, r); err == nil {
		return nil
	}
	old := part + ".old"
	if err := os.Rename(dest, old); err != nil {
		return err
	}
	if err := os.Rename(part, dest); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(old), syncDir(filepath.Dir(dest)))
}

// syncDir makes the names in dir last. A file system that cannot do that for directories is fine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// diskFault says what to do about a disk that does not take Codex.
func diskFault(dir string, err error) error {
	hint := "make that directory writable, set XDG_CACHE_HOME, or name an installed Codex with codex-bin"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = "free 600 MB there, or set XDG_CACHE_HOME to a directory that has them"
	}
	return fault.New(fault.Review, hint, "install Codex in %q: %w", dir, err)
}
