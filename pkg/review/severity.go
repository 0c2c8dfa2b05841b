package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// Severities returns the severities from the lowest to the highest.
func Severities() []string { return []string{"info", "low", "medium", "high", "critical"} }

// ParseSeverity reads one of Severities, as an input gives it. The error is a fault.Request.
func ParseSeverity(text string) (string, error) {
	if slices.Contains(Severities(), text) {
		return text, nil
	}
	hint := "use one of " + strings.Join(Severities(), ", ")
	if near := nearest(strings.ToLower(text), Severities()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return "", fault.New(fault.Request, hint, "unknown severity %q", shorten(text, 40))
}

// Rank orders severities: 0 for info to 4 for critical. A finding without severity ranks as info,
// so that no limit on severity hides it and only the lowest gate stops at it.
func Rank(severity string) int { return max(0, slices.Index(Severities(), severity)) }

// AtLeast reports whether severity ranks as high as limit or higher.
func AtLeast(severity, limit string) bool { return Rank(severity) >= Rank(limit) }

// Highest returns the highest severity that any finding has, or "" when none has one.
func (r *Review) Highest() string {
	highest := -1
	for _, f := range r.Findings {
		highest = max(highest, slices.Index(Severities(), f.Severity))
	}
	if highest < 0 {
		return ""
	}
	return Severities()[highest]
}

// severityOf maps the priority of ShapeCodex, by what Codex's review prompt says of each: 0 drop
// everything, blocks release; 1 urgent, next cycle; 2 normal; 3 nice to have. Others have none.
func severityOf(priority int) string {
	switch priority {
	case 0:
		return "critical"
	case 1:
		return "high"
	case 2:
		return "medium"
	case 3:
		return "low"
	}
	return ""
}
