package diff

import (
	"encoding/hex"
	"io"
	"strconv"
	"strings"
)

// The object names of an empty file, in SHA-1 and SHA-256 repositories. Only such a file is
// created or deleted without a line.
const (
	emptySHA1   = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	emptySHA256 = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
)

// header reads what stands between "diff --git" and the lines. The order is fixed in builtin_diff
// and fill_metainfo of git's diff.c: modes, similarity and names, object names.
type header struct {
	*parser
	File
	// names is the rest of the "diff --git" line.
	names string
}

func (h *header) read() error {
	h.Status = Modified
	for _, step := range []func() error{h.modes, h.similarity, h.path, h.index} {
		if err := step(); err != nil {
			return err
		}
	}
	changed := h.OldMode != h.NewMode && h.Status == Modified
	if h.ids == "" && !changed && h.Similarity != 100 {
		return h.missing("the line %q", "index ")
	}
	return nil
}

// content reports whether the sides differ in more than name and mode, so that lines must follow.
func (h *header) content() bool {
	if h.OldID() == h.NewID() {
		return false
	}
	id := h.NewID()
	switch h.Status {
	case Added:
	case Deleted:
		id = h.OldID()
	default:
		return true
	}
	return id != emptySHA1 && id != emptySHA256
}

func (h *header) modes() (err error) {
	switch {
	case h.has("old mode "):
		if h.OldMode, err = h.mode("old mode "); err != nil {
			return err
		}
		h.NewMode, err = h.mode("new mode ")
	case h.has("new file mode "):
		h.Status = Added
		h.NewMode, err = h.mode("new file mode ")
	case h.has("deleted file mode "):
		h.Status = Deleted
		h.OldMode, err = h.mode("deleted file mode ")
	}
	return err
}

func (h *header) mode(mark string) (Mode, error) {
	v, err := h.value(mark)
	if err != nil {
		return 0, err
	}
	return h.octal(v)
}

func (h *header) octal(v string) (Mode, error) {
	n, err := strconv.ParseUint(v, 8, 32)
	if err != nil || len(v) != 6 || n == 0 {
		return 0, h.failf("mode %.20q is not six octal digits", v)
	}
	return Mode(n), nil
}

func (h *header) similarity() error {
	if h.has("dissimilarity index ") {
		_, err := h.percent("dissimilarity index ")
		return err
	}
	if !h.has("similarity index ") {
		return nil
	}
	n, err := h.percent("similarity index ")
	if err != nil {
		return err
	}
	if h.Status != Modified {
		return h.failf("%s file has a similarity", h.Status)
	}
	h.Similarity = n
	verb := "rename"
	h.Status = Renamed
	if h.has("copy ") {
		verb = "copy"
		h.Status = Copied
	}
	if h.Old, err = h.quotedValue(verb + " from "); err != nil {
		return err
	}
	h.New, err = h.quotedValue(verb + " to ")
	return err
}

func (h *header) percent(mark string) (int, error) {
	v, err := h.value(mark)
	if err != nil {
		return 0, err
	}
	digits, ok := strings.CutSuffix(v, "%")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil || n > 100 {
		return 0, h.failf("similarity %.20q is not a percentage", v)
	}
	return int(n), nil
}

func (h *header) quotedValue(mark string) (string, error) {
	v, err := h.value(mark)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(v, `"`) {
		name, rest, err := unquote(v)
		if err != nil || rest != "" {
			return "", h.failf("name %.80q is not quoted as git quotes", v)
		}
		v = name
	}
	if v == "" {
		return "", h.failf("name behind %q is empty", mark)
	}
	return v, nil
}

// path takes the name from the "diff --git" line where it was not given otherwise, and checks it
// where it was.
func (h *header) path() error {
	if h.Status != Renamed && h.Status != Copied {
		name := sameName(h.names)
		h.Old, h.New = name, name
	}
	rest, ok := cutName(h.names, "a/"+h.Old)
	if ok {
		rest, ok = strings.CutPrefix(rest, " ")
	}
	if ok {
		rest, ok = cutName(rest, "b/"+h.New)
	}
	if !ok || rest != "" || h.Old == "" {
		return h.unnamed()
	}
	switch h.Status {
	case Added:
		h.Old = ""
	case Deleted:
		h.New = ""
	}
	return nil
}

// unnamed returns the error for names that cannot be told, unless the reason is that the lines
// which name a renamed file are cut off.
func (h *header) unnamed() error {
	e := h.failf("file names in %.160q cannot be told", "diff --git "+h.names)
	e.hint = "run git diff with --src-prefix=a/ --dst-prefix=b/"
	if _, err := h.peek(); err == io.EOF {
		return h.cut("a file header has no end")
	}
	if err := h.skip(); err != nil {
		return err
	}
	return e
}

// sameName returns the name that stands on a "diff --git" line twice, if that is what is there;
// the caller looks whether it is. Unquoted, both are of equal length, so that a name with " b/"
// inside is split rightly.
func sameName(names string) string {
	if strings.HasPrefix(names, `"`) {
		name, _, _ := unquote(names)
		return strings.TrimPrefix(name, "a/")
	}
	return strings.TrimPrefix(names[:len(names)/2], "a/")
}

// cutName cuts name, quoted or as it is, from the front of s.
func cutName(s, name string) (rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return strings.CutPrefix(s, name)
	}
	got, rest, err := unquote(s)
	return rest, err == nil && got == name
}

func (h *header) index() error {
	if !h.has("index ") {
		return nil
	}
	v, err := h.value("index ")
	if err != nil {
		return err
	}
	ids, mode, hasMode := strings.Cut(v, " ")
	if hasMode {
		m, err := h.octal(mode)
		if err != nil {
			return err
		}
		if h.OldMode|h.NewMode != 0 {
			return h.failf("modes of %q are given twice", h.Path())
		}
		h.OldMode, h.NewMode = m, m
	}
	before, after, _ := strings.Cut(ids, "..")
	raw, err := hex.DecodeString(before + after)
	if err != nil || len(before) != len(after) || len(raw) != 2*20 && len(raw) != 2*32 {
		e := h.failf("object names %.140q are not whole", ids)
		e.hint = "run git diff with --full-index"
		return e
	}
	h.ids = string(raw)
	absent := strings.Repeat("0", len(before))
	if (before == absent) != (h.Status == Added) || (after == absent) != (h.Status == Deleted) {
		return h.failf("object names %.140q do not fit: %q is %s", ids, h.Path(), h.Status)
	}
	return nil
}
