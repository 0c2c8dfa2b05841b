package actions

import (
	"bytes"
	"crypto/rand"
	"io"
	"strings"
	"testing"
)

// environ returns a getenv over the pairs key, value, key, value…
func environ(pairs ...string) func(string) string {
	env := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return func(key string) string { return env[key] }
}

func onRunner(w io.Writer) *Log {
	return NewLog(w, LogOptions{Getenv: environ("GITHUB_ACTIONS", "true"), Random: rand.Reader})
}

// unlimited is more than any test prints.
var unlimited = Limit{Lines: 1 << 20, Bytes: 1 << 30}

func TestUntrusted(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 3000)
	for name, tc := range map[string]struct {
		writes []string
		limit  Limit
		want   string
		left   Limit
	}{
		"lines":         {[]string{"a\nb\n"}, unlimited, "| a\n| b\n", Limit{}},
		"split_writes":  {[]string{"a", "b\nc", "\n", "d"}, unlimited, "| ab\n| c\n| d\n", Limit{}},
		"nothing":       {nil, unlimited, "", Limit{}},
		"empty_lines":   {[]string{"\n\n"}, unlimited, "| \n| \n", Limit{}},
		"crlf_split":    {[]string{"a\r", "\nb"}, unlimited, "| a\n| b\n", Limit{}},
		"command":       {[]string{"::err", "or::x\n##[a]"}, unlimited, "| :\\:error::x\n| ##\\[a]\n", Limit{}},
		"rune_split":    {[]string{"\xc3", "\xa9\n"}, unlimited, "| é\n", Limit{}},
		"too_many":      {[]string{"a\nb\nc\nd"}, Limit{2, 100}, "| a\n| b\n… left out here: 2 lines, 2 bytes\n", Limit{2, 2}},
		"too_long":      {[]string{"aaaa\nbbbbbbb\nc\n"}, Limit{10, 12}, "| aaaa\n… left out here: 2 lines, 8 bytes\n", Limit{2, 8}},
		"exact_bytes":   {[]string{"aaaa\n"}, Limit{1, 7}, "| aaaa\n", Limit{}},
		"none_allowed":  {[]string{"a\n"}, Limit{}, "… left out here: 1 lines, 1 bytes\n", Limit{1, 1}},
		"grown_by_form": {[]string{"\u200b\n"}, Limit{1, 7}, "… left out here: 1 lines, 3 bytes\n", Limit{1, 3}},
		"one_long_line": {[]string{long, "\nnext\n"}, unlimited,
			"| " + strings.Repeat("é", 2048) + "… (1904 more bytes)\n| next\n… left out here: 0 lines, 1904 bytes\n", Limit{0, 1904}},
		"cut_inside_rune": {[]string{"a" + long}, unlimited,
			"| a" + strings.Repeat("é", 2047) + "… (1906 more bytes)\n… left out here: 0 lines, 1906 bytes\n", Limit{0, 1906}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			u := onRunner(&out).Untrusted(tc.limit)
			for _, s := range tc.writes {
				if n, err := io.WriteString(u, s); n != len(s) || err != nil {
					t.Errorf("Write: got %d, %v, want %d and no error", n, err, len(s))
				}
			}
			if err := u.Close(); err != nil {
				t.Errorf("Close: got %v, want no error", err)
			}
			if out.String() != tc.want {
				t.Errorf("printed:\ngot  %q\nwant %q", out.String(), tc.want)
			}
			if u.LeftOut() != tc.left {
				t.Errorf("LeftOut: got %+v, want %+v", u.LeftOut(), tc.left)
			}
		})
	}
}

func FuzzUntrusted(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, i, 100, 1000)
	}
	f.Fuzz(func(t *testing.T, text string, at, lines, size int) {
		var out bytes.Buffer
		u := onRunner(&out).Untrusted(Limit{Lines: lines, Bytes: size})
		at = min(max(at, 0), len(text))
		io.WriteString(u, text[:at])
		io.WriteString(u, text[at:])
		printed := out.Len()
		u.Close()
		if why := danger(out.String()); why != "" {
			t.Errorf("%q printed as %q: %s", text, out.String(), why)
		}
		if got := readLog(out.String()); len(got.Commands) > 0 || got.Token != "" {
			t.Errorf("%q printed as %q: the runner reads %+v", text, out.String(), got)
		}
		if n := strings.Count(out.String(), "\n| "); n > max(lines, 0) || printed > max(size, 0) {
			t.Errorf("%q: got %d lines, %d bytes, want %d and %d at most", text, n, printed, lines, size)
		}
		all := strings.Count(text, "\n")
		if text != "" && !strings.HasSuffix(text, "\n") {
			all++
		}
		shown := strings.Count("\n"+out.String(), "\n"+untrustedMark)
		if shown+u.LeftOut().Lines != all {
			t.Errorf("%q: got %d lines shown and %d left out, want %d together", text, shown, u.LeftOut().Lines, all)
		}
	})
}
