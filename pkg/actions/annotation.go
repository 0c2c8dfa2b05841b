package actions

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"
)

// Level is how much an annotation matters.
type Level int

// The levels that the runner knows, by its own names.
const (
	Notice Level = iota
	Warning
	Error
)

// String returns the runner's name of the level.
func (v Level) String() string { return [...]string{"notice", "warning", "error"}[v] }

func (v Level) colour() string { return [...]string{cyan, yellow, red}[v] }

const (
	// AnnotationLimit is how many annotations of one level a step may make; the runner drops
	// those that follow.
	AnnotationLimit = 10
	// annotationMax is how many UTF-16 code units of a message the runner keeps.
	annotationMax = 4096
	// titleMax is how many characters of a title GitHub takes.
	titleMax = 255
)

// Annotation is a message that is shown on the run, and beside a line of a file if Path is set.
type Annotation struct {
	Message, Title string
	// Path is relative to the root of the repository.
	Path string
	// StartLine and EndLine count from 1; 0 is no line.
	StartLine, EndLine int
}

type annotationCount struct{ shown, plain int }

// Annotate prints a as an annotation of level v. A message that is too long is cut, and says how
// much of it. Beyond AnnotationLimit of a level, and where there is no runner, it is a line of text.
func (l *Log) Annotate(v Level, a Annotation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.actions {
		l.write(l.paint(v.colour(), v.String()+":") + " " + a.text() + "\n")
		return
	}
	if l.counts[v].shown == AnnotationLimit {
		l.counts[v].plain++
		l.write(v.String() + ": " + a.text() + "\n")
		return
	}
	l.counts[v].shown++
	l.command(githubactions.Command{
		Name:       v.String(),
		Message:    fitMessage(Defuse(a.Message)),
		Properties: a.properties(),
	})
}

// Notice annotates the run with text.
func (l *Log) Notice(text string) { l.Annotate(Notice, Annotation{Message: text}) }

// Warning annotates the run with text.
func (l *Log) Warning(text string) { l.Annotate(Warning, Annotation{Message: text}) }

// Error annotates the run with text.
func (l *Log) Error(text string) { l.Annotate(Error, Annotation{Message: text}) }

// Annotated returns how many annotations of level v were made, and how many became plain lines
// because of AnnotationLimit.
func (l *Log) Annotated(v Level) (shown, plain int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[v].shown, l.counts[v].plain
}

func (a Annotation) properties() githubactions.CommandProperties {
	p := githubactions.CommandProperties{}
	if a.Title != "" {
		title := []rune(oneLine(a.Title))
		if len(title) > titleMax {
			title = append(title[:titleMax-1], '…')
		}
		p["title"] = string(title)
	}
	if a.Path == "" {
		return p
	}
	p["file"] = oneLine(a.Path)
	if a.StartLine > 0 {
		p["line"] = strconv.Itoa(a.StartLine)
	}
	if a.EndLine > 0 {
		p["endLine"] = strconv.Itoa(a.EndLine)
	}
	return p
}

// text returns "path:line: title: message" as far as there is one.
func (a Annotation) text() string {
	var b strings.Builder
	if a.Path != "" {
		b.WriteString(oneLine(a.Path))
		if a.StartLine > 0 {
			fmt.Fprintf(&b, ":%d", a.StartLine)
		}
		b.WriteString(": ")
	}
	if a.Title != "" {
		b.WriteString(oneLine(a.Title) + ": ")
	}
	b.WriteString(Defuse(a.Message))
	return b.String()
}

// fitMessage cuts what the runner would cut, and says so.
func fitMessage(s string) string {
	if utf16Len(s) <= annotationMax {
		return s
	}
	const noteMax = 64
	units, cut := 0, 0
	for i, r := range s {
		n := utf16Len(string(r))
		if units+n > annotationMax-noteMax {
			cut = i
			break
		}
		units += n
	}
	return fmt.Sprintf("%s… (%d more bytes are left out here)", s[:cut], len(s)-cut)
}
