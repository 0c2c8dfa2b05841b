package diff

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
)

// generated is a diff of about n bytes and 46 bytes a line, in which every file has hunks of
// twelve lines: six of context, three removed, three added.
func generated(n int) []byte {
	var b bytes.Buffer
	b.Grow(n + 1<<16)
	const context, removed, added = " \treturn fmt.Errorf(\"open %%s: %%w\", name, err) \n", "-\tvar previous = values[index-%d].previous()\n", "+\tvar replaced = values[index+%d].replaced()\n"
	for file := 0; b.Len() < n; file++ {
		fmt.Fprintf(&b, "diff --git a/pkg/%d.go b/pkg/%d.go\nindex %s..%s 100644\n--- a/pkg/%d.go\n+++ b/pkg/%d.go\n", file, file, idA, idB, file, file)
		for line := 1; line < 40_000 && b.Len() < n; line += 40 {
			fmt.Fprintf(&b, "@@ -%d,9 +%d,9 @@ func (v *values) read(name string) error {\n", line, line)
			fmt.Fprintf(&b, context+context+context)
			fmt.Fprintf(&b, removed+removed+removed, line, line+1, line+2)
			fmt.Fprintf(&b, added+added+added, line, line+1, line+2)
			fmt.Fprintf(&b, context+context+context)
		}
	}
	return b.Bytes()
}

// worst is a diff of about n bytes with as many runs as lines.
func worst(n int) []byte {
	var b bytes.Buffer
	b.Grow(n + 1<<16)
	pairs := (n - 200) / 6
	fmt.Fprintf(&b, top+"@@ -1,%d +1,%d @@\n", pairs, pairs)
	for range pairs {
		b.WriteString("-a\n+b\n")
	}
	return b.Bytes()
}

// allocated returns the bytes that parsing text allocates in all, which is no less than it ever
// holds at once.
func allocated(tb testing.TB, text []byte) uint64 {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	files, err := Parse(bytes.NewReader(text))
	runtime.ReadMemStats(&after)
	if err != nil || len(files) == 0 {
		tb.Fatalf("got %d files and error %v", len(files), err)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// Not parallel: what other tests allocate would be counted.
func TestParseHoldsNoText(t *testing.T) {
	for name, tc := range map[string]struct {
		text []byte
		most uint64
	}{
		"many_lines":    {generated(46 << 20), 4 << 20},
		"one_long_line": {append([]byte(top+"@@ -0,0 +1 @@\n+"), append(bytes.Repeat([]byte("x"), 46<<20), '\n')...), 1 << 20},
	} {
		if got := allocated(t, tc.text); got > tc.most {
			t.Errorf("%s: parsing %d bytes allocates %d, want at most %d", name, len(tc.text), got, tc.most)
		}
	}
}

// A packed form longer than a piece is put together again.
func TestParseManyRuns(t *testing.T) {
	t.Parallel()
	text := worst(3 << 20)
	want := bytes.Count(text, []byte("\n-a\n"))
	f := mustParse(t, text)[0]
	added, removed := f.Numstat()
	if added != want || removed != want || len(f.hunks) < 4*pieceSize {
		t.Errorf("got %d added, %d removed in %d bytes, want %d in more than a piece", added, removed, len(f.hunks), want)
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string][]byte{"typical": generated(46 << 20), "worst": worst(46 << 20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportMetric(float64(bytes.Count(text, []byte("\n"))), "lines")
			for b.Loop() {
				if _, err := Parse(bytes.NewReader(text)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(peak(b, text))/(1<<20), "peak-MB")
		})
	}
}

// peak returns the most heap in use while text is parsed, beyond what was in use before.
func peak(b *testing.B, text []byte) uint64 {
	b.Helper()
	b.StopTimer()
	defer b.StartTimer()
	runtime.GC()
	w := &watch{r: bytes.NewReader(text)}
	base := w.heap()
	files, err := Parse(w)
	if err != nil || len(files) == 0 {
		b.Fatalf("got %d files and error %v", len(files), err)
	}
	return max(w.most, w.heap()) - base
}

// watch looks at the heap now and then while it is read.
type watch struct {
	r     io.Reader
	most  uint64
	reads int
}

func (w *watch) Read(p []byte) (int, error) {
	if w.reads++; w.reads%8 == 0 {
		w.most = max(w.most, w.heap())
	}
	return w.r.Read(p)
}

func (w *watch) heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
