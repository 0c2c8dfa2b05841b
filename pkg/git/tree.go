package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// Mode is a file mode as trees hold it.
type Mode uint32

// The modes that git writes.
const (
	Directory  Mode = 0o040000
	Regular    Mode = 0o100644
	Executable Mode = 0o100755
	Symlink    Mode = 0o120000
	Submodule  Mode = 0o160000
)

// String is six octal digits.
func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// Entry is one file of a tree. Paths have any bytes but NUL, with "/" between folders.
type Entry struct {
	Mode Mode
	ID   string
	Path string
	// Size is the length in bytes; -1 for submodules.
	Size int64
}

// Blob is one file of a tree with its content; for a symbolic link the content is its target.
type Blob struct {
	Mode Mode
	ID   string
	Data []byte
}

// Files lists every file, symbolic link and submodule of rev's tree in git's order.
func (r *Repository) Files(ctx context.Context, rev string) ([]Entry, error) {
	found, err := r.resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	out, err := r.output(ctx, "ls-tree", "-r", "-l", "-z", "--full-tree", found[0].tree)
	if err != nil {
		return nil, err
	}
	return parseTree(out)
}

// parseTree reads `git ls-tree -z` with or without -l. Paths share one backing array.
func parseTree(out []byte) ([]Entry, error) {
	text := string(out)
	entries := make([]Entry, 0, strings.Count(text, "\x00"))
	for text != "" {
		item, rest, ok := strings.Cut(text, "\x00")
		meta, path, tab := strings.Cut(item, "\t")
		if !ok || !tab || path == "" {
			return nil, fmt.Errorf("read tree: unexpected entry %q", item)
		}
		e, err := parseEntry(meta)
		if err != nil {
			return nil, err
		}
		e.Path = path
		entries = append(entries, e)
		text = rest
	}
	return entries, nil
}

// parseEntry reads "MODE TYPE ID" and an optional size, "-" for what has none.
func parseEntry(meta string) (Entry, error) {
	field := strings.Fields(meta)
	if len(field) != 3 && len(field) != 4 || !isID(field[2]) {
		return Entry{}, fmt.Errorf("read tree: unexpected entry %q", meta)
	}
	mode, err := strconv.ParseUint(field[0], 8, 32)
	if err != nil {
		return Entry{}, fmt.Errorf("read tree: mode in %q: %w", meta, err)
	}
	e := Entry{Mode: Mode(mode), ID: field[2], Size: -1}
	if len(field) == 4 && field[3] != "-" {
		if e.Size, err = strconv.ParseInt(field[3], 10, 64); err != nil || e.Size < 0 {
			return Entry{}, fmt.Errorf("read tree: size in %q", meta)
		}
	}
	return e, nil
}

// Blob reads one file of rev's tree. A path that is not there, or is a folder or a submodule, is
// fs.ErrNotExist; a file over Options.BlobLimit is ErrTooLarge.
func (r *Repository) Blob(ctx context.Context, rev, path string) (Blob, error) {
	blobs, err := r.Blobs(ctx, rev, path)
	if err != nil {
		return Blob{}, err
	}
	b, ok := blobs[path]
	if !ok {
		return Blob{}, notExist(rev, path)
	}
	return b, nil
}

// Blobs is Blob for many paths at the price of one. Those that Blob calls fs.ErrNotExist are left
// out of the answer. Paths travel as arguments: a few thousand at most.
func (r *Repository) Blobs(ctx context.Context, rev string, paths ...string) (map[string]Blob, error) {
	found, err := r.resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	args := []string{"ls-tree", "-z", "--full-tree", found[0].tree, "--"}
	fixed := len(args)
	for _, path := range paths {
		if validPath(path) {
			args = append(args, path)
		}
	}
	if len(args) == fixed {
		return nil, nil
	}
	out, err := r.output(ctx, args...)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(out)
	if err != nil {
		return nil, err
	}
	var files []Entry
	for _, e := range entries {
		if e.Mode != Directory && e.Mode != Submodule {
			files = append(files, e)
		}
	}
	return r.contents(ctx, files)
}

func (r *Repository) contents(ctx context.Context, files []Entry) (map[string]Blob, error) {
	blobs := map[string]Blob{}
	err := r.program.each(ctx, r.private, files, func(e Entry, size int64, content io.Reader) error {
		if size > r.options.BlobLimit {
			return &Error{kind: ErrTooLarge, text: fmt.Sprintf("read %q: %d bytes are over the limit of %d", e.Path, size, r.options.BlobLimit)}
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(content, data); err != nil {
			return err
		}
		blobs[e.Path] = Blob{Mode: e.Mode, ID: e.ID, Data: data}
		return nil
	})
	return blobs, err
}

// each hands the contents of files to use, one after the other, all from one process. What use
// does not read is skipped.
func (p program) each(ctx context.Context, gitDir string, files []Entry, use func(Entry, int64, io.Reader) error) error {
	if len(files) == 0 {
		return nil
	}
	var ask strings.Builder
	for _, e := range files {
		ask.WriteString(e.ID + "\n")
	}
	run, err := p.start(ctx, call{gitDir: gitDir, args: []string{"cat-file", "--batch"}, stdin: strings.NewReader(ask.String())})
	if err != nil {
		return err
	}
	defer run.Close()
	in := bufio.NewReader(run)
	for _, e := range files {
		size, err := readBatchHeader(in, e)
		if err != nil {
			return err
		}
		content := &io.LimitedReader{R: in, N: size}
		if err := use(e, size, content); err != nil {
			return err
		}
		// The content is followed by a newline of its own.
		if _, err := io.CopyN(io.Discard, in, content.N+1); err != nil {
			return fmt.Errorf("read %q: %w", e.Path, err)
		}
	}
	return nil
}

// readBatchHeader reads "ID blob SIZE", or "ID missing" (git-cat-file(1), batch output).
func readBatchHeader(in *bufio.Reader, e Entry) (int64, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("read %q: %w", e.Path, err)
	}
	line = strings.TrimSuffix(line, "\n")
	if line == e.ID+" missing" {
		return 0, missingBlob(e)
	}
	text, ok := strings.CutPrefix(line, e.ID+" blob ")
	size, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || size < 0 {
		return 0, fmt.Errorf("read %q: unexpected answer %q", e.Path, line)
	}
	return size, nil
}

func notExist(rev, path string) error {
	return fmt.Errorf("read %q at %s: %w", path, rev, fs.ErrNotExist)
}

// validPath is false for what no tree can hold, so that git makes nothing else of it.
func validPath(path string) bool {
	if strings.ContainsRune(path, 0) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
