package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

func TestHeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		status  receipt.Status
		verdict receipt.Text
		counts  receipt.BySeverity
		n       int
		want    string
	}{
		{"ok", receipt.Completed, receipt.VerdictOK, receipt.BySeverity{}, 0, "no findings"},
		{"one", receipt.Completed, receipt.VerdictFindings, receipt.BySeverity{Info: 1}, 1, "1 finding, the worst is info"},
		{"many", receipt.Completed, receipt.VerdictFindings, receipt.BySeverity{Low: 1000, Critical: 1}, 1001, "1,001 findings, the worst is critical"},
		{"unrated", receipt.Completed, receipt.VerdictFindings, receipt.BySeverity{Unrated: 2}, 2, "2 findings"},
		{"pending", receipt.Completed, receipt.VerdictPending, receipt.BySeverity{High: 2}, 2, "2 findings, waiting for approval"},
		{"inconclusive", receipt.Inconclusive, receipt.VerdictInconclusive, receipt.BySeverity{}, 0, "inconclusive, this review cannot be relied on"},
		{"skipped", receipt.Skipped, receipt.VerdictSkipped, receipt.BySeverity{}, 0, "skipped"},
		{"failed", receipt.Failed, receipt.VerdictFailed, receipt.BySeverity{}, 0, "no review"},
		{"refused", receipt.Refused, receipt.VerdictFailed, receipt.BySeverity{}, 0, "refused, nothing was spent"},
		{"cancelled", receipt.Cancelled, receipt.VerdictFailed, receipt.BySeverity{}, 0, "no review, stopped by a signal"},
		{"timeout", receipt.Timeout, receipt.VerdictFailed, receipt.BySeverity{}, 0, "no review, stopped by the time limit"},
		{"budget", receipt.Budget, receipt.VerdictFailed, receipt.BySeverity{}, 0, "no review, stopped by the token limit"},
		{"breaker", receipt.Breaker, "", receipt.BySeverity{}, 0, "no review, stopped by an endpoint that kept failing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := early(c.status, nil)
			r.Review = receipt.Review{Verdict: c.verdict, Findings: c.n, BySeverity: c.counts}
			for origin, suffix := range map[receipt.Text]string{
				receipt.OriginLive:     "",
				receipt.OriginRecorded: " (replay, no model was asked)",
				receipt.OriginScripted: " (replay, no model was asked)",
			} {
				r.Wire.Origin = origin
				want := "recibo: " + c.want + suffix
				if got := string(Summary(r, nil, Options{})); !strings.HasPrefix(got, "## "+want+"\n\n") {
					t.Errorf("summary of %s starts with %.90q, want %q", origin, got, want)
				}
				if got := string(Text(r, nil, Options{Width: 200})); !strings.HasPrefix(got, want+"\n\n") {
					t.Errorf("text of %s starts with %.90q, want %q", origin, got, want)
				}
			}
		})
	}
}

// TestSummary_counts_what_has_no_room asks for more than GitHub shows.
func TestSummary_counts_what_has_no_room(t *testing.T) {
	t.Parallel()
	const all = 3000
	finding := review.Finding{Severity: "low", Title: "t", Body: strings.Repeat("<", 1000)}
	v := &review.Review{Findings: make([]review.Finding, all)}
	for i := range v.Findings {
		v.Findings[i] = finding
	}
	r := live(t)
	got := string(Summary(r, v, Options{UsageFile: "usage.json"}))
	if len(got) > 1<<20 || len(got) < 1<<19 {
		t.Errorf("%d bytes, want at most 1 MiB and not much less", len(got))
	}
	shown := strings.Count(got, "\n### ") - strings.Count(got, "\n### W") - strings.Count(got, "\n### T") - strings.Count(got, "\n### C")
	note := regexp.MustCompile("\n\\*\\*([0-9,]+) more findings\\*\\* for which there is no room here, see `.recibo/review.json`.\n").FindStringSubmatch(got)
	if note == nil {
		t.Fatal("no note of what is missing")
	}
	left, err := strconv.Atoi(strings.ReplaceAll(note[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	if shown == 0 || shown+left != all {
		t.Errorf("%d shown and %d counted, want %d together", shown, left, all)
	}
	if !strings.Contains(got, "### What went in") || !strings.Contains(got, "### Check it yourself") {
		t.Error("the end of the report is missing")
	}
}

func TestReports_cut_long_texts_and_say_so(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", textMax)
	v := &review.Review{Summary: long, Findings: []review.Finding{{Title: long, Body: long, Suggestion: &long}}}
	r := live(t)
	r.Run.Warnings = make([]string, listMax+7)
	for name, got := range map[string]string{
		"summary": string(Summary(r, v, Options{})),
		"text":    string(Text(r, v, Options{})),
	} {
		if n, want := strings.Count(got, "… 16,384 bytes more, see the review."), 3; n != want {
			t.Errorf("%s: %d notes of what was cut, want %d", name, n, want)
		}
		if !strings.Contains(got, strings.Repeat("é", titleMax/2)+"…\n") {
			t.Errorf("%s: the title is not cut", name)
		}
		if !strings.Contains(got, "- … 7 more\n") {
			t.Errorf("%s: the warnings are not cut", name)
		}
	}
}

// TestCheck_finds_out runs the script of the reports as a person would.
func TestCheck_finds_out(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		// sent is what the receipt says was sent; the commit holds "prompt\n".
		sent string
		want string
	}{
		"same":          {".agent/review.md", "prompt\n", "the prompt is "},
		"odd_name":      {"a 'b' $(touch x) \"c\" é.md", "prompt\n", "the prompt is "},
		"other_prompt":  {".agent/review.md", "prompt\r\n", "NOT THE SAME: "},
		"not_committed": {"elsewhere.md", "prompt\n", "NOT THE SAME: "},
		"inline":        {"", "prompt\n", "the prompt is "},
		"inline_other":  {"", "another", "NOT THE SAME: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := live(t)
			r.PromptPath, r.PromptSHA = receipt.Text(c.path), receipt.Digest(digest.Of([]byte(c.sent)))
			path := c.path
			if path == "" || name == "not_committed" {
				path = ".recibo/prompt.resolved.md"
			}
			r.GitSHA = commit(t, dir, path)
			usage := "my usage.json"
			if _, err := receipt.Write(filepath.Join(dir, usage), r); err != nil {
				t.Fatal(err)
			}
			script := Options{UsageFile: usage}.check(r)
			if got, want := len(script), 3; got != want {
				t.Fatalf("%d lines, want %d", got, want)
			}
			out := run(t, dir, "sh", "-c", strings.Join(script, "\n"))
			if !strings.Contains(out, c.want) {
				t.Errorf("got %q, want %q in it", out, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
				t.Error("the path was taken for a command")
			}
		})
	}
}

// commit makes a repository in dir whose only commit holds "prompt\n" at path.
func commit(t *testing.T, dir, path string) receipt.Text {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, path), []byte("prompt\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "git", "init", "--quiet")
	run(t, dir, "git", "add", "--all")
	run(t, dir, "git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "a")
	return receipt.Text(strings.TrimSpace(run(t, dir, "git", "rev-parse", "HEAD")))
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestCheck_is_left_out(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*receipt.Receipt){
		"no_prompt":       func(r *receipt.Receipt) { r.PromptSHA = receipt.Digest{} },
		"no_place":        func(r *receipt.Receipt) { r.PromptPath, r.Prompt.SavedPath = "", "" },
		"hidden_in_path":  func(r *receipt.Receipt) { r.PromptPath = "a\u202Eb" },
		"newline_in_path": func(r *receipt.Receipt) { r.PromptPath = "a\nb" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := live(t)
			change(r)
			if got := (Options{UsageFile: "usage.json"}).check(r); got != nil {
				t.Errorf("got %q, want none", got)
			}
		})
	}
}

func TestPermalink(t *testing.T) {
	t.Parallel()
	good := review.Finding{Path: "a b/c#d.go", StartLine: 3, EndLine: 3, Side: "RIGHT", Location: review.Location{State: review.LocationOK}}
	for name, c := range map[string]struct {
		change func(*receipt.Receipt, *review.Finding)
		want   string
	}{
		"line":      {func(*receipt.Receipt, *review.Finding) {}, "https://github.com/o/r/blob/H/a%20b/c%23d.go#L3"},
		"lines":     {func(_ *receipt.Receipt, f *review.Finding) { f.EndLine = 5 }, "https://github.com/o/r/blob/H/a%20b/c%23d.go#L3-L5"},
		"left":      {func(_ *receipt.Receipt, f *review.Finding) { f.Side = "LEFT" }, "https://github.com/o/r/blob/M/a%20b/c%23d.go#L3"},
		"port":      {func(r *receipt.Receipt, _ *review.Finding) { r.Run.Server = "http://127.0.0.1:8080/" }, "http://127.0.0.1:8080/o/r/blob/H/a%20b/c%23d.go#L3"},
		"no_place":  {func(_ *receipt.Receipt, f *review.Finding) { f.Location.State = review.LocationPastEnd }, ""},
		"no_server": {func(r *receipt.Receipt, _ *review.Finding) { r.Run.Server = "" }, ""},
		"script":    {func(r *receipt.Receipt, _ *review.Finding) { r.Run.Server = "javascript://github.com/%0aalert(1)" }, ""},
		"odd_host":  {func(r *receipt.Receipt, _ *review.Finding) { r.Run.Server = "https://a);b" }, ""},
		"user":      {func(r *receipt.Receipt, _ *review.Finding) { r.Run.Server = "https://u:p@github.com" }, "https://github.com/o/r/blob/H/a%20b/c%23d.go#L3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &receipt.Receipt{HeadSHA: "H", MergeBase: "M", Run: receipt.Run{Server: "https://github.com", Repository: "o/r"}}
			f := good
			c.change(r, &f)
			if got := permalink(r, f); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
