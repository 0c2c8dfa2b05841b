package diff

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// judge says what is true of a diff without the parser: git's raw and numstat lists, which are
// separated by NUL and quote nothing; the same diff printed again with marks that no line of text
// starts with, so that nothing has to be counted to tell headers from lines; and the blobs.
type judge struct {
	repo
	raw   []rawEntry
	stats []string
	lines []judgedLines
	blobs map[string][]byte
	// asText is set when git was told to print binary files too.
	asText bool
}

type rawEntry struct {
	oldMode, newMode, oldID, newID, status, old, new string
}

// judgedLines are the lines of a file in the diff, by their numbers on each side.
type judgedLines struct {
	old, new map[int]string
}

func newJudge(r repo, options ...string) judge {
	run := func(drop []string, extra ...string) string {
		all := slices.Concat([]string{"diff"}, flags(), options, extra, []string{"base", "head", "--"})
		return string(r.git(slices.DeleteFunc(all, func(o string) bool {
			return slices.ContainsFunc(drop, func(d string) bool { return strings.HasPrefix(o, d) })
		})...))
	}
	// These ask for a patch too, beside what the option says.
	patch := []string{"--unified", "-U", "-W", "--binary"}
	j := judge{repo: r, asText: slices.Contains(options, "--text")}
	j.raw = parseRaw(run(patch, "--raw", "-z", "--no-abbrev"))
	j.stats = parseNumstat(run(patch, "--numstat", "-z"))
	j.lines = markedLines(run([]string{"--binary"}, "--output-indicator-new=\x01", "--output-indicator-old=\x02", "--output-indicator-context=\x03"), j.raw)
	j.blobs = r.blobs(j.raw)
	return j
}

// blobs reads the contents of every file of a diff by object name.
func (r repo) blobs(raw []rawEntry) map[string][]byte {
	var names strings.Builder
	for _, e := range raw {
		fmt.Fprintf(&names, "%s\n%s\n", e.oldID, e.newID)
	}
	blobs := map[string][]byte{}
	for out := r.gitIn(names.String(), "cat-file", "--batch"); len(out) > 0; {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		out = rest
		f := strings.Fields(string(head))
		if size, err := strconv.Atoi(f[len(f)-1]); err == nil {
			blobs[f[0]], out = rest[:size], rest[size+1:]
		}
	}
	return blobs
}

func parseRaw(out string) (entries []rawEntry) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for len(fields) > 1 {
		f := strings.Fields(strings.TrimPrefix(fields[0], ":"))
		e := rawEntry{f[0], f[1], f[2], f[3], f[4], fields[1], fields[1]}
		fields = fields[2:]
		if e.status[0] == 'R' || e.status[0] == 'C' {
			e.new, fields = fields[0], fields[1:]
		}
		entries = append(entries, e)
	}
	return entries
}

// parseNumstat returns "added removed" a file; a rename has an empty name and two more fields.
func parseNumstat(out string) (stats []string) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for len(fields) > 0 && fields[0] != "" {
		f := strings.SplitN(fields[0], "\t", 3)
		stats = append(stats, f[0]+" "+f[1])
		fields = fields[1:]
		if f[2] == "" {
			fields = fields[2:]
		}
	}
	return stats
}

// markedLines walks a diff whose lines are marked, file by file in the order of raw. A change of
// type is printed as two files.
func markedLines(out string, raw []rawEntry) (all []judgedLines) {
	var parts []int
	for i, e := range raw {
		all = append(all, judgedLines{map[int]string{}, map[int]string{}})
		parts = append(parts, i)
		if e.status[0] == 'T' {
			parts = append(parts, i)
		}
	}
	hunk := regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)
	part, old, new := -1, 0, 0
	for line := range strings.Lines(out) {
		text := line[1:]
		switch {
		case line[0] == 1:
			all[parts[part]].new[new] = text
			new++
		case line[0] == 2:
			all[parts[part]].old[old] = text
			old++
		case line[0] == 3:
			all[parts[part]].old[old], all[parts[part]].new[new] = text, text
			old, new = old+1, new+1
		case strings.HasPrefix(line, "@@ "):
			m := hunk.FindStringSubmatch(line)
			old, _ = strconv.Atoi(m[1])
			new, _ = strconv.Atoi(m[2])
		case strings.HasPrefix(line, "diff --git "):
			part++
		}
	}
	return all
}

// check compares files with the truth and returns what is wrong, one error a fact.
func (j judge) check(files []File) error {
	if len(files) != len(j.raw) || len(files) != len(j.stats) {
		return fmt.Errorf("got %d files, want %d (raw) and %d (numstat)", len(files), len(j.raw), len(j.stats))
	}
	var wrong []error
	for i, f := range files {
		facts := []error{checkHeader(f, j.raw[i]), checkStat(f, j.stats[i], j.asText), j.checkLines(f, i), j.checkScript(f, j.raw[i])}
		if err := errors.Join(facts...); err != nil {
			wrong = append(wrong, fmt.Errorf("%v %.100q: %w", f.Status, f.Path(), err))
		}
	}
	return errors.Join(wrong...)
}

func checkHeader(f File, e rawEntry) error {
	old, new, status := f.Old, f.New, map[Status]string{
		Modified: "M", Added: "A", Deleted: "D", Renamed: "R", Copied: "C", TypeChanged: "T",
	}[f.Status]
	switch {
	case f.Status == Added:
		old = e.old
	case f.Status == Deleted:
		new = e.new
	case f.Status == Renamed || f.Status == Copied:
		status += fmt.Sprintf("%03d", f.Similarity)
	}
	got := rawEntry{e.oldMode, e.newMode, e.oldID, e.newID, status, old, new}
	if f.OldMode != 0 {
		got.oldMode = f.OldMode.String()
	}
	if f.NewMode != 0 {
		got.newMode = f.NewMode.String()
	}
	if f.ids != "" {
		got.oldID, got.newID = f.OldID(), f.NewID()
	} else if e.oldID != e.newID {
		return fmt.Errorf("got no object names, want %s and %s", e.oldID, e.newID)
	}
	if e.status[0] == 'M' || e.status[0] == 'T' {
		// A rewrite has its dissimilarity as a number behind the letter.
		e.status = e.status[:1]
	}
	if got != e || (f.Old == "") != (f.Status == Added) || (f.New == "") != (f.Status == Deleted) {
		return fmt.Errorf("header: got %.300q, want %.300q", got, e)
	}
	return nil
}

func checkStat(f File, want string, asText bool) error {
	added, removed := f.Numstat()
	got := fmt.Sprintf("%d %d", added, removed)
	if f.Binary {
		got = "- -"
	}
	if want == "- -" && asText {
		// With --text the lines are printed, but not counted here.
		return nil
	}
	if got != want {
		return fmt.Errorf("numstat: got %s, want %s", got, want)
	}
	return nil
}

// checkLines compares what can be commented with what git printed, and that with the blobs.
func (j judge) checkLines(f File, i int) error {
	e := j.raw[i]
	for _, s := range []struct {
		side     Side
		mode, id string
		judged   map[int]string
	}{{Left, e.oldMode, e.oldID, j.lines[i].old}, {Right, e.newMode, e.newID, j.lines[i].new}} {
		want := slices.Sorted(maps.Keys(s.judged))
		if s.mode == "160000" {
			want = nil
		}
		var got []int
		for first, last := range f.Commentable(s.side) {
			for n := first; n <= last; n++ {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s: got lines %v, want %v", s.side, got, want)
		}
		blob := bytes.SplitAfter(j.blobs[s.id], []byte("\n"))
		for _, n := range got {
			if n > len(blob) {
				return fmt.Errorf("%s line %d: the file %s has %d", s.side, n, s.id, len(blob))
			}
			if text := string(blob[n-1]); strings.TrimSuffix(text, "\n") != strings.TrimSuffix(s.judged[n], "\n") {
				return fmt.Errorf("%s line %d: git printed %.60q, the file has %.60q", s.side, n, s.judged[n], text)
			}
		}
	}
	return nil
}

// checkScript replays the runs of f on the old blob: unchanged lines and context must be the same
// on both sides, and the outcome must be the new blob.
func (j judge) checkScript(f File, e rawEntry) error {
	if f.Binary || f.Submodule() {
		return nil
	}
	old, new := splitLines(j.blobs[e.oldID]), splitLines(j.blobs[e.newID])
	var made []string
	at := 0
	for h := range f.Hunks() {
		start, _ := h.lines(Left)
		made = append(made, part(old, at, start-1)...)
		at = start - 1
		for r := range h.Runs() {
			if r.Kind == AddedLine {
				made = append(made, part(new, len(made), len(made)+r.Lines)...)
				continue
			}
			if r.Kind == ContextLine {
				made = append(made, part(old, at, at+r.Lines)...)
			}
			at += r.Lines
		}
		if h.NoNewlineOld != (h.OldLines > 0 && unended(old, at)) || h.NoNewlineNew != (h.NewLines > 0 && unended(new, len(made))) {
			return fmt.Errorf("hunk %+v: wrong about a last line end", h)
		}
	}
	if made = append(made, part(old, at, len(old))...); !slices.Equal(made, new) {
		return fmt.Errorf("the hunks do not lead from the old file to the new")
	}
	return nil
}

// part is s[from:to] as far as there is such a part.
func part(s []string, from, to int) []string {
	to = min(to, len(s))
	return s[min(from, to):to]
}

// unended reports whether n lines are all of s, and the last has no line end.
func unended(s []string, n int) bool {
	return n > 0 && n == len(s) && !strings.HasSuffix(s[n-1], "\n")
}

func splitLines(b []byte) []string {
	return slices.Collect(strings.Lines(string(b)))
}
