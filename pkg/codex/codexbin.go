package codex

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// findBin returns the programs of the installed Codex that w.Bin names.
func (f Finder) findBin(ctx context.Context, w Want, r release) (*Programs, error) {
	path, err := nativeProgram(w, r.platform)
	if err != nil {
		return nil, err
	}
	version, err := askVersion(ctx, path)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fault.New(fault.Request, "name a Codex that runs on this machine", "use codex-bin %q: %w", w.Bin, err)
	}
	if version != r.version {
		return nil, fault.New(fault.Request, "set codex-version to "+version+", or leave codex-bin out and recibo installs "+r.version,
			"use codex-bin %q: it is version %.80q, and codex-version is %s", w.Bin, version, r.version)
	}
	p := &Programs{Version: r.version, Dir: packageDir(path), Codex: path, Source: FromBin}
	beside := filepath.Dir(path)
	p.CodeModeHost = firstProgram(w.Workspace, filepath.Join(beside, nameHost))
	p.RG = firstProgram(w.Workspace, filepath.Join(beside, "..", "codex-path", nameRG),
		filepath.Join(beside, "..", "path", nameRG), filepath.Join(beside, nameRG))
	if p.RG == "" {
		p.RG = f.lookPath(nameRG, w.Workspace)
	}
	if p.RG != "" {
		p.PathDir = filepath.Dir(p.RG)
	}
	return p, nil
}

// packageDir is the directory of the package layout that the program at path lies in, else the
// directory it lies in.
func packageDir(path string) string {
	dir := filepath.Dir(path)
	for _, mark := range []string{packageFile, "codex-path", "path/" + nameRG} {
		if _, err := os.Stat(filepath.Join(dir, "..", filepath.FromSlash(mark))); err == nil {
			return filepath.Dir(dir)
		}
	}
	return dir
}

// firstProgram returns the first of paths that is a program outside the workspace, with symbolic
// links followed; or "".
func firstProgram(workspace string, paths ...string) string {
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || within(path, workspace) {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return real
		}
	}
	return ""
}

// nativeProgram returns the real path of the native program that w.Bin is or, when it is the
// script of the npm package, starts. What runs is what gets hashed, so a script is no answer.
func nativeProgram(w Want, platform string) (string, error) {
	refuse := func(hint, format string, args ...any) (string, error) {
		return "", fault.New(fault.Request, hint, "use codex-bin %q: "+format, append([]any{w.Bin}, args...)...)
	}
	path, err := filepath.Abs(w.Bin)
	if err != nil {
		return refuse("use an absolute path", "%w", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return refuse("give the path of an installed Codex, or leave codex-bin out", "%w", err)
	}
	if within(path, w.Workspace) {
		return refuse("install it elsewhere", "it lies in the workspace, where a pull request can put programs")
	}
	if firstProgram(w.Workspace, real) == "" {
		return refuse("give the path of the program itself", "it is not an executable file")
	}
	if isNative(real) {
		return real, nil
	}
	root, ok := npmPackageRoot(real)
	if !ok {
		return refuse("give the path of Codex's native program, or of the npm package's codex", "it is a script, and starts who knows what")
	}
	native := firstProgram(w.Workspace, nativePlaces(root, platform)...)
	if native == "" || !isNative(native) {
		return refuse("install it again with its optional dependencies, or leave codex-bin out",
			"its npm package has no native program for %s", platform)
	}
	return native, nil
}

// isNative says whether path begins as ELF or Mach-O programs do.
func isNative(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil {
		return false
	}
	switch string(magic) {
	case "\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe":
		return true
	}
	return false
}

// npmPackageRoot returns the npm package of Codex whose start script is at path.
func npmPackageRoot(path string) (root string, ok bool) {
	if filepath.Base(path) != "codex.js" || filepath.Base(filepath.Dir(path)) != "bin" {
		return "", false
	}
	root = filepath.Dir(filepath.Dir(path))
	data, err := os.ReadFile(filepath.Join(root, "package.json"))
	if err != nil {
		return "", false
	}
	var pkg struct{ Name string }
	return root, json.Unmarshal(data, &pkg) == nil && pkg.Name == packageName
}

// nativePlaces are where the start script of the npm package at root looks for the program, by
// Node's rule: node_modules of each directory above; else in the package itself.
func nativePlaces(root, platform string) []string {
	var places []string
	add := func(dir string) {
		vendor := filepath.Join(dir, "vendor", tripleOf(platform))
		places = append(places, filepath.Join(vendor, "bin", nameCodex), filepath.Join(vendor, "codex", nameCodex))
	}
	for dir := root; ; dir = filepath.Dir(dir) {
		if !strings.HasSuffix(dir, "node_modules") {
			add(filepath.Join(dir, "node_modules", filepath.FromSlash(packageName)+"-"+platform))
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	add(root)
	return places
}
