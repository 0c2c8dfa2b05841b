package artifact

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestStagerCutsBlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		writes []string
		want   []string
	}{
		{"nothing", nil, nil},
		{"less_than_a_block", []string{"ab"}, []string{"ab"}},
		{"one_block", []string{"abcd"}, []string{"abcd"}},
		{"a_block_and_a_bit", []string{"abcde"}, []string{"abcd", "e"}},
		{"many_in_one", []string{"abcdefghij"}, []string{"abcd", "efgh", "ij"}},
		{"one_of_many", []string{"a", "", "bc", "de", "f", "g", "h"}, []string{"abcd", "efgh"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			st := newStager(4, func(b []byte) error { got = append(got, string(b)); return nil })
			for _, s := range tt.writes {
				if n, err := io.WriteString(st, s); n != len(s) || err != nil {
					t.Errorf("write %q: %d, %v", s, n, err)
				}
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

// While the first block is on its way, the writer gets one block further and no more: that is all
// that is ever held in memory.
func TestStagerHoldsTwoBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, taken := make(chan struct{}), 0
		st := newStager(4, func([]byte) error { <-release; return nil })
		finished := make(chan error)
		go func() {
			for range 100 {
				if _, err := st.Write([]byte("x")); err != nil {
					finished <- err
					return
				}
				taken++
			}
			finished <- st.Close()
		}()
		synctest.Wait()
		if taken > 8 || taken < 4 {
			t.Errorf("%d bytes were taken while the first block of 4 was on its way, want at most 8", taken)
		}
		close(release)
		if err := <-finished; err != nil || taken != 100 {
			t.Errorf("got %v after %d bytes", err, taken)
		}
	})
}

func TestStagerStopsAtAnError(t *testing.T) {
	t.Parallel()
	want := errors.New("no")
	for _, writes := range []int{1, 4, 5, 100} {
		calls := 0
		st := newStager(4, func([]byte) error { calls++; return want })
		var errs []error
		for range writes {
			_, err := st.Write([]byte("x"))
			errs = append(errs, err)
		}
		errs = append(errs, st.Close())
		if !slices.Contains(errs, want) || errs[len(errs)-1] != want || calls != 1 {
			t.Errorf("%d writes: got %v after %d blocks, want %v after one", writes, errs, calls, want)
		}
	}
}
