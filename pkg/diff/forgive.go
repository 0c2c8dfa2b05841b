package diff

import (
	"path"
	"strings"
)

// forgive returns the forms that are one step away from those given and were not seen before.
func (s search) forgive(forms []form, seen map[string]bool) []form {
	var next []form
	for _, f := range forms {
		for _, step := range s.steps() {
			p, ok := step.apply(f.path)
			if !ok || p == "" || seen[p] || len(seen) >= maxForms {
				continue
			}
			seen[p] = true
			next = append(next, form{path: p, how: append(f.how[:len(f.how):len(f.how)], step.name)})
		}
	}
	return next
}

// step takes one thing off a path; ok is false where there is nothing to take.
type step struct {
	name  string
	apply func(string) (p string, ok bool)
}

func (s search) steps() []step {
	steps := []step{
		{"white space removed", func(p string) (string, bool) { return strings.TrimSpace(p), true }},
		{"quotes removed", cutQuotes},
		{"line number removed", cutLineNumber},
		{"backslashes turned", func(p string) (string, bool) { return strings.ReplaceAll(p, `\`, "/"), true }},
		{"path cleaned", func(p string) (string, bool) { return path.Clean(p), true }},
		{"a/ removed", func(p string) (string, bool) { return strings.CutPrefix(p, "a/") }},
		{"b/ removed", func(p string) (string, bool) { return strings.CutPrefix(p, "b/") }},
		{"arrow read", s.arrow},
	}
	for _, root := range s.Roots {
		prefix := strings.TrimSuffix(root, "/") + "/"
		steps = append(steps, step{"root removed", func(p string) (string, bool) { return strings.CutPrefix(p, prefix) }})
	}
	return append(steps, step{"slash in front removed", func(p string) (string, bool) { return strings.CutPrefix(p, "/") }})
}

// cutQuotes takes a pair of quotes off, and reads the escapes that git writes in double ones.
func cutQuotes(p string) (string, bool) {
	if name, rest, err := unquote(p); err == nil && rest == "" {
		return name, true
	}
	for _, pair := range []string{"``", "''", `""`, "<>", "**"} {
		if len(p) > 2 && p[0] == pair[0] && p[len(p)-1] == pair[1] {
			return p[1 : len(p)-1], true
		}
	}
	return "", false
}

// cutLineNumber takes ":12", ":12-14", "#L12" and "#L12-L14" off; ":12:5" takes two steps.
func cutLineNumber(p string) (string, bool) {
	i := strings.LastIndexAny(p, ":#")
	if i < 0 {
		return "", false
	}
	tail := p[i+1:]
	if p[i] == '#' && !strings.HasPrefix(tail, "L") {
		return "", false
	}
	return p[:i], strings.ContainsAny(tail, "0123456789") && strings.Trim(tail, "0123456789-L") == ""
}

// arrow reads "old => new" and "dir/{old => new}/file", which git prints for renames, and takes
// the name of the side asked for.
func (s search) arrow(p string) (string, bool) {
	for _, mark := range []string{" => ", " -> ", " → "} {
		before, after, ok := strings.Cut(p, mark)
		if !ok {
			continue
		}
		front, old, braces := cutLast(before, "{")
		name, back, closed := strings.Cut(after, "}")
		if !braces || !closed {
			front, old, name, back = "", before, after, ""
		}
		if s.Side == Left {
			name = old
		}
		return path.Clean(front + name + back), true
	}
	return "", false
}

// cutLast is strings.Cut at the last mark.
func cutLast(s, mark string) (before, after string, found bool) {
	i := strings.LastIndex(s, mark)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(mark):], true
}
