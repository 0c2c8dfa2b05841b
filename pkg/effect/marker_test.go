package effect

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/digest"
)

func marker() Marker {
	return Marker{Name: "recibo", Run: math.MaxInt64, Attempt: 3, Head: head, Digest: digest.Of([]byte("x")), Inline: 40, Base: 9_007_199_254_740_993}
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
	f := FindingMarker{Gone: true, Name: "recibo", Fingerprint: digest.Of([]byte("x"))}
	if got, ok := ParseFindingMarker("text\n\n" + f.String() + "\n"); !ok || got != f {
		t.Errorf("ParseFindingMarker() = %+v, %v; want %+v", got, ok, f)
	}
}

func TestWhatIsNoMarker(t *testing.T) {
	t.Parallel()
	m := marker().String()
	finding := FindingMarker{Name: "recibo", Fingerprint: digest.Of([]byte("x"))}.String()
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

func TestTold(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, input(at("store.go", 11, 11), at("store.go", 12, 12), at("store.go", 13, 13)))
	body, _ := p.Body(Outcome{Inline: []int{0, 2}})
	want := []string{Short(p.in.Findings[0].Fingerprint), Short(p.in.Findings[2].Fingerprint)}
	for name, tt := range map[string]struct {
		body string
		want []string
	}{
		"told":       {body, want},
		"line_ends":  {strings.ReplaceAll(body, "\n", "\r\n") + "\r\n", want},
		"no_marker":  {body[:strings.LastIndex(body, "\n")], nil},
		"elsewhere":  {strings.Replace(body, "\n\n<!-- recibo review", "\n\ntext\n\n<!-- recibo review", 1), nil},
		"not_hex":    {strings.Replace(body, want[0], "xxxxxxxxxxxxxxxx", 1), nil},
		"no_comment": {marker().String(), nil},
	} {
		if d := cmp.Diff(tt.want, ParseTold(tt.body)); d != "" {
			t.Errorf("%s: ParseTold() (-want +got):\n%s", name, d)
		}
	}
}

func FuzzParseMarker(f *testing.F) {
	f.Add(marker().String())
	f.Add("text\n\n" + FindingMarker{Name: "recibo"}.String())
	f.Add("<!-- recibo review 1 name= run=0 -->")
	f.Fuzz(func(t *testing.T, body string) {
		last := strings.TrimRight(body, " \t\r\n")
		if m, ok := ParseMarker(body); ok && !strings.HasSuffix(last, m.String()) {
			t.Errorf("ParseMarker(%q) = %+v, which prints otherwise", body, m)
		}
		if told := ParseTold(body); told != nil && !strings.Contains(body, strings.Join(told, " ")) {
			t.Errorf("ParseTold(%q) = %q", body, told)
		}
		if m, ok := ParseFindingMarker(body); ok && !strings.HasSuffix(last, m.String()) {
			t.Errorf("ParseFindingMarker(%q) = %+v, which prints otherwise", body, m)
		}
	})
}
