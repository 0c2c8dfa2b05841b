package artifact

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recibo-ci/recibo/pkg/fault"
)

const (
	// nameMax leaves room for a suffix and for .zip in a file name of 255 bytes. GitHub's own
	// limit is not published.
	nameMax = 240
	// forbidden are the characters that the service refuses in names of artifacts and, but for the
	// slash, of the files in them: some file systems cannot hold them (actions/toolkit,
	// path-and-artifact-name-validation).
	forbidden = `":<>|*?\`
	// suffixMax is how many names are tried, the first without a suffix.
	suffixMax = 20
)

// CheckName says whether an artifact can have this name, before anything is spent. The error is a
// fault.Request.
func CheckName(name string) error {
	refuse := func(why string) error {
		return fault.New(fault.Request, "choose a name of letters, digits, - and _", "name artifact %q: %s", name, why)
	}
	switch {
	case name == "":
		return refuse("it is empty")
	case len(name) > nameMax:
		return refuse(fmt.Sprintf("it is over %d bytes", nameMax))
	case name == "." || name == "..":
		return refuse("it is a directory's")
	}
	if why := misfit(name, forbidden+"/"); why != "" {
		return refuse(why)
	}
	return nil
}

// checkFileName says whether a file in an artifact can have this name: relative, with slashes.
func checkFileName(name string) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("name file %q in an artifact: it is not a relative path", name)
	}
	if len(name) > nameMax {
		return fmt.Errorf("name file %q in an artifact: it is over %d bytes", name, nameMax)
	}
	if why := misfit(name, forbidden); why != "" {
		return fmt.Errorf("name file %q in an artifact: %s", name, why)
	}
	return nil
}

func misfit(name, chars string) string {
	if !utf8.ValidString(name) {
		return "it is not UTF-8"
	}
	if i := strings.IndexFunc(name, unicode.IsControl); i >= 0 {
		return "it holds a control character"
	}
	if i := strings.IndexAny(name, chars); i >= 0 {
		return fmt.Sprintf("it holds %q", name[i])
	}
	return ""
}

// suffixed is the n-th name to try, from 1: NAME, NAME-2, NAME-3.
func suffixed(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}
