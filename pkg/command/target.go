package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// defaultUsage is where the receipt goes when the place that was asked for cannot take it.
const defaultUsage = "usage.json"

// checkTargets makes sure, before anything is spent, that what will be written can be: every
// place is a file that is not there or is one, no two are the same, and none that lies in the
// repository is reached through a symbolic link, which a pull request could have put there.
func (r *reviewing) checkTargets() error {
	if err := r.checkTarget("usage-file", r.opt.usageFile); err != nil {
		r.usageBad = true
		return err
	}
	taken := map[string]string{}
	for _, in := range []struct{ input, path string }{
		{"prompt-file", r.opt.promptFile}, {"tools-file", r.opt.toolsFile}, {"output-schema-file", r.opt.schemaFile},
		{"usage-file", r.opt.usageFile}, {"output-file", r.opt.outputFile},
		{"artifacts-dir", filepath.Join(r.opt.artifactsDir, "wire.jsonl")}, {"artifacts-dir", filepath.Join(r.opt.artifactsDir, "events.jsonl")},
		{"artifacts-dir", filepath.Join(r.opt.artifactsDir, "session.jsonl")}, {"artifacts-dir", filepath.Join(r.opt.artifactsDir, "prompt.resolved.md")},
	} {
		if in.path == "" {
			continue
		}
		path := r.path(in.path)
		if other, twice := taken[path]; twice {
			r.usageBad = r.usageBad || in.input == "usage-file"
			return fault.New(fault.Request, "give each its own path", "read input %s: %q is also the %s's", in.input, in.path, other)
		}
		taken[path] = in.input
		if strings.HasPrefix(in.input, "output-file") || in.input == "artifacts-dir" {
			if err := r.checkTarget(in.input, in.path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reviewing) checkTarget(input, name string) error {
	refuse := func(why string) error {
		return fault.New(fault.Request, "give the path of a file that can be written", "read input %s: %q %s", input, name, why)
	}
	path := r.path(name)
	if strings.ContainsRune(name, 0) || strings.HasSuffix(name, "/") {
		return refuse("is not a file's path")
	}
	if rel, err := filepath.Rel(r.place.root, path); err == nil && filepath.IsLocal(rel) {
		if link := linkAbove(r.place.root, rel); link != "" {
			return refuse("leads through the symbolic link " + link)
		}
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return refuse("is a directory")
	case err == nil || errors.Is(err, fs.ErrNotExist):
	default:
		return refuse("cannot be reached")
	}
	if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return refuse("lies in no directory that can be made")
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return refuse("does not lie in a directory")
	}
	return nil
}

// linkAbove returns the first directory above rel, below root, that is a symbolic link.
func linkAbove(root, rel string) string {
	at := root
	parts := strings.Split(filepath.Dir(rel), string(filepath.Separator))
	for _, part := range parts {
		at = filepath.Join(at, part)
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return part
		}
	}
	return ""
}
