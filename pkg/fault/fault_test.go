package fault

import (
	"errors"
	"fmt"
	"testing"
)

type ground struct{}

func (ground) Error() string { return "no merge base" }
func (ground) Hint() string  { return "fetch-depth: 0" }

func TestKindAndHintSurviveWrapping(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	tests := map[string]struct {
		err  error
		kind Kind
		hint string
	}{
		"plain":     {cause, 0, ""},
		"fault":     {New(Request, "do this", "read %q: %w", "x", cause), Request, "do this"},
		"wrapped":   {fmt.Errorf("around: %w", New(Remote, "again", "x")), Remote, "again"},
		"joined":    {errors.Join(cause, New(Budget, "less", "x")), Budget, "less"},
		"ground":    {fmt.Errorf("around: %w", ground{}), 0, "fetch-depth: 0"},
		"no_hint":   {New(Review, "", "x: %w", ground{}), Review, "fetch-depth: 0"},
		"outermost": {New(Gate, "outer", "x: %w", New(Review, "inner", "y")), Gate, "outer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := KindOf(tt.err); got != tt.kind {
				t.Errorf("KindOf(%v) = %d, want %d", tt.err, got, tt.kind)
			}
			if got := HintOf(tt.err); got != tt.hint {
				t.Errorf("HintOf(%v) = %q, want %q", tt.err, got, tt.hint)
			}
		})
	}
	if err := tests["fault"].err; err.Error() != `read "x": cause` || !errors.Is(err, cause) {
		t.Errorf("error %q does not keep its cause", err)
	}
}
