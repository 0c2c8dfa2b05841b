package report

import (
	"slices"
	"strings"
)

// Policy says what Inert leaves alive.
type Policy struct {
	// Hosts are the hosts, with a port if it is not 443, that links over https may lead to, in
	// lower case. Links to others are shown, but cannot be followed by a click.
	Hosts []string
	// Line makes one line of the text, which can then stand in a heading, an item of a list or a
	// cell of a table.
	Line bool
}

// Inert returns foreign text as GitHub Flavored Markdown (github.github.com/gfm) that shows it and
// does nothing else: paragraphs, code, and links to the policy's hosts. Images, HTML, headings,
// lists, tables, quotes, definitions and footnotes appear as the characters they were written
// with. What would notify or command somebody (mentions, references to issues, with or without a
// closing keyword, slash commands) is put where GitHub does not look for it. Characters that
// cannot be seen are named. Nothing is left out.
//
// Without Policy.Line the result is a sequence of blocks without a newline at the end, to be put
// between blank lines, at the top level or, each line indented, in an item of a list.
func Inert(text string, p Policy) string {
	text = clean(text)
	if p.Line {
		return p.inline(strings.Join(strings.Fields(text), " "))
	}
	return p.blocks(strings.Split(text, "\n"))
}

func (p Policy) blocks(lines []string) string {
	var blocks, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			// A backslash breaks the line wherever the renderer would join it with the next.
			blocks = append(blocks, strings.Join(paragraph, "\\\n"))
			paragraph = nil
		}
	}
	for len(lines) > 0 {
		line := strings.TrimSpace(lines[0])
		if f, ok := parseFence(lines[0]); ok {
			end()
			var code []string
			code, lines = f.cut(lines[1:])
			blocks = append(blocks, f.print(code))
			continue
		}
		lines = lines[1:]
		if line == "" {
			end()
			continue
		}
		paragraph = append(paragraph, p.inline(line))
	}
	end()
	return strings.Join(blocks, "\n\n")
}

// fence is the line that opens a fenced code block.
type fence struct {
	mark     byte
	length   int
	indent   int
	language string
}

// parseFence reads an opening fence. Unlike the specification it takes one at any indentation:
// models put code into items of lists.
func parseFence(line string) (fence, bool) {
	rest := strings.TrimLeft(line, " \t")
	f := fence{indent: len(line) - len(rest)}
	if rest == "" || rest[0] != '`' && rest[0] != '~' {
		return f, false
	}
	f.mark = rest[0]
	info := strings.TrimLeft(rest, rest[:1])
	f.length = len(rest) - len(info)
	if f.length < 3 || f.mark == '`' && strings.Contains(info, "`") {
		return f, false
	}
	f.language, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(info)), " ")
	return f, true
}

// cut splits lines at the closing fence; without one everything is code.
func (f fence) cut(lines []string) (code, rest []string) {
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if len(line) >= f.length && strings.Trim(line, string(f.mark)) == "" {
			return lines[:i], lines[i+1:]
		}
	}
	return lines, nil
}

// print returns a fenced block that nothing in code can close.
func (f fence) print(code []string) string {
	mark := strings.Repeat("`", max(3, 1+longestRun(strings.Join(code, "\n"), '`')))
	lines := []string{mark + highlighted(f.language)}
	quoted := false
	for _, line := range code {
		line = f.dedent(line)
		lines = append(lines, line)
		quoted = quoted || isCommand(line)
	}
	lines = append(lines, mark)
	if !quoted {
		return strings.Join(lines, "\n")
	}
	// Bots read comments as text, whatever is code in it: no line may start with a command.
	return "> " + strings.Join(lines, "\n> ")
}

func (f fence) dedent(line string) string {
	for i := range f.indent {
		if i == len(line) || line[i] != ' ' && line[i] != '\t' {
			return line[i:]
		}
	}
	return line[min(f.indent, len(line)):]
}

// isCommand reports whether a bot could take line for a command to it: /word or @word.
func isCommand(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) > 1 && (line[0] == '/' || line[0] == '@') && isLetter(line[1])
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		run++
		if s[i] != c {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// highlighted returns the language of a code block if all that it does is to colour: GitHub draws
// mermaid, geojson, stl and math, and applies a suggestion at a click.
func highlighted(language string) string {
	languages := []string{
		"bash", "c", "c#", "c++", "console", "cpp", "csharp", "css", "diff", "dockerfile", "elixir",
		"erlang", "go", "golang", "graphql", "haskell", "hcl", "html", "ini", "java", "javascript",
		"js", "json", "jsx", "kotlin", "lua", "make", "makefile", "objc", "ocaml", "perl", "php",
		"proto", "python", "py", "r", "rb", "rs", "ruby", "rust", "scala", "sh", "shell", "sql",
		"swift", "terraform", "text", "toml", "ts", "tsx", "typescript", "xml", "yaml", "yml", "zig",
	}
	if slices.Contains(languages, language) {
		return language
	}
	return ""
}
