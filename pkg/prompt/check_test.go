package prompt_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/prompt"
)

func utf16Bytes(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

func utf32Bytes(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, r := range text {
		b = order.AppendUint32(b, uint32(r))
	}
	return string(b)
}

func TestCheckAllows(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"one_character":            "x",
		"crlf_and_trailing_lines":  "\r\n a \r\n\r\n",
		"nul":                      "a\x00b",
		"nul_alone":                "\x00\x00\x00\x00\x00\x00\x00\x00",
		"nul_records":              "key\x00val\x00",
		"nul_at_odd_places_only":   "one two\x00three four five\x00six",
		"mark_in_the_middle":       "a\uFEFFb",
		"replacement_character":    "\uFFFD",
		"lines_of_one_character":   "a\nb\nc\nd\n",
		"highest_character":        "\U0010FFFF",
		"emoji":                    "👩‍💻",
		"exactly_full":             strings.Repeat("x", 80_000),
		"exactly_full_four_bytes":  strings.Repeat("𝄞", 80_000),
		"chinese":                  "检查并发错误",
		"dollar_name_and_template": "{{.PR.Number}} $skill ${{ x }}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := prompt.Check([]byte(text)); err != nil {
				t.Errorf("Check: got %v, want it allowed", err)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	little, big := binary.LittleEndian, binary.BigEndian
	for name, c := range map[string]struct{ text, err string }{
		"empty":               {"", "empty or white space"},
		"white_space":         {" \r\n\t\v\f\u0085\u2028\u3000", "empty or white space"},
		"mark":                {"\uFEFFhello", "byte-order mark"},
		"mark_alone":          {"\uFEFF", "byte-order mark"},
		"utf16_little_mark":   {"\xff\xfe" + utf16Bytes(little, "hi"), "UTF-16 (little-endian)"},
		"utf16_big_mark":      {"\xfe\xff" + utf16Bytes(big, "hi"), "UTF-16 (big-endian)"},
		"utf16_little":        {utf16Bytes(little, "Look for bugs.\n"), "UTF-16 (little-endian, no byte-order mark)"},
		"utf16_big":           {utf16Bytes(big, "Look for bugs.\n"), "UTF-16 (big-endian, no byte-order mark)"},
		"utf16_cyrillic":      {utf16Bytes(little, "Ищи ошибки."), "UTF-16 (little-endian, no byte-order mark)"},
		"utf16_greek_big":     {utf16Bytes(big, "Ψάξε για λάθη"), "UTF-16 (big-endian, no byte-order mark)"},
		"utf32_little_mark":   {"\xff\xfe\x00\x00" + utf32Bytes(little, "hi"), "UTF-32 (little-endian)"},
		"utf32_big_mark":      {"\x00\x00\xfe\xff" + utf32Bytes(big, "hi"), "UTF-32 (big-endian)"},
		"utf32_little":        {utf32Bytes(little, "Look 😀"), "UTF-32 (little-endian, no byte-order mark)"},
		"utf32_big":           {utf32Bytes(big, "Look 😀"), "UTF-32 (big-endian, no byte-order mark)"},
		"latin1":              {"caf\xe9 ", "0xE9 at offset 3"},
		"cut_character":       {"abc\xe2\x82", "0xE2 at offset 3"},
		"overlong":            {"\xc0\xaf", "0xC0 at offset 0"},
		"surrogate":           {"a\xed\xa0\x80", "0xED at offset 1"},
		"beyond_unicode":      {"\xf4\x90\x80\x80", "0xF4 at offset 0"},
		"one_character_more":  {strings.Repeat("x", 80_001), "80001 characters"},
		"one_more_four_bytes": {strings.Repeat("𝄞", 80_001), "80001 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := prompt.Check([]byte(c.text))
			wantRefusal(t, err, c.err, " ")
		})
	}
}

// Whatever passes has every property that the receipt's digest rests on.
func FuzzPromptCheck(f *testing.F) {
	for _, seed := range []string{"", " ", "x", "\uFEFFx", "\xff\xfeh\x00", "h\x00i\x00", "h\x00\x00\x00i\x00\x00\x00", "a\x00b", "\xc3", "é"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		err := prompt.Check(b)
		if !bytes.Equal(before, b) {
			t.Fatal("Check changed the bytes")
		}
		if err != nil {
			if fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" {
				t.Fatalf("got %v, want a request fault with a hint", err)
			}
			return
		}
		switch {
		case !utf8.Valid(b):
			t.Fatal("invalid UTF-8 was allowed")
		case bytes.HasPrefix(b, []byte("\uFEFF")):
			t.Fatal("a byte-order mark was allowed")
		case len(bytes.TrimSpace(b)) == 0:
			t.Fatal("white space alone was allowed")
		case utf8.RuneCount(b) > prompt.MaxCharacters:
			t.Fatal("too long a prompt was allowed")
		}
	})
}
