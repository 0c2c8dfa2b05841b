package diff

import (
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"
)

// Bounds of what Resolve tries. A path needs one or two steps; what needs more was not a path.
const (
	maxWritten = 4096
	maxSteps   = 6
	maxForms   = 200
)

// Written is a path as a model wrote it.
type Written struct {
	Path string
	// Side tells which tree the path is of: that at head for Right, at base for Left.
	Side Side
	// Roots are the absolute paths that the tree was seen at, if any.
	Roots []string
	// Exists reports whether the tree of Side has a file of that path. It may be nil; then only
	// the changed files are known.
	Exists func(path string) bool
	// Paths are all files of the tree of Side. It may be nil; then a path of which only the end
	// was written is looked for among the changed files alone.
	Paths iter.Seq[string]
}

// Resolution is the outcome of Resolve.
type Resolution struct {
	// Path is the file that was meant, on the side that was asked for, or "" when it is unknown or
	// ambiguous.
	Path string
	// How tells a person what was done to get there, or what is wrong.
	How string
	// Candidates are the paths that could be meant when there are several, sorted.
	Candidates []string
}

// Resolve finds the file that w means. The path is taken as it is when such a file exists, and
// only else is it forgiven: white space, quotes and backticks around it, a line number behind it,
// backslashes, "./" and the like, an "a/" or "b/" in front, a root or a slash in front, "old =>
// new", the name of the other side of a rename, the end of a path. The fewest steps win; if these
// lead to several files, none is chosen.
func (x *Index) Resolve(w Written) Resolution {
	s := search{index: x, Written: w}
	forms := []form{{path: w.Path}}
	seen := map[string]bool{w.Path: true}
	all := forms
	for range maxSteps {
		if r, ok := s.look(forms); ok {
			return r
		}
		if len(w.Path) > maxWritten {
			return Resolution{How: "the path is too long"}
		}
		forms = s.forgive(forms, seen)
		all = append(all, forms...)
	}
	for _, f := range all {
		if r, ok := s.ends(f); ok {
			return r
		}
	}
	return Resolution{How: "there is no such file"}
}

// form is a reading of a path and how it came about.
type form struct {
	path string
	how  []string
}

func (f form) because(step string) string {
	how := append(slices.Clip(f.how), step)
	return strings.Join(slices.DeleteFunc(how, func(s string) bool { return s == "" }), ", then ")
}

type search struct {
	index *Index
	Written
}

// look returns the one file that forms name, or says that they name several.
func (s search) look(forms []form) (Resolution, bool) {
	for _, find := range []func(string) (string, string){s.named, s.renamed} {
		found := make(map[string]string)
		for _, f := range forms {
			if path, step := find(f.path); path != "" && found[path] == "" {
				found[path] = cmp.Or(f.because(step), "as written")
			}
		}
		if len(found) > 0 {
			return choose(found), true
		}
	}
	return Resolution{}, false
}

func choose(found map[string]string) Resolution {
	paths := make([]string, 0, len(found))
	for p := range found {
		paths = append(paths, p)
	}
	if len(paths) == 1 {
		return Resolution{Path: paths[0], How: found[paths[0]]}
	}
	slices.Sort(paths)
	return Resolution{How: "several files could be meant", Candidates: paths}
}

// named finds p itself on the side asked for.
func (s search) named(p string) (found, step string) {
	if !local(p) {
		return "", ""
	}
	if _, changed := s.side()[p]; changed || s.Exists != nil && s.Exists(p) {
		return p, ""
	}
	return "", ""
}

// renamed finds p on the other side.
func (s search) renamed(p string) (found, step string) {
	i, ok := s.otherSide()[p]
	if !ok {
		return "", ""
	}
	f := s.index.files[i]
	if name := f.name(s.Side); name != "" && f.Status != Copied {
		return name, "name of the other side of a rename"
	}
	return p, "name that is only on the other side"
}

// ends finds the only file whose path ends with f, on a border of names.
func (s search) ends(f form) (Resolution, bool) {
	if !local(f.path) {
		return Resolution{}, false
	}
	step := "the only changed file that ends so"
	found := make(map[string]string)
	for p := range s.side() {
		if strings.HasSuffix(p, "/"+f.path) {
			found[p] = f.because(step)
		}
	}
	if s.Paths == nil {
		return choose(found), len(found) > 0
	}
	for p := range s.Paths {
		if strings.HasSuffix(p, "/"+f.path) {
			found[p] = f.because("the only file that ends so")
		}
	}
	return choose(found), len(found) > 0
}

func (s search) side() map[string]int {
	if s.Side == Left {
		return s.index.byOld
	}
	return s.index.byNew
}

func (s search) otherSide() map[string]int {
	if s.Side == Left {
		return s.index.byNew
	}
	return s.index.byOld
}

// local reports whether p has the form of a path in a tree of git.
func local(p string) bool {
	return p != "" && p != "." && p != ".." && path.Clean(p) == p && p[0] != '/' && !strings.HasPrefix(p, "../")
}
