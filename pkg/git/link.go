package git

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
)

const (
	// linkHops is how many links a path may lead through before the system gives up (ELOOP).
	linkHops = 40
	// linkLimit is the longest target that the system makes a link of (PATH_MAX less one).
	linkLimit = 4095
)

// Refused is a path of the tree that was left out, and why.
type Refused struct {
	Path string
	// Target is where the symbolic link would lead, cut off when too long to be one.
	Target string
	Why    string
}

// readLinks judges the symbolic links among files. They are judged together, since one can lead
// through another.
func (p program) readLinks(ctx context.Context, gitDir string, files []Entry) ([]Refused, error) {
	var found []Entry
	for _, e := range files {
		if e.Mode == Symlink {
			found = append(found, e)
		}
	}
	targets := links{exact: map[string]string{}, folded: map[string]string{}}
	err := p.each(ctx, gitDir, found, func(e Entry, _ int64, content io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(content, linkLimit+1))
		targets.exact[e.Path] = string(text)
		targets.folded[strings.ToLower(e.Path)] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	var refused []Refused
	for _, e := range found {
		target := targets.exact[e.Path]
		if why := targets.judge(e.Path, target); why != "" {
			refused = append(refused, Refused{Path: e.Path, Target: target, Why: why})
		}
	}
	return refused, nil
}

// links are the targets of the symbolic links of a tree by path. Where only the case differs, a
// file system may take one name for the other.
type links struct{ exact, folded map[string]string }

func (l links) at(path string) (string, bool) {
	if target, ok := l.exact[path]; ok {
		return target, true
	}
	target, ok := l.folded[strings.ToLower(path)]
	return target, ok
}

// judge follows the link at path to its end as the system would, and says why it must not be
// made, or "". Names that the tree does not have are followed as if they were folders: they may be
// made later.
func (l links) judge(path, target string) string {
	if target == "" || strings.ContainsRune(target, 0) || len(target) > linkLimit {
		return "no link can have this target"
	}
	parts := strings.Split(path, "/")
	at, ahead := parts[:len(parts)-1:len(parts)-1], strings.Split(target, "/")
	for hops := 1; len(ahead) > 0; {
		if strings.HasPrefix(target, "/") {
			return "leads out of the tree"
		}
		part := ahead[0]
		ahead = ahead[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return "leads out of the tree"
			}
			at = at[:len(at)-1]
			continue
		}
		if isDotGit(part) {
			return "leads into .git"
		}
		here := append(slices.Clip(at), part)
		next, ok := l.at(strings.Join(here, "/"))
		if !ok {
			at = here
			continue
		}
		if hops++; hops > linkHops {
			return "leads through too many links"
		}
		target, ahead = next, append(strings.Split(next, "/"), ahead...)
	}
	return ""
}

var shortDotGit = regexp.MustCompile(`^git~[0-9]+$`)

// isDotGit knows the names that some file system takes for ".git": in any case, with trailing dots
// and spaces or as short name on NTFS, with code points that HFS+ ignores.
func isDotGit(name string) bool {
	name = strings.Map(func(c rune) rune {
		switch {
		case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
			return -1
		}
		return c
	}, name)
	name, _, _ = strings.Cut(strings.ToLower(name), ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || shortDotGit.MatchString(name)
}
