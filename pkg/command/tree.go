package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/git"
	"github.com/recibo-ci/recibo/pkg/identity"
	"github.com/recibo-ci/recibo/pkg/receipt"
)

// tree is what the agent reads: the tree of the reviewed head, never of a merge commit.
type tree struct {
	dir string
	// gitDir is the agent's repository where it does not lie in dir.
	gitDir string
	// skills are names that must not load.
	skills []string
}

// layTree uses the checkout where it is the head's tree, file by file, and lays the tree out from
// the objects elsewhere. Either way the agent's git works on a private repository.
func (s *session) layTree(ctx context.Context) error {
	head := s.subject.pull.Head.SHA
	refs := map[string]string{"refs/recibo/base": s.subject.pull.Base.SHA, "refs/recibo/merge-base": s.subject.mergeBase}
	inPlace := false
	if s.jail.canRead(s.repo.Top()) {
		var err error
		if inPlace, _, err = s.repo.IsTree(ctx, head, nil); err != nil {
			return err
		}
	}
	var laid git.Laid
	var err error
	if inPlace {
		laid, err = s.repo.PrivateGitDir(ctx, git.LayOut{Rev: head, Dir: filepath.Join(s.home.Root, "git"), Refs: refs})
		s.tree = tree{dir: s.repo.Top(), gitDir: laid.GitDir}
	} else {
		laid, err = s.repo.LayOut(ctx, git.LayOut{Rev: head, Dir: filepath.Join(s.home.Root, "tree"), Refs: refs})
		s.tree = tree{dir: laid.Dir}
	}
	if err != nil {
		return err
	}
	if !s.jail.canRead(laid.Objects...) {
		if err := s.repo.Own(ctx, &laid); err != nil {
			return err
		}
	}
	s.jail.more = append(s.jail.more, laid.Objects...)
	s.warnAboutTree(laid)
	return nil
}

func (s *session) warnAboutTree(laid git.Laid) {
	if n := len(laid.Refused); n > 0 {
		s.warnLocked(fmt.Sprintf("the agent does not see %d symbolic links that lead out of the tree, such as %q", n, laid.Refused[0].Path))
	}
	if n := len(laid.Submodules); n > 0 {
		s.warnLocked(fmt.Sprintf("the agent sees %d submodules as empty directories, such as %q", n, laid.Submodules[0]))
	}
}

// noteSkills lists the tree's skills in the receipt and their names for Codex's configuration.
func (s *session) noteSkills() error {
	s.roots = []string{s.tree.dir}
	skills, err := identity.FindSkills(s.tree.dir, s.opt.workingDirectory)
	if err != nil {
		return err
	}
	for _, k := range skills {
		s.tree.skills = append(s.tree.skills, k.Names...)
		s.receipt.Skills = append(s.receipt.Skills, receipt.Skill{Name: k.Names[len(k.Names)-1], Path: k.Path, SHA: receipt.Digest(k.SHA), Bytes: k.Size})
	}
	return nil
}

// contextMessage is nil when no context is wanted.
func (s *session) contextMessage() []byte {
	if s.opt.context == "none" {
		return nil
	}
	p := s.subject.pull
	c := identity.Context{
		Number: p.Number, Base: p.Base.SHA, Head: p.Head.SHA, MergeBase: s.subject.mergeBase,
		Title: p.Title, Body: p.Body, Labels: p.Labels, WithText: s.opt.context == "full",
	}
	for _, f := range s.files {
		c.Files = append(c.Files, contextFile(f))
	}
	return c.Message()
}

func contextFile(f diff.File) identity.ContextFile {
	out := identity.ContextFile{Path: f.Path(), Old: f.Old, Status: f.Status.String()}
	for first, last := range f.Commentable(diff.Right) {
		out.Lines = append(out.Lines, [2]int{first, last})
	}
	return out
}

// checkWorkDir refuses a working directory that the head does not have.
func (s *session) checkWorkDir() error {
	if s.opt.workingDirectory == "." {
		return nil
	}
	root, err := os.OpenRoot(s.tree.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Stat(filepath.FromSlash(s.opt.workingDirectory)); err != nil || !info.IsDir() {
		return fault.New(fault.Request, "name a directory that is there at the pull request's head", "read input working-directory: %q is no directory of %.12s", s.opt.workingDirectory, s.subject.pull.Head.SHA)
	}
	return nil
}
