package git

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitDir describes a git directory of our own making (gitrepository-layout(5)). Nothing of it is
// copied from a configuration that others wrote, except settings by name.
type gitDir struct {
	path     string
	workTree string // core.worktree, when the directory does not lie in its tree
	bare     bool
	format   string
	objects  string // a directory to borrow objects from; "" for one that has its own
	shallow  []byte
	head     string            // a commit id, or "ref: NAME"
	refs     map[string]string // names to ids
	refsOf   string            // a git directory to read refs from instead, through links
	settings []setting
	neutral  bool // no attribute of the tree changes bytes or diffs
}

// neutralAttributes undo, for every path, each attribute that changes bytes between blob and file
// or that hides a change from a diff: info/attributes has the last word (gitattributes(5)).
// working-tree-encoding can only be unspecified: git dies of it being set to false.
const neutralAttributes = "* -text !eol -ident -filter !working-tree-encoding !diff !merge !whitespace\n"

// baseSettings hold in every git directory made here.
func baseSettings() []setting {
	return []setting{
		{"core.logallrefupdates", "false"},
		{"core.hookspath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.untrackedcache", "false"},
		{"core.splitindex", "false"},
		{"core.attributesfile", os.DevNull},
		{"core.excludesfile", os.DevNull},
		{"core.protecthfs", "true"},
		{"core.protectntfs", "true"},
		{"core.quotepath", "true"},
		{"core.filemode", "true"},
		{"core.symlinks", "true"},
		{"core.autocrlf", "false"},
		{"core.safecrlf", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"protocol.allow", "never"},
		{"submodule.recurse", "false"},
	}
}

// make writes the directory, which must not exist yet.
func (d gitDir) make() error {
	if err := os.Mkdir(d.path, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"objects", "objects/info", "objects/pack", "info"} {
		if err := os.Mkdir(filepath.Join(d.path, name), 0o755); err != nil {
			return err
		}
	}
	if err := d.makeRefs(); err != nil {
		return err
	}
	files := map[string]string{"HEAD": d.head + "\n", "config": d.config()}
	if d.objects != "" {
		files["objects/info/alternates"] = quote(d.objects) + "\n"
	}
	if len(d.shallow) > 0 {
		files["shallow"] = string(d.shallow)
	}
	if d.neutral {
		files["info/attributes"] = neutralAttributes
	}
	return d.write(files)
}

func (d gitDir) write(files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(d.path, name), []byte(files[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// makeRefs writes refs, or links to another directory's, whatever their number.
func (d gitDir) makeRefs() error {
	if d.refsOf == "" {
		if err := os.Mkdir(filepath.Join(d.path, "refs"), 0o755); err != nil {
			return err
		}
		return d.write(map[string]string{"packed-refs": packedRefs(d.refs)})
	}
	for _, name := range []string{"refs", "packed-refs"} {
		// packed-refs may not be there yet: git takes such a link for no file.
		err := os.Symlink(filepath.Join(d.refsOf, name), filepath.Join(d.path, name))
		if err != nil {
			return err
		}
	}
	return nil
}

// packedRefs has no header line: that would promise sorting and peeling.
func packedRefs(refs map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&b, "%s %s\n", refs[name], name)
	}
	return b.String()
}

func (d gitDir) config() string {
	lines := []setting{{"core.repositoryformatversion", "0"}, {"core.bare", fmt.Sprint(d.bare)}}
	if d.format != "sha1" {
		lines[0].value = "1"
		lines = append(lines, setting{"extensions.objectformat", d.format})
	}
	if d.workTree != "" {
		lines = append(lines, setting{"core.worktree", d.workTree})
	}
	lines = append(append(lines, baseSettings()...), d.settings...)
	var b strings.Builder
	for _, s := range lines {
		section, name, _ := strings.Cut(s.key, ".")
		fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, name, quote(s.value))
	}
	return b.String()
}

// quote writes a value in double quotes as both config files and alternates files read it. What
// only one of them can hold is left as it is, and a newline, the one byte that matters to both,
// is "\n" in both.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// objectDirs lists dir and the directories it borrows from, which whoever reads it has to reach.
// git follows five levels; a list that another program made can be longer or run in circles.
func objectDirs(dir string) ([]string, error) {
	const most = 64
	dirs := []string{dir}
	for i := 0; i < len(dirs) && len(dirs) < most; i++ {
		text, err := readSmall(filepath.Join(dirs[i], "info", "alternates"), 1<<20)
		if err != nil {
			return nil, err
		}
		for _, next := range parseAlternates(text) {
			if !filepath.IsAbs(next) {
				next = filepath.Join(dirs[i], next)
			}
			if next = filepath.Clean(next); isDir(next) && !slices.Contains(dirs, next) {
				dirs = append(dirs, next)
			}
		}
	}
	return dirs, nil
}

func parseAlternates(text []byte) []string {
	var dirs []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, `"`) {
			line = unquote(line)
		}
		dirs = append(dirs, line)
	}
	return dirs
}

// unquote undoes git's C-style quoting of paths; text that is not quoted so comes back as it is.
func unquote(s string) string {
	body, ok := strings.CutPrefix(s, `"`)
	if body, ok2 := strings.CutSuffix(body, `"`); ok && ok2 {
		return unescape(body)
	}
	return s
}

func unescape(body string) string {
	plain := map[byte]byte{'a': 7, 'b': 8, 't': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, '"': '"', '\\': '\\'}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			continue
		}
		i++
		if c, ok := plain[body[i]]; ok {
			b.WriteByte(c)
			continue
		}
		octal := body[i:min(i+3, len(body))]
		var n int
		if _, err := fmt.Sscanf(octal, "%3o", &n); err == nil && len(octal) == 3 {
			b.WriteByte(byte(n))
			i += 2
		}
	}
	return b.String()
}
