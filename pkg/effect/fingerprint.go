package effect

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/digest"
)

// Anchor is what a finding is about, apart from how it is worded and where the lines have moved.
type Anchor struct {
	// Path is the file's at the side.
	Path string
	Side diff.Side
	// Category is the review's word for the kind of problem.
	Category string
	// Code is the text of the lines that the finding names, or "" where they are not known.
	Code string
}

// Fingerprints returns the fingerprint of each finding: the SHA-256 of
//
//	"recibo finding 1" NAME PATH SIDE CATEGORY CODE ORDINAL
//
// each ended by a NUL. NAME is the review-name, CATEGORY has only its letters and digits, in lower
// case, CODE is the first line that has a letter or a digit, with white space made one space each,
// and ORDINAL counts, from 1, the findings that agree in everything before it. So a finding stays
// the same when it is worded otherwise, when its lines move or are indented, when its range grows
// at the end. Another file, kind of problem or first line makes another one.
func Fingerprints(name string, anchors []Anchor) []digest.SHA256 {
	seen := map[string]int{}
	out := make([]digest.SHA256, len(anchors))
	for i, a := range anchors {
		parts := []string{"recibo finding 1", name, a.Path, string(a.Side), plain(a.Category), firstLine(a.Code)}
		key := strings.Join(parts, "\x00")
		seen[key]++
		out[i] = digest.Of(fmt.Appendf(nil, "%s\x00%d\x00", key, seen[key]))
	}
	return out
}

func plain(category string) string {
	return strings.Map(func(r rune) rune {
		if !wordy(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, category)
}

func firstLine(code string) string {
	for line := range strings.Lines(code) {
		if strings.ContainsFunc(line, wordy) {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Standing is a comment of ours that an earlier review left at a line.
type Standing struct {
	ID          int64
	Node        string
	Fingerprint digest.SHA256
	// Replied means that somebody has answered: the thread is theirs too.
	Replied bool
	Body    string
}

// Delta is what a plan changes in what stands.
type Delta struct {
	// New are the findings that nothing stands for, Standing those that need no second comment,
	// both by index.
	New, Standing []int
	// Gone are the comments whose finding the plan has no more.
	Gone []Standing
}

// Reconcile compares the plan with what stands under the same review-name.
func (p *Plan) Reconcile(standing []Standing) Delta {
	var d Delta
	there, wanted := map[digest.SHA256]bool{}, map[digest.SHA256]bool{}
	for _, s := range standing {
		there[s.Fingerprint] = true
	}
	for i, f := range p.in.Findings {
		wanted[f.Fingerprint] = true
		if there[f.Fingerprint] {
			d.Standing = append(d.Standing, i)
		} else {
			d.New = append(d.New, i)
		}
	}
	for _, s := range standing {
		if !wanted[s.Fingerprint] {
			d.Gone = append(d.Gone, s)
		}
	}
	return d
}
