package artifact

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const (
	// secretMin is the length from which a value is looked for: shorter ones are found by chance.
	secretMin = 4
	// foreignMax bounds how many bytes of the other side's words are repeated.
	foreignMax = 300
)

// signature finds the one part of a shared access signature that must stay secret.
var signature = regexp.MustCompile(`(?i)\bsig(=|%3D)[^&\s"'<>]*`)

// scrub takes the token, and the signature of address to, out of a text that others made.
func (s *Service) scrub(text string, to *url.URL) string {
	for _, secret := range append(signaturesOf(to), s.token()) {
		if len(secret) >= secretMin {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return signature.ReplaceAllString(text, "sig=***")
}

// foreign quotes the other side's words, so that they are one line of bounded length.
func (s *Service) foreign(text string, to *url.URL) string {
	if text == "" {
		return ""
	}
	text = s.scrub(text, to)
	if len(text) > foreignMax {
		text = text[:foreignMax]
	}
	return strconv.Quote(text)
}

// signaturesOf are the forms in which the signature of an address may turn up: as it stands, and
// unescaped. A query that cannot be read is a secret as a whole.
func signaturesOf(to *url.URL) []string {
	var out []string
	for pair := range strings.SplitSeq(to.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.EqualFold(name, "sig") || value == "" {
			continue
		}
		out = append(out, value)
		if plain, err := url.QueryUnescape(value); err == nil && plain != value {
			out = append(out, plain)
		}
	}
	return out
}
