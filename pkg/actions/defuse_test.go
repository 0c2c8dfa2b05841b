package actions

import (
	"strings"
	"testing"
)

// hostile are texts that would be commands, breaks or tricks if printed as they are.
var hostile = []string{
	"::set-output name=x::y",
	"  \t::error file=a.go,line=1::owned",
	"fine\n::add-path::/evil\nfine",
	"fine\r::add-mask::a\rfine",
	"\u00a0\u3000::error::x",
	"\u200b::error::x",
	":\u200b:error::x",
	":\u0301:error::x",
	"\ufeff::stop-commands::x",
	":\x1b[0m:error::x",
	"\x1b[31m::error::x",
	"\x1b\x1b[0m[31m::error::x",
	"\x1b]0;title\x07::error::x",
	"\u2028::error::x\u2029::error::y\u0085::error::z\v::a::\f::b::",
	"text ##[error]x",
	"#\x1b[0m#[group]x",
	"#\u00ad#\u200d[add-mask]x",
	"#é#ü[error]x",
	"####[[error]x",
	"##[stop-commands]x\n##[x]",
	"##\\[\x00##[a]",
	"\xff\xfe::error::x\xc3",
	"a\u202egro\u202c \U000e0041\U000e0042",
	"\u115f\u3164\uffa0::error::x",
	"::\n::\n::",
	":",
	"::",
	":::",
	"##[",
	"\r\r\n::error::x\r\n",
}

func TestDefuse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"plain":            {"a plain line, with :: and [x] and # and ##", "a plain line, with :: and [x] and # and ##"},
		"empty":            {"", ""},
		"lines_kept":       {"a\n\nb\n", "a\n\nb\n"},
		"crlf":             {"a\r\nb\r\n", "a\nb\n"},
		"tab":              {"\ta\tb", "\ta\tb"},
		"other_scripts":    {"naïve 日本語 é हिन्दी 🙂", "naïve 日本語 é हिन्दी 🙂"},
		"emoji_style":      {"⚠\ufe0f done", "⚠ done"},
		"colons":           {"::error::x", ":\\:error::x"},
		"colons_indented":  {" \t::error::x", " \t:\\:error::x"},
		"colons_each_line": {"a\n::b::\n ::c::", "a\n:\\:b::\n :\\:c::"},
		"colons_inside":    {"std::string ::x", "std::string ::x"},
		"brackets":         {"a ##[error]b ##[c]", `a ##\[error]b ##\[c]`},
		"brackets_more":    {"###[x]", `###\[x]`},
		"heading":          {"## [link](x)", "## [link](x)"},
		"colour":           {"\x1b[1;31mred\x1b[0m", "red"},
		"colour_between":   {"#\x1b[0m#[x]", `##\[x]`},
		"escape_other":     {"\x1b]0;t\a", "␛]0;t␇"},
		"escape_open":      {"\x1b[3", "␛[3"},
		"lone_cr":          {"10%\r20%\n", "10%␍20%\n"},
		"cr_at_end":        {"a\r", "a␍"},
		"nul_and_delete":   {"\x00\x7f", "␀␡"},
		"line_breaks":      {"a\u2028b\u2029c\u0085d\ve\ff", "a<U+2028>b<U+2029>c<U+0085>d␋e␌f"},
		"zero_width":       {"a\u200bb\u200d\ufeff\u00ad", "a<U+200B>b<U+200D><U+FEFF><U+00AD>"},
		"direction":        {"\u202ea\u2066", "<U+202E>a<U+2066>"},
		"tags":             {"a\U000e0041", "a<U+E0041>"},
		"fillers":          {"\u3164\u115f\u034f", "<U+3164><U+115F><U+034F>"},
		"not_utf8":         {"a\xffb\xc3", "a\ufffdb\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Defuse(tc.text)
			if got != tc.want {
				t.Errorf("Defuse(%q):\ngot  %q\nwant %q", tc.text, got, tc.want)
			}
			if why := danger(got); why != "" {
				t.Errorf("Defuse(%q) = %q: %s", tc.text, got, why)
			}
		})
	}
}

func TestDefuseHostile(t *testing.T) {
	t.Parallel()
	if len(hostile) < 30 {
		t.Fatalf("got %d hostile texts, want 30 or more", len(hostile))
	}
	for _, text := range hostile {
		if why := danger(Defuse(text)); why != "" {
			t.Errorf("Defuse(%q) = %q: %s", text, Defuse(text), why)
		}
	}
}

func FuzzDefuse(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Defuse(text)
		if why := danger(got); why != "" {
			t.Errorf("Defuse(%q) = %q: %s", text, got, why)
		}
		if again := Defuse(got); again != got {
			t.Errorf("Defuse(Defuse(%q)): got %q, want %q", text, again, got)
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("Defuse(%q) = %q: the number of lines changed", text, got)
		}
	})
}
