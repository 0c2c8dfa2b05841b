package artifact

import (
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "recibo-review-1", "ünïcode ✓ (1)", "a.b", "...", strings.Repeat("a", nameMax)} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	bad := []string{"", ".", "..", "\xff", "a\x00", "a\x7f", strings.Repeat("a", nameMax+1)}
	for _, c := range "\":<>|*?\\/\r\n" {
		bad = append(bad, "a"+string(c)+"b")
	}
	for _, name := range bad {
		err := CheckName(name)
		if fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" {
			t.Errorf("%q: got %v, want a refusal with a hint", name, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%q: the error has more than one line", name)
		}
	}
}

func TestCheckFileName(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"usage.json", ".recibo/review.json", "a/b/c"} {
		if err := checkFileName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "./a", `a\b`, "a:b", "a\nb", "\xff", strings.Repeat("a", nameMax+1)} {
		if err := checkFileName(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestSuffixedNamesFit(t *testing.T) {
	t.Parallel()
	if got := suffixed("a", 1) + " " + suffixed("a", 2); got != "a a-2" {
		t.Errorf("got %q", got)
	}
	if n := len(suffixed(strings.Repeat("a", nameMax), suffixMax) + ".zip"); n > 255 {
		t.Errorf("the longest name has %d bytes, want at most 255", n)
	}
}
