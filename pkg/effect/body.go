package effect

import (
	"fmt"
	"strings"
)

// Outcome says what became of the findings, as far as the body has to know.
type Outcome struct {
	// Inline are the findings that are told by comments of this review, Standing those that
	// comments of earlier ones tell; both by index. All others stand in the body.
	Inline, Standing []int
	// Gone is how many comments of earlier reviews tell what is no more found.
	Gone int
	// Note is one sentence of ours, such as that the head has moved; it may be "".
	Note string
	// Marker is completed by Body with what the plan and the other fields say.
	Marker Marker
}

// Counts tell where the findings are; together they are all of the plan's.
type Counts struct{ Inline, Standing, Body, Artifact int }

// Sum returns the number of all findings.
func (c Counts) Sum() int { return c.Inline + c.Standing + c.Body + c.Artifact }

// Body returns the review's body, marker included, in at most MaxBody bytes. Findings for which
// there is no room are counted in it; they are in the artifact.
func (p *Plan) Body(o Outcome) (string, Counts) {
	told := make([]bool, p.Len())
	for _, i := range o.Inline {
		told[i] = true
	}
	for _, i := range o.Standing {
		told[i] = true
	}
	c := Counts{Inline: len(o.Inline), Standing: len(o.Standing)}
	m := o.Marker
	m.Name, m.Head, m.Digest, m.Inline = p.in.Name, p.in.Head, p.digest, len(o.Inline)
	head := blocks(p.in.Lead, o.Note, across(c.Standing, o.Gone))
	foot := func(more int) string {
		return blocks(inArtifact(more), p.in.Tail, p.in.Run, p.told(o.Inline), m.String())
	}
	// Two newlines stand between any two blocks; the largest count takes the most room.
	room := MaxBody - len(head) - len(foot(max(1, p.Len()))) - 4
	var items []string
	for i, f := range p.in.Findings {
		switch {
		case told[i]:
		case len(f.Item)+2 > room:
			c.Artifact++
		default:
			items = append(items, f.Item)
			room -= len(f.Item) + 2
			c.Body++
		}
	}
	return blocks(head, strings.Join(items, "\n\n"), foot(c.Artifact)), c
}

// blocks joins what is not empty with blank lines.
func blocks(parts ...string) string {
	var out []string
	for _, s := range parts {
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n\n")
}

func across(standing, gone int) string {
	var out []string
	if standing > 0 {
		out = append(out, plural(standing, "earlier comment still stands.", "earlier comments still stand."))
	}
	if gone > 0 {
		out = append(out, plural(gone, "earlier comment is about something that was not found again.", "earlier comments are about things that were not found again."))
	}
	return strings.Join(out, " ")
}

func inArtifact(more int) string {
	if more == 0 {
		return ""
	}
	return plural(more, "more finding is in the artifact.", "more findings are in the artifact.")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
