package effect

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// Two hyphens could end an HTML comment for some readers.
var (
	nameForm    = regexp.MustCompile(`^[A-Za-z0-9._]+(-[A-Za-z0-9._]+)*$`)
	commitForm  = regexp.MustCompile(`^[0-9a-f]{40}$`)
	reviewForm  = regexp.MustCompile(`^<!-- recibo review 1 name=(\S+) run=([0-9]{1,19}) attempt=([0-9]{1,9}) head=([0-9a-f]{40}) digest=([0-9a-f]{64}) inline=([0-9]{1,3}) base=([0-9]{1,19}) state=(whole|probe) -->$`)
	findingForm = regexp.MustCompile(`^<!-- recibo finding 1 name=(\S+) fingerprint=([0-9a-f]{64}) state=(open|gone) -->$`)
	toldForm    = regexp.MustCompile(`^<!-- recibo told 1((?: [0-9a-f]{16})+) -->$`)
)

// ValidName reports whether name can be a review-name: up to 64 letters, digits, dots, underscores
// and single hyphens inside.
func ValidName(name string) bool { return len(name) <= 64 && nameForm.MatchString(name) }

func isCommit(sha string) bool { return commitForm.MatchString(sha) }

// Marker says in a review's last line, unseen, whose it is and what it holds. It proves nothing by
// itself: it counts only in reviews of our own account.
type Marker struct {
	// Name is the review-name.
	Name string
	// Run and Attempt are those of the workflow run that wrote it.
	Run     int64
	Attempt int
	// Head is the reviewed commit; GitHub's own commit_id moves with pushes.
	Head   string
	Digest digest.SHA256
	// Inline is how many inline comments the review was created with.
	Inline int
	// Base is the id of the last submitted review of the same name that it takes account of, or 0.
	Base int64
	// Probe means that the review only asked GitHub which comments it takes, and must never be
	// submitted.
	Probe bool
}

// String returns the marker as an HTML comment of one line.
func (m Marker) String() string {
	state := "whole"
	if m.Probe {
		state = "probe"
	}
	return fmt.Sprintf("<!-- recibo review 1 name=%s run=%d attempt=%d head=%s digest=%s inline=%d base=%d state=%s -->",
		m.Name, m.Run, m.Attempt, m.Head, hex(m.Digest), m.Inline, m.Base, state)
}

// ParseMarker reads the marker in the last line of a review's body. White space may follow it;
// whatever String would not have written is no marker.
func ParseMarker(body string) (Marker, bool) {
	line := lastLine(body)
	f := reviewForm.FindStringSubmatch(line)
	if f == nil || !ValidName(f[1]) {
		return Marker{}, false
	}
	var m Marker
	var errs [5]error
	m.Name, m.Head, m.Probe = f[1], f[4], f[8] == "probe"
	m.Run, errs[0] = strconv.ParseInt(f[2], 10, 64)
	m.Attempt, errs[1] = strconv.Atoi(f[3])
	m.Digest, errs[2] = digest.Parse(f[5])
	m.Inline, errs[3] = strconv.Atoi(f[6])
	m.Base, errs[4] = strconv.ParseInt(f[7], 10, 64)
	if errs != [5]error{} || m.String() != line {
		return Marker{}, false
	}
	return m, true
}

// FindingMarker says in an inline comment's last line which finding it tells.
type FindingMarker struct {
	Name        string
	Fingerprint digest.SHA256
	// Gone means that the comment says so itself: the finding is to be told anew if it comes back.
	Gone bool
}

// String returns the marker as an HTML comment of one line.
func (m FindingMarker) String() string {
	state := "open"
	if m.Gone {
		state = "gone"
	}
	return fmt.Sprintf("<!-- recibo finding 1 name=%s fingerprint=%s state=%s -->", m.Name, hex(m.Fingerprint), state)
}

// ParseFindingMarker is ParseMarker for inline comments.
func ParseFindingMarker(body string) (FindingMarker, bool) {
	f := findingForm.FindStringSubmatch(lastLine(body))
	if f == nil || !ValidName(f[1]) {
		return FindingMarker{}, false
	}
	sum, err := digest.Parse(f[2])
	return FindingMarker{f[1], sum, f[3] == "gone"}, err == nil
}

// Short is the front of a fingerprint, by which a review lists what its comments tell.
func Short(fingerprint digest.SHA256) string { return hex(fingerprint)[:16] }

// told lists in a review's body, unseen, the findings that its comments tell. Without it, nobody
// could know of a comment that somebody has deleted.
func (p *Plan) told(inline []int) string {
	if len(inline) == 0 {
		return ""
	}
	var b strings.Builder
	for _, i := range inline {
		b.WriteString(" " + Short(p.in.Findings[i].Fingerprint))
	}
	return "<!-- recibo told 1" + b.String() + " -->"
}

// ParseTold returns the short fingerprints of what a review with a marker has told inline, or
// nothing.
func ParseTold(body string) []string {
	if _, ok := ParseMarker(body); !ok {
		return nil
	}
	body = strings.TrimRight(body, " \t\r\n")
	f := toldForm.FindStringSubmatch(lastLine(body[:strings.LastIndexAny(body, "\r\n")+1]))
	if f == nil {
		return nil
	}
	return strings.Fields(f[1])
}

func lastLine(body string) string {
	body = strings.TrimRight(body, " \t\r\n")
	return body[strings.LastIndexAny(body, "\r\n")+1:]
}

// hex prints the zero digest too.
func hex(d digest.SHA256) string { return fmt.Sprintf("%x", d[:]) }
