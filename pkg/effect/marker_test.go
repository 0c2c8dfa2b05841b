package effect

import (
	"math"
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/digest"
)

func marker() Marker {
	return Marker{Name: "recibo", Run: math.MaxInt64, Attempt: 3, Head: head, Digest: digest.Of([]byte("x")), Inline: 40}
}

func TestMarkerComesBack(t *testing.T) {
	t.Parallel()
	probe := marker()
	probe.Probe, probe.Name = true, "a-b_c.D1"
	for _, m := range []Marker{marker(), probe, {Name: "x", Head: head}} {
		for _, around := range [][2]string{{"", ""}, {"text\n\n", ""}, {"text\r\n\r\n", "\r\n"}, {"", " \n\n"}} {
			if got, ok := ParseMarker(around[0] + m.String() + around[1]); !ok || got != m {
				t.Errorf("ParseMarker(%q around) = %+v, %v; want %+v", around, got, ok, m)
			}
		}
	}
	f := FindingMarker{"recibo", digest.Of([]byte("x"))}
	if got, ok := ParseFindingMarker("text\n\n" + f.String() + "\n"); !ok || got != f {
		t.Errorf("ParseFindingMarker() = %+v, %v; want %+v", got, ok, f)
	}
}

func TestWhatIsNoMarker(t *testing.T) {
	t.Parallel()
	m := marker().String()
	finding := FindingMarker{"recibo", digest.Of([]byte("x"))}.String()
	for name, body := range map[string]string{
		"empty":         "",
		"not_last":      m + "\ntext",
		"in_a_line":     "text " + m,
		"quoted":        "> " + m,
		"indented":      "\n " + m,
		"leading_zero":  strings.Replace(m, "attempt=3", "attempt=03", 1),
		"overflow":      strings.Replace(m, "run=9223372036854775807", "run=9223372036854775808", 1),
		"negative":      strings.Replace(m, "attempt=3", "attempt=-3", 1),
		"upper_case":    strings.Replace(m, head, strings.ToUpper(head), 1),
		"two_hyphens":   strings.Replace(m, "name=recibo", "name=a--b", 1),
		"name_ends":     strings.Replace(m, "name=recibo", "name=a-", 1),
		"long_name":     strings.Replace(m, "name=recibo", "name="+strings.Repeat("a", 65), 1),
		"other_version": strings.Replace(m, "review 1", "review 2", 1),
		"other_state":   strings.Replace(m, "whole", "half", 1),
		"cut":           m[:len(m)-1],
		"finding":       finding,
	} {
		if got, ok := ParseMarker(body); ok {
			t.Errorf("%s: ParseMarker(%q) = %+v", name, body, got)
		}
		if got, ok := ParseFindingMarker(body); ok != (name == "finding") {
			t.Errorf("%s: ParseFindingMarker(%q) = %+v, %v", name, body, got, ok)
		}
	}
}

func FuzzParseMarker(f *testing.F) {
	f.Add(marker().String())
	f.Add("text\n\n" + FindingMarker{"recibo", digest.SHA256{}}.String())
	f.Add("<!-- recibo review 1 name= run=0 -->")
	f.Fuzz(func(t *testing.T, body string) {
		last := strings.TrimRight(body, " \t\r\n")
		if m, ok := ParseMarker(body); ok && !strings.HasSuffix(last, m.String()) {
			t.Errorf("ParseMarker(%q) = %+v, which prints otherwise", body, m)
		}
		if m, ok := ParseFindingMarker(body); ok && !strings.HasSuffix(last, m.String()) {
			t.Errorf("ParseFindingMarker(%q) = %+v, which prints otherwise", body, m)
		}
	})
}
