package git

import (
	"os"
	"testing"
)

// TestOwn takes the source away: history still works in the tree laid out.
func TestOwn(t *testing.T) {
	t.Parallel()
	c, fork := branched(t)
	shallow := c.at(c.dir + "-shallow")
	c.git("clone", "-q", "--depth=2", "--branch=topic", "file://"+c.dir, shallow.dir)
	for _, test := range []struct {
		name, log string
		from      checkout
		refs      map[string]string
	}{
		{"whole", "t2\nt1\nfork", c, map[string]string{"refs/recibo/base": "main", "refs/recibo/merge-base": fork}},
		{"shallow", "t2\nt1", shallow, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			from := test.from.copied(t)
			r := from.open()
			rev := map[string]string{"whole": "topic", "shallow": "HEAD"}[test.name]
			laid, err := r.LayOut(t.Context(), LayOut{Rev: rev, Dir: from.dir + "-laid", Refs: test.refs})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Own(t.Context(), &laid); err != nil || len(laid.Objects) != 0 {
				t.Fatalf("Own = %v, Objects %q, want none", err, laid.Objects)
			}
			if err := os.RemoveAll(from.dir); err != nil {
				t.Fatal(err)
			}
			at := from.at(laid.Dir)
			sameBytes(laid, at)
			if got := at.git("log", "--format=%s"); got != test.log {
				t.Errorf("log = %q, want %q", got, test.log)
			}
			if test.refs != nil {
				if got := at.git("merge-base", "refs/recibo/base", "HEAD"); got != fork {
					t.Errorf("merge base = %q, want %q", got, fork)
				}
			}
			if got := at.git("fsck", "--no-progress", "--no-dangling"); got != "" {
				t.Errorf("fsck = %q, want nothing", got)
			}
		})
	}
}
