package identity

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// skillMax bounds what is read of one SKILL.md, in bytes.
const skillMax = 1 << 20

// Skill is a SKILL.md file that Codex would load when a prompt says `$name`.
type Skill struct {
	Path string
	SHA  digest.SHA256
	Size int64
	// Names are those it may answer to: the one in its front matter and its directory's.
	Names []string
}

// FindSkills lists the skills that Codex finds for the directory dir (relative to root): every
// SKILL.md at any depth below .agents/skills and .codex/skills, in each directory from root to
// dir. Symbolic links are not followed out of root.
func FindSkills(root, dir string) ([]Skill, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var skills []Skill
	for _, d := range ancestry(dir) {
		for _, place := range []string{".agents/skills", ".codex/skills"} {
			found, err := skillsBelow(r, path.Join(d, place))
			if err != nil {
				return nil, err
			}
			skills = append(skills, found...)
		}
	}
	return skills, nil
}

func skillsBelow(r *os.Root, dir string) ([]Skill, error) {
	var skills []Skill
	if _, err := r.Stat(dir); err != nil {
		return nil, nil
	}
	err := fs.WalkDir(r.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "SKILL.md" {
			return err
		}
		doc, err := readDoc(r, p)
		if err != nil || doc.Size > skillMax {
			// Codex cannot load it either, or not as a skill.
			return nil
		}
		skills = append(skills, Skill{Path: p, SHA: doc.SHA, Size: doc.Size, Names: skillNames(p, doc.Loaded)})
		return nil
	})
	return skills, err
}

// skillNames reads the name from the front matter: the line "name: NAME" between the first two
// lines of three dashes.
func skillNames(p string, data []byte) []string {
	names := []string{path.Base(path.Dir(p))}
	inside := false
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if text == "---" {
			if inside {
				break
			}
			inside = true
			continue
		}
		name, ok := strings.CutPrefix(text, "name:")
		if !inside || !ok {
			continue
		}
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
