package diff

import (
	"fmt"
	"strings"
)

// numbered returns lines from..to, each with its number, so that no two are alike.
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// oddNames are paths of any bytes that git allows.
func oddNames() []string {
	names := []string{
		"plain.txt", "a b/c d", " leading", "trailing ", "tab\tin", "new\nline", `quo"te`, `back\slash`, `ends\`,
		`\`, `"`, `""`, "\xff", "é", "e\u0301", "latin-\xe9 b/x", "x b/x", "x b/x b/x", "a/a", "b/b", "a/b/a b/a/b", "cr\r",
		"bell\a\b\v\f\x1b\x7f", " ", "  ", "b/ b/ ", "dev/null", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-", "--", "...",
		"diff --git a/x b/x", "rename from x", "index 0..1", "{old => new}", "x:12", "\t", "\t\t", "tail\t", "a\\tb", "a\\\tb",
		"'single'", "`tick`", "$(x)", "C:\\x", "con", "Binary files a", "日本/語 .txt", "\u202eabc", "\u200b", "\x01\x02\x03",
		strings.Repeat("deep/", 300) + "x", strings.Repeat("n", 3000), strings.Repeat("\xff", 2000),
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("names/%03d/", i) + n
	}
	return append(names, " top", "top ", "\xfe", `"top"`, "tab\ttop", "b")
}

// oddContents are pairs of contents of every kind of bytes and line ends.
func oddContents() map[string][2]string {
	long := strings.Repeat("x", 300_000)
	header := "- a/x\n-- a/x\n--- a/x\n+++ b/x\n++ b/x\n+ b/x\n@@ -1 +1 @@\n@@ -1,5 +1,5 @@ f\ndiff --git a/x b/x\nindex 0..1\n\\ No newline at end of file\n\\\nBinary files a/x and b/x differ\nGIT binary patch\n\n \n"
	return map[string][2]string{
		"crlf":              {"a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"},
		"crlf_to_lf":        {"a\r\nb\r\n\r\nc\r\n", "a\nb\n\nc\n"},
		"cr_only":           {"a\rb\rc", "a\rB\rc"},
		"cr_last":           {"a\nb\r", "a\nb\r\n"},
		"no_newline_both":   {numbered(1, 5) + "end", "new\n" + numbered(1, 5) + "end"},
		"no_newline_old":    {"a\nb", "a\nb\n"},
		"no_newline_new":    {"a\nb\n", "a\nb"},
		"no_newline_change": {"a\nb", "a\nc"},
		"no_newline_more":   {"a\nb", "a\nb\nc"},
		"no_newline_less":   {"a\nb\nc", "a\nb"},
		"latin_1":           {"caf\xe9\nb\n", "caf\xe9\nth\xe9\n"},
		"nul.text":          {"a\x00b\nc\n", "a\x00b\nd\n\x00\n"},
		"nul":               {"a\x00b\nc\n", "a\x00b\nd\n"},
		"utf16":             {"\xff\xfea\x00\n\x00", "\xff\xfeb\x00\n\x00"},
		"utf16.text":        {"\xff\xfea\x00\n\x00b\x00\n\x00", "\xff\xfea\x00\n\x00c\x00\n\x00"},
		"bom":               {"\ufeffa\n", "a\n"},
		"headers_removed":   {header, "x\n"},
		"headers_added":     {"x\n", header},
		"headers_context":   {header + "1\n" + header, header + "2\n" + header},
		"blank_context":     {"\n\n\na\n\n\n", "\n\n\nb\n\n\n"},
		"blank_only":        {"\n\n", "\n\n\n"},
		"one_blank":         {"\n", "\n\n"},
		"unicode_lines":     {"a\u2028b\u0085c\vd\fe\n", "a\u2028b\u0085c\vd\fE\n"},
		"long":              {"a\n" + long + "\nb\n", "a\n" + long + "y\nc\n"},
		"long_no_newline":   {long, long + long},
		"long_section":      {"func " + long + "\n" + numbered(1, 20), "func " + long + "\n" + numbered(1, 19) + "x\n"},
		"first":             {numbered(1, 30), "0\n" + numbered(1, 30)},
		"first_gone":        {numbered(1, 30), numbered(2, 30)},
		"last":              {numbered(1, 30), numbered(1, 30) + "31\n"},
		"last_gone":         {numbered(1, 30), numbered(1, 29)},
		"two_hunks_gap_6":   {"A\n" + numbered(1, 6) + "B\n", "a\n" + numbered(1, 6) + "b\n"},
		"two_hunks_gap_7":   {"A\n" + numbered(1, 7) + "B\n", "a\n" + numbered(1, 7) + "b\n"},
		"two_hunks_gap_8":   {"A\n" + numbered(1, 8) + "B\n", "a\n" + numbered(1, 8) + "b\n"},
		"many_hunks":        manyHunks(),
		"alternating":       {strings.Repeat("a\nb\n", 50), strings.Repeat("a\nc\n", 50)},
		"repeats":           {strings.Repeat("{\n}\n", 20), strings.Repeat("{\n}\n", 24)},
		"from_empty":        {"", "a\n"},
		"to_empty":          {"a\n", ""},
		"from_empty_bare":   {"", "a"},
		"to_empty_bare":     {"a", ""},
		"all_different":     {numbered(1, 10), numbered(20, 45)},
	}
}

func manyHunks() [2]string {
	var before, after strings.Builder
	for i := range 400 {
		fmt.Fprintf(&before, "line %d\n", i)
		switch {
		case i%40 == 10:
		case i%40 == 25:
			fmt.Fprintf(&after, "line %d\nmore\nand more\n", i)
		case i%40 == 39:
			fmt.Fprintf(&after, "other %d\n", i)
		default:
			fmt.Fprintf(&after, "line %d\n", i)
		}
	}
	return [2]string{before.String(), after.String()}
}

// corpus returns two trees whose diff has every kind of change. Names of objects have hex digits.
func corpus(hexDigits int) (base, head tree) {
	base, head = tree{}, tree{}
	both := func(path string, before, after entry) { base[path], head[path] = before, after }
	for i, n := range oddNames() {
		text := fmt.Sprintf("%d\n", i) + numbered(i*100, i*100+20)
		switch both(n, file(text), file(text+"more\n")); i % 6 {
		case 1:
			delete(base, n)
		case 2:
			delete(head, n)
		case 3:
			head[n] = entry{"100755", text}
		case 4:
			both(n, file(text+"\x00"), file("\x00"))
		case 5:
			delete(head, n)
			moved := n + " b/" + n[len(n)-1:]
			head[moved] = file(text + strings.Repeat("more\n", i%2+i%3))
		}
	}
	for name, c := range oddContents() {
		both("content/"+name, file(c[0]), file(c[1]))
		head["content-new/"+name] = file(c[1] + name)
		base["content-gone/"+name] = file(c[0] + name + "x")
	}
	kinds(both, base, head, hexDigits)
	return base, head
}

// kinds adds changes of mode, type and name.
func kinds(both func(string, entry, entry), base, head tree, hexDigits int) {
	id := func(c string) string { return strings.Repeat(c, hexDigits) }
	text := numbered(5000, 5040)
	both("mode/only", file(text), entry{"100755", text})
	both("mode/and_text", file(text), entry{"100755", text + "x\n"})
	both("mode/and_binary", file("\x00"), entry{"100755", "\x00\x01"})
	both("type/to_link", file("target\n"), entry{"120000", "target"})
	both("type/from_link", entry{"120000", "target"}, file("target\nx\n"))
	both("type/to_submodule", file(text), entry{"160000", id("a")})
	both("type/from_submodule", entry{"160000", id("a")}, file("was one\n"))
	both("type/binary_to_link", file("\x00\x01"), entry{"120000", "x"})
	both("type/empty_to_link", file(""), entry{"120000", "x y"})
	both("type/link_to_empty", entry{"120000", "x"}, file(""))
	both("type/link_to_submodule", entry{"120000", "x"}, entry{"160000", id("d")})
	both("link/changed", entry{"120000", "one"}, entry{"120000", "two\nlines"})
	both("submodule/changed", entry{"160000", id("a")}, entry{"160000", id("b")})
	head["submodule/new"] = entry{"160000", id("c")}
	base["submodule/gone"] = entry{"160000", id("c")}
	head["link/new"] = entry{"120000", "new"}
	base["link/gone"] = entry{"120000", "gone"}
	head["empty/new"], base["empty/gone"] = file(""), file("")
	both("empty/mode", file(""), entry{"100755", ""})
	head["binary/new"], base["binary/gone"] = file("\x00new"), file("\x00gone")
	both("binary/changed", file("\x00"+text), file("\x00"+text+"x"))
	base["rename/pure old"], head["rename/pure new"] = file("pure\n"+text), file("pure\n"+text)
	base["rename/edit"], head["rename/edit\xff b/to"] = file("edit\n"+text), file("edit\n"+text+"more\n")
	base["rename/mode"], head["rename/mode2"] = file("mode\n"+text), entry{"100755", "mode\n" + text}
	base["rename/binary"], head["rename/binary2"] = file("\x00"+numbered(1, 90)), file("\x00"+numbered(1, 91))
	base["rename/link"], head["rename/link2"] = entry{"120000", "moved target"}, entry{"120000", "moved target"}
	both("swap/one", file("one\n"+numbered(6000, 6050)), file("two\n"+numbered(7000, 7050)+"x\n"))
	both("swap/two", file("two\n"+numbered(7000, 7050)), file("one\n"+numbered(6000, 6050)))
	both("copy/changed", file("copy\n"+numbered(8000, 8050)), file("copy\n"+numbered(8000, 8050)+"y\n"))
	head["copy/of_changed"] = file("copy\n" + numbered(8000, 8050) + "z\n")
	both("copy/same", file(numbered(9000, 9050)), file(numbered(9000, 9050)))
	head["copy/of_same"] = file(numbered(9000, 9050))
	head["copy/of \"same\""] = file("0\n" + numbered(9000, 9049))
	base["dir"], head["dir/below"] = file("was a file\n"), file("now below\n")
	both("rewritten", file(numbered(1, 200)), file(numbered(10_000, 10_300)))
}
