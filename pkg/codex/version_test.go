package codex

import (
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"0.171.0", "1.0.0", "10.20.30", "0.128.0-alpha.1", "1.2.3-rc-1.x.0", "1.2.3--", "1.2.3-0a"} {
		if got, err := ParseVersion(v); err != nil || got != v {
			t.Errorf("ParseVersion(%q) = %q, %v; want it unchanged", v, got, err)
		}
	}
	bad := map[string]string{
		"empty": "", "blank": " ", "leading_space": " 0.171.0", "newline": "0.171.0\n", "tag": "latest", "v": "v1.2.3",
		"caret": "^0.171.0", "tilde": "~0.171.0", "range": ">=0.1.0", "x": "0.171.x", "star": "*", "two_numbers": "0.171",
		"four_numbers": "1.2.3.4", "leading_zero": "01.2.3", "build": "1.2.3+b", "empty_pre": "1.2.3-", "empty_pre_part": "1.2.3-a..b",
		"pre_leading_zero": "1.2.3-01", "platform": "0.171.0-linux-x64", "alias": "npm:x@1.2.3", "path": "1.2.3-../../x",
		"slash": "1.2.3-a/b", "negative": "-1.2.3", "other_digits": "٠.١.٢", "long": "1.2.3-" + strings.Repeat("a", 100),
		"two": "0.171.0 0.170.0", "url": "https://example.com/codex.tgz", "windows": "0.171.0-win32-x64",
	}
	for name, v := range bad {
		_, err := ParseVersion(v)
		if fault.KindOf(err) != fault.Request {
			t.Errorf("%s: ParseVersion(%q): error %v, want one of kind Request", name, v, err)
			continue
		}
		if hint := fault.HintOf(err); !strings.Contains(hint, Pinned()) {
			t.Errorf("%s: hint %q does not name the pinned version %s", name, hint, Pinned())
		}
		if len(err.Error()) > 400 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{"0.171.0", "1.2.3-alpha.1", "1.2.3-", "v1.2.3", "latest", "0.171.0-linux-x64", "1.2.3-a/../b", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseVersion(s)
		if err != nil {
			return
		}
		if got != s || len(s) > versionMax || strings.Trim(s, "0123456789.-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			t.Errorf("ParseVersion(%q) = %q: not fit for a path", s, got)
		}
		if strings.Contains(s, "..") || strings.Contains(s, partMark) || s[0] < '0' || s[0] > '9' {
			t.Errorf("ParseVersion accepts %q", s)
		}
	})
}
