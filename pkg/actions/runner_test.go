package actions

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// The judges of this file read what we print and write as the runner does. They follow its
// ActionCommand, ActionCommandManager and EnvFileKeyValuePairs (actions/runner 2.336), and share
// nothing with the package.

// workflowCommand is what the runner takes from one line.
type workflowCommand struct {
	Name, Data string
	Properties map[string]string
}

// runnerLines splits as .NET's StreamReader.ReadLine does: at LF, CR LF and lone CR.
func runnerLines(out string) []string {
	out = strings.ReplaceAll(out, "\r\n", "\n")
	out = strings.ReplaceAll(out, "\r", "\n")
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

func parseColonForm(line string, known func(string) bool) (workflowCommand, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::")
	if !ok {
		return workflowCommand{}, false
	}
	info, data, ok := strings.Cut(rest, "::")
	if !ok {
		return workflowCommand{}, false
	}
	return parseInfo(info, ",", known, func(s string, property bool) string {
		s = strings.NewReplacer("%0D", "\r", "%0A", "\n").Replace(s)
		if property {
			s = strings.NewReplacer("%3A", ":", "%2C", ",").Replace(s)
		}
		return strings.ReplaceAll(s, "%25", "%")
	}, data)
}

func parseBracketForm(line string, known func(string) bool) (workflowCommand, bool) {
	_, rest, ok := strings.Cut(line, "##[")
	if !ok {
		return workflowCommand{}, false
	}
	info, data, ok := strings.Cut(rest, "]")
	if !ok {
		return workflowCommand{}, false
	}
	return parseInfo(info, ";", known, func(s string, _ bool) string {
		s = strings.NewReplacer("%3B", ";", "%0D", "\r", "%0A", "\n", "%5D", "]").Replace(s)
		return strings.ReplaceAll(s, "%25", "%")
	}, data)
}

func parseInfo(info, separator string, known func(string) bool, unescape func(string, bool) string, data string) (workflowCommand, bool) {
	name, properties, _ := strings.Cut(info, " ")
	if !known(name) {
		return workflowCommand{}, false
	}
	c := workflowCommand{Name: name, Data: unescape(data, false), Properties: map[string]string{}}
	for pair := range strings.SplitSeq(strings.TrimSpace(properties), separator) {
		if k, v, ok := strings.Cut(pair, "="); ok {
			c.Properties[k] = unescape(v, true)
		}
	}
	return c, true
}

// runnerLog is what a runner makes of a step's standard output.
type runnerLog struct {
	Commands []workflowCommand
	Plain    []string
	// Token is not "" while commands are stopped.
	Token string
}

func readLog(out string) runnerLog {
	var l runnerLog
	known := map[string]bool{}
	for name := range strings.FieldsSeq("stop-commands add-mask add-path set-env set-output save-state " +
		"add-matcher remove-matcher debug notice warning error group endgroup echo") {
		known[name] = true
	}
	isKnown := func(s string) bool { return known[strings.ToLower(s)] }
	for _, line := range runnerLines(out) {
		c, ok := parseColonForm(line, isKnown)
		if !ok {
			c, ok = parseBracketForm(line, isKnown)
		}
		switch {
		case !ok:
			l.Plain = append(l.Plain, line)
		case l.Token != "" && c.Name == l.Token:
			delete(known, l.Token)
			l.Token = ""
		case l.Token != "":
			l.Plain = append(l.Plain, line)
		case c.Name == "stop-commands":
			l.Token = c.Data
			known[c.Data] = true
		default:
			l.Commands = append(l.Commands, c)
		}
	}
	return l
}

// danger says why printing out would be dangerous, or "". It is stricter than any runner: every name
// is a command, every line break of Unicode ends a line, and everything above ASCII may be ignored
// when prefixes are compared, as .NET ignores some of it.
func danger(out string) string {
	if !utf8.ValidString(out) {
		return "invalid UTF-8"
	}
	for _, r := range out {
		if r != '\n' && r != '\t' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)) {
			return fmt.Sprintf("U+%04X", r)
		}
	}
	anyName := func(string) bool { return true }
	for line := range strings.SplitSeq(out, "\n") {
		ascii := strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf {
				return -1
			}
			return r
		}, line)
		for _, seen := range []string{line, ascii} {
			if _, ok := parseColonForm(seen, anyName); ok || strings.HasPrefix(strings.TrimSpace(seen), "::") {
				return fmt.Sprintf("colon form in %q", line)
			}
			if _, ok := parseBracketForm(seen, anyName); ok || strings.Contains(seen, "##[") {
				return fmt.Sprintf("bracket form in %q", line)
			}
		}
	}
	return ""
}

// readFileCommands reads a file of outputs: "name=value" and "name<<delimiter" entries, in order.
func readFileCommands(text string) ([]Output, error) {
	var outputs []Output
	rest := text
	next := func() (string, bool) {
		if rest == "" {
			return "", false
		}
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		return line, true
	}
	for {
		line, ok := next()
		if !ok {
			return outputs, nil
		}
		if line == "" {
			continue
		}
		equals, here := strings.Index(line, "="), strings.Index(line, "<<")
		switch {
		case equals >= 0 && (here < 0 || equals < here):
			outputs = append(outputs, Output{line[:equals], line[equals+1:]})
		case here > 0 && here+2 < len(line):
			var lines []string
			for {
				value, ok := next()
				if !ok {
					return outputs, errors.New("delimiter not found")
				}
				if value == line[here+2:] {
					break
				}
				lines = append(lines, value)
			}
			outputs = append(outputs, Output{line[:here], strings.Join(lines, "\n")})
		default:
			return outputs, fmt.Errorf("invalid format %q", line)
		}
	}
}

// TestJudges shows that the judges see what they are for.
func TestJudges(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"colons":            "::warning::x",
		"colons_indented":   " \t ::warning::x",
		"colons_second":     "ok\n::warning::x",
		"brackets":          "text ##[warning]x",
		"brackets_open":     "##[warning",
		"lone_cr":           "ok\r::warning::x",
		"line_separator":    "ok\u2028::warning::x",
		"ignored_in_colons": "\u00ad:\u200d:warning::x",
		"ignored_mark":      "#\u0489#[warning]x",
		"escape":            "\x1b[2K",
		"override":          "a\u202eb",
		"not_utf8":          "a\xffb",
	} {
		if got := danger(text); got == "" {
			t.Errorf("%s: danger(%q): got none, want a reason", name, text)
		}
	}
	for _, text := range []string{"", "plain", "a::b::c", "# [x]", "## [x]", "#[x]", ": :x", "日本語\tx"} {
		if got := danger(text); got != "" {
			t.Errorf("danger(%q): got %q, want none", text, got)
		}
	}
	got := readLog("::group::a\n::stop-commands::tok\n::error::no\n##[error]no\n::tok::\n##[add-mask]s\n")
	if len(got.Commands) != 2 || len(got.Plain) != 2 || got.Token != "" {
		t.Errorf("readLog: got %+v, want two commands, two plain lines, no token", got)
	}
}
