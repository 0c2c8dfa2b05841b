package effect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/digest"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := Anchor{Path: "store.go", Side: diff.Right, Category: "error handling", Code: "\tif err != nil {\n\t\treturn nil\n\t}\n"}
	first := Fingerprints("recibo", []Anchor{base})[0]
	for name, tt := range map[string]struct {
		name   string
		change func(*Anchor)
		same   bool
	}{
		"category_spelled_otherwise": {"recibo", func(a *Anchor) { a.Category = "Error-Handling" }, true},
		"indented":                   {"recibo", func(a *Anchor) { a.Code = "if  err != nil {\n return nil }" }, true},
		"range_grows":                {"recibo", func(a *Anchor) { a.Code += "more()\n" }, true},
		"starts_at_a_brace":          {"recibo", func(a *Anchor) { a.Code = "}\r\n\r\n" + a.Code }, true},
		"other_name":                 {"security", func(*Anchor) {}, false},
		"other_path":                 {"recibo", func(a *Anchor) { a.Path = "cache.go" }, false},
		"other_side":                 {"recibo", func(a *Anchor) { a.Side = diff.Left }, false},
		"other_category":             {"recibo", func(a *Anchor) { a.Category = "security" }, false},
		"other_code":                 {"recibo", func(a *Anchor) { a.Code = "if err == nil {" }, false},
		"moved_boundary":             {"recibo", func(a *Anchor) { a.Path, a.Category = "store.goRIGHT", "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := base
			tt.change(&a)
			if got := Fingerprints(tt.name, []Anchor{a})[0]; (got == first) != tt.same {
				t.Errorf("the fingerprint of %+v is the same: %v, want %v", a, got == first, tt.same)
			}
		})
	}
	twins := Fingerprints("recibo", []Anchor{base, {Path: "x"}, base})
	if twins[0] != first || twins[2] == first || twins[2].IsZero() {
		t.Errorf("two findings that agree have the fingerprints %s and %s", twins[0], twins[2])
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	a, b, c := at("store.go", 11, 11), at("store.go", 12, 12), at("other.go", 1, 1)
	gone := Standing{ID: 3, Fingerprint: digest.Of([]byte("gone")), Replied: true}
	got := mustPlan(t, input(a, b, c)).Reconcile([]Standing{{ID: 1, Fingerprint: b.Fingerprint}, {ID: 2, Fingerprint: b.Fingerprint}, gone})
	want := Delta{New: []int{0, 2}, Standing: []int{1}, Gone: []Standing{gone}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Reconcile() (-want +got):\n%s", d)
	}
}
