package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// place is where the parts of a repository lie; all paths are absolute.
type place struct {
	top    string // "" when bare
	gitDir string // HEAD, index
	common string // objects, refs, config; differs from gitDir in a linked worktree
}

const (
	// pointerLimit bounds the one-line files that lead from one directory to another.
	pointerLimit = 16 << 10
	// shallowLimit allows for some 400,000 cut commits.
	shallowLimit = 16 << 20
	// attributesLimit bounds info/attributes and info/sparse-checkout.
	attributesLimit = 4 << 20
)

// find looks where git looks (gitrepository-layout(5)), without asking it: git started in a
// directory it discovers itself reads that directory's configuration before anything else.
func find(dir string) (place, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return place{}, err
	}
	if start, err = filepath.EvalSymlinks(start); err != nil {
		return place{}, notRepository(dir, err.Error())
	}
	for at := start; ; at = filepath.Dir(at) {
		found, err := findAt(at)
		if err != nil || found.gitDir != "" {
			return found, err
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	// A bare repository counts only where it was named: a pull request can hold a folder that
	// looks like one.
	if isGitDir(start) {
		return withCommon(place{gitDir: start})
	}
	return place{}, notRepository(dir, "no .git in it or above it")
}

func findAt(top string) (place, error) {
	dotGit := filepath.Join(top, ".git")
	info, err := os.Stat(dotGit)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, nil
	}
	if err != nil {
		return place{}, notRepository(top, err.Error())
	}
	if info.IsDir() {
		if !isGitDir(dotGit) {
			return place{}, nil // git walks on past such a directory too
		}
		return withCommon(place{top: top, gitDir: dotGit})
	}
	text, err := readSmall(dotGit, pointerLimit)
	if err != nil {
		return place{}, err
	}
	target, err := parseGitFile(text)
	if err != nil {
		return place{}, notRepository(top, err.Error())
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(top, target)
	}
	if !isGitDir(target) {
		return place{}, notRepository(top, fmt.Sprintf("its .git names %q, which is no git directory", target))
	}
	return withCommon(place{top: top, gitDir: filepath.Clean(target)})
}

// parseGitFile reads a .git file: "gitdir: PATH", a newline at the end allowed.
func parseGitFile(text []byte) (string, error) {
	target, ok := strings.CutPrefix(string(text), "gitdir: ")
	target = strings.TrimRight(target, "\r\n")
	if !ok || target == "" || strings.ContainsAny(target, "\x00\n") {
		return "", fmt.Errorf("its .git is no git file")
	}
	return target, nil
}

func withCommon(p place) (place, error) {
	p.common = p.gitDir
	text, err := readSmall(filepath.Join(p.gitDir, "commondir"), pointerLimit)
	if err != nil || text == nil {
		return p, err
	}
	target := strings.TrimRight(string(text), "\r\n")
	if !filepath.IsAbs(target) {
		target = filepath.Join(p.gitDir, target)
	}
	if !isDir(filepath.Join(target, "objects")) {
		return p, notRepository(p.top, fmt.Sprintf("its common directory %q has no objects", target))
	}
	p.common = filepath.Clean(target)
	return p, nil
}

func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	return isDir(filepath.Join(dir, "objects")) && isDir(filepath.Join(dir, "refs"))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readHead returns what HEAD says: a commit id, or "ref: NAME".
func readHead(gitDir string) (string, error) {
	text, err := readSmall(filepath.Join(gitDir, "HEAD"), pointerLimit)
	if err != nil {
		return "", err
	}
	head, err := parseHead(text)
	if err != nil {
		return "", notRepository(gitDir, err.Error())
	}
	return head, nil
}

func parseHead(text []byte) (string, error) {
	head := strings.TrimSpace(string(text))
	if isID(head) {
		return head, nil
	}
	name, ok := strings.CutPrefix(head, "ref:")
	name = strings.TrimSpace(name)
	if !ok || !strings.HasPrefix(name, "refs/") || strings.ContainsFunc(name, isControl) {
		return "", fmt.Errorf("its HEAD is neither a commit nor a ref")
	}
	return "ref: " + name, nil
}

// readSmall returns the regular file at path, nil when there is none, and fails over limit bytes:
// whatever waits or never ends in place of such a file must not hold us.
func readSmall(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("read %q: not a file of at most %d bytes", path, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, err
	}
	return text, nil
}

// isID reports whether s is a whole object id, SHA-1 or SHA-256, in lower case.
func isID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }
