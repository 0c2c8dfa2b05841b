// Package report is what people look at after a run: Markdown for the job's summary, text for a
// terminal, and a way to show foreign text in Markdown without its doing anything.
//
// It decides nothing and fetches nothing: everything it says stands in the receipt or the review.
package report

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

// Options say how a report is made.
type Options struct {
	// UsageFile is the receipt's path, as a reader would type it.
	UsageFile string
	// Hosts are those that links may lead to beside the receipt's server (see Policy).
	Hosts []string
	// Width is how many columns Text may take; 0 means 80. Summary does not wrap.
	Width int
	// Colour lets Text use the colours and weights of ECMA-48.
	Colour bool
	// Next are the commands that Text offers to type next.
	Next []string
}

// Bounds of what is shown of a model's texts, in bytes. A reader who wants more opens the review.
const (
	titleMax = 300
	textMax  = 16 << 10
)

// headline is the first line of a report.
func headline(r *receipt.Receipt) string {
	line := "recibo: " + verdict(r)
	if replayed(r) != "" {
		line += " (replay, no model was asked)"
	}
	return line
}

func verdict(r *receipt.Receipt) string {
	switch r.Review.Verdict {
	case receipt.VerdictOK:
		return "no findings"
	case receipt.VerdictFindings:
		return plural(r.Review.Findings, "finding") + worst(r.Review.BySeverity)
	case receipt.VerdictInconclusive:
		return "inconclusive, this review cannot be relied on"
	case receipt.VerdictPending:
		return plural(r.Review.Findings, "finding") + ", waiting for approval"
	}
	switch r.Status {
	case receipt.Skipped:
		return "skipped"
	case receipt.Refused:
		return "refused, nothing was spent"
	case receipt.Cancelled, receipt.Timeout, receipt.Budget, receipt.Breaker:
		return "no review, stopped by " + map[receipt.Status]string{
			receipt.Cancelled: "a signal",
			receipt.Timeout:   "the time limit",
			receipt.Budget:    "the token limit",
			receipt.Breaker:   "an endpoint that kept failing",
		}[r.Status]
	}
	return "no review"
}

func worst(n receipt.BySeverity) string {
	for _, s := range severities(n) {
		if s.count > 0 && s.name != unrated {
			return ", the worst is " + s.name
		}
	}
	return ""
}

const unrated = "unrated"

type severity struct {
	name  string
	count int
}

// severities lists the counts from the worst down.
func severities(n receipt.BySeverity) []severity {
	return []severity{
		{"critical", n.Critical}, {"high", n.High}, {"medium", n.Medium},
		{"low", n.Low}, {"info", n.Info}, {unrated, n.Unrated},
	}
}

func severityOf(f review.Finding) string {
	if f.Severity == "" {
		return unrated
	}
	return f.Severity
}

// replayed says what no reader may miss when no model was asked, or "".
func replayed(r *receipt.Receipt) string {
	switch r.Wire.Origin {
	case receipt.OriginScripted:
		return "Replayed from a scripted session: no model was asked. What it answers was written by hand, to show how a review goes."
	case receipt.OriginRecorded:
		return "Replayed from a recorded session: no model was asked. What it answers is what a model answered in an earlier run."
	}
	return ""
}

// doubt says why findings that are shown must not be taken for a review, or "".
func doubt(r *receipt.Receipt, v *review.Review) string {
	if v == nil || r.Status == receipt.Completed {
		return ""
	}
	return fmt.Sprintf("The run ended as %q. What follows is what was there by then, and not a review to rely on.", r.Status)
}

// opinion is what the model said of the change as a whole, or "".
func opinion(v *review.Review) string {
	switch {
	case v == nil || v.OK == nil:
		return ""
	case *v.OK:
		return "The model's own verdict: ok."
	}
	return "The model's own verdict: not ok."
}

// unlocated says how many findings name a place that is not there, or "".
func unlocated(v *review.Review) string {
	n := 0
	for _, f := range v.Findings {
		if f.Location.Reason != "" {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return plural(n, "finding") + " without a place in the reviewed tree, shown with the reason."
}

// place is where a finding lies, as path:first-last, or "" when it does not say.
func place(f review.Finding) string {
	if f.Path == "" {
		return ""
	}
	at := f.Path
	if f.StartLine > 0 {
		at += ":" + strconv.Itoa(f.StartLine)
		if f.EndLine > f.StartLine {
			at += "-" + strconv.Itoa(f.EndLine)
		}
	}
	if f.Side == "LEFT" {
		at += " (before the change)"
	}
	return at
}

// permalink is the address of a finding's lines on the server, or "" without a server or a place
// that was found.
func permalink(r *receipt.Receipt, f review.Finding) string {
	commit := r.HeadSHA
	if f.Side == "LEFT" {
		commit = r.MergeBase
	}
	at := server(r)
	if f.Location.State != review.LocationOK || at == nil || r.Run.Repository == "" || commit == "" {
		return ""
	}
	link := at.Scheme + "://" + at.Host
	for part := range strings.SplitSeq(fmt.Sprintf("%s/blob/%s/%s", r.Run.Repository, commit, f.Path), "/") {
		link += "/" + url.PathEscape(part)
	}
	link += fmt.Sprintf("#L%d", f.StartLine)
	if f.EndLine > f.StartLine {
		link += fmt.Sprintf("-L%d", f.EndLine)
	}
	return link
}

var hostname = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`)

// server is the GitHub server of r, or nil when what stands there cannot be one: a receipt may
// come from an artifact that somebody forged.
func server(r *receipt.Receipt) *url.URL {
	u, err := url.Parse(string(r.Run.Server))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || !hostname.MatchString(u.Host) {
		return nil
	}
	return u
}

// policy is that of a model's texts in r's report.
func (o Options) policy(r *receipt.Receipt) Policy {
	p := Policy{Hosts: slices.Clone(o.Hosts)}
	if u := server(r); u != nil {
		p.Hosts = append(p.Hosts, strings.ToLower(u.Host))
	}
	return p
}

// check is a script that compares the receipt with the prompt that stands in the commit. It needs
// no more than git, sed and sha256sum.
func (o Options) check(r *receipt.Receipt) []string {
	for _, path := range []string{string(r.PromptPath), string(r.Prompt.SavedPath), o.UsageFile} {
		if oneLine(path, len(path)) != path {
			return nil // Nobody could type it, or see what it is.
		}
	}
	if r.PromptSHA == (receipt.Digest{}) {
		return nil
	}
	source := "git show " + quote(string(r.GitSHA)+":"+string(r.PromptPath)) + " | sha256sum"
	if r.PromptPath == "" || r.GitSHA == "" {
		if r.Prompt.SavedPath == "" {
			return nil
		}
		source = "sha256sum < " + quote(string(r.Prompt.SavedPath))
	}
	return []string{
		`want=$(sed -n 's/^  "prompt_sha": "\(.*\)",$/\1/p' ` + quote(o.UsageFile) + `)`,
		`have=$(` + source + ` | cut -d ' ' -f 1)`,
		`[ "$want" = "$have" ] && echo "the prompt is $have" || echo "NOT THE SAME: $want, $have"`,
	}
}

// quote makes a word of a POSIX shell's command line from text.
func quote(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,=-") == "" && text != "" && text[0] != '-' {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// grouped writes n with a comma at every third digit.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
