package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// setting is one line of a configuration: the key as git lists it, section and name in lower case.
type setting struct{ key, value string }

// config is the checkout's own configuration file in its order, included files left out. It is
// looked at, never obeyed.
type config []setting

func (r *Repository) readConfig(ctx context.Context, path string) (config, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	out, err := r.program.output(ctx, call{
		cwd:  r.scratch, // nothing in it, and git looks no higher
		env:  []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(r.scratch)},
		args: []string{"config", "--file", path, "--no-includes", "--list", "-z"},
	})
	if err != nil {
		return nil, err
	}
	return parseConfig(out), nil
}

// parseConfig reads `git config --list -z`: key, newline, value, NUL; a key without a value, which
// means true, has no newline.
func parseConfig(out []byte) config {
	var c config
	for item := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if item == "" {
			continue
		}
		key, value, ok := strings.Cut(item, "\n")
		if !ok {
			value = "true"
		}
		c = append(c, setting{key, value})
	}
	return c
}

func (c config) get(key string) string {
	for _, s := range slices.Backward(c) {
		if s.key == key {
			return s.value
		}
	}
	return ""
}

func (c config) objectFormat() string { return c.or("extensions.objectformat", "sha1") }

// refFormat is "files", or the name of a format that only git itself reads.
func (c config) refFormat() string { return c.or("extensions.refstorage", "files") }

func (c config) or(key, absent string) string {
	if value := c.get(key); value != "" {
		return strings.ToLower(value)
	}
	return absent
}

// supported refuses formats that git has not told us of, as git itself must
// (gitformat: core.repositoryFormatVersion).
func (c config) supported() error {
	version := c.or("core.repositoryformatversion", "0")
	if version != "0" && version != "1" {
		return fmt.Errorf("repository format %q is not known", version)
	}
	if format := c.objectFormat(); format != "sha1" && format != "sha256" {
		return fmt.Errorf("object format %q is not known", format)
	}
	known := []string{
		"noop", "noop-v1", "objectformat", "compatobjectformat", "refstorage", "partialclone",
		"preciousobjects", "worktreeconfig", "relativeworktrees",
	}
	for _, s := range c {
		name, ok := strings.CutPrefix(s.key, "extensions.")
		if ok && version == "1" && !slices.Contains(known, name) {
			return fmt.Errorf("repository extension %q is not known", name)
		}
	}
	return nil
}

// worktree are the settings that say how files on disk relate to blobs and how ids are cut short,
// and that start nothing. A person's git obeys them, so an answer that has to be the same does.
func (c config) worktree() []setting {
	keys := []string{
		"core.abbrev", "core.autocrlf", "core.checkstat", "core.eol", "core.filemode",
		"core.ignorecase", "core.precomposeunicode", "core.sparsecheckout",
		"core.sparsecheckoutcone", "core.symlinks", "core.trustctime", "index.sparse",
	}
	var kept []setting
	for _, key := range keys {
		value := c.get(key)
		if value != "" && strings.Trim(strings.ToLower(value), "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
			kept = append(kept, setting{key, value})
		}
	}
	return kept
}

// harmless reports whether an agent may see this configuration, and otherwise the key why not.
// It is a list of what is allowed: credentials hide under many names (extra headers, helpers,
// rewritten addresses, included files), and whatever is not known costs no more than a copy of
// the tree.
func (c config) harmless() (key string, ok bool) {
	for _, s := range c {
		if !allowed(s) {
			return s.key, false
		}
	}
	return "", true
}

func allowed(s setting) bool {
	section, rest, _ := strings.Cut(s.key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	names := map[string][]string{
		"core": {
			"abbrev", "autocrlf", "bare", "checkstat", "eol", "filemode", "ignorecase", "logallrefupdates",
			"precomposeunicode", "repositoryformatversion", "symlinks", "trustctime",
		},
		"extensions":  {"noop", "noop-v1", "objectformat", "partialclone", "refstorage"},
		"gc":          {"auto", "autodetach"},
		"maintenance": {"auto"},
		"init":        {"defaultbranch"},
		"user":        {"name", "email"},
		"advice":      {name},
		"branch":      {"remote", "merge", "rebase"},
		"remote":      {"url", "pushurl", "fetch", "tagopt", "prune", "promisor", "partialclonefilter"},
		"lfs":         {"repositoryformatversion"},
	}
	if !slices.Contains(names[section], name) {
		return false
	}
	return !hasCredentials(s.value) && !hasCredentials(s.key)
}

// hasCredentials reports a user part in an address. ssh names its account there, a password it
// never is unless a colon says so.
func hasCredentials(address string) bool {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return false
	}
	return !strings.HasSuffix(scheme, "ssh") || strings.Contains(authority[:at], ":")
}
