package codex

import (
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// versionMax bounds a version in bytes: it becomes part of a path and of a URL.
const versionMax = 64

// ParseVersion returns s when it names exactly one release: MAJOR.MINOR.PATCH with an optional
// pre-release, as Semantic Versioning 2.0.0 (sections 2 and 9) writes them, without build
// metadata. Tags, ranges, a leading v, white space and a platform's package are refused, so that
// the words in a workflow say which Codex ran.
func ParseVersion(s string) (string, error) {
	core, pre, hasPre := strings.Cut(s, "-")
	numbers := strings.Split(core, ".")
	ok := len(s) <= versionMax && len(numbers) == 3
	for _, n := range numbers {
		ok = ok && isVersionNumber(n)
	}
	if hasPre {
		ok = ok && isPreRelease(pre)
	}
	if !ok {
		return "", fault.New(fault.Request,
			"name one release as MAJOR.MINOR.PATCH, such as "+Pinned()+", the one this recibo is made for",
			"codex-version %.80q is not an exact version", s)
	}
	return s, nil
}

// isVersionNumber accepts decimal digits without a leading zero.
func isVersionNumber(s string) bool {
	if s == "" || len(s) > 1 && s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// isPreRelease accepts dot-separated identifiers. The registry keeps each platform's programs as
// if they were a pre-release (0.171.0-linux-x64); that is a package of a release, not a release.
func isPreRelease(s string) bool {
	for id := range strings.SplitSeq(s, ".") {
		if !isPreReleaseID(id) {
			return false
		}
	}
	for _, os := range []string{"linux-", "darwin-", "win32-"} {
		if strings.HasPrefix(s, os) {
			return false
		}
	}
	return true
}

func isPreReleaseID(s string) bool {
	if s == "" {
		return false
	}
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return strings.Trim(s, "0123456789") != "" || isVersionNumber(s)
}
