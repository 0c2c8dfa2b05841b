package codex

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// npmWait bounds one question to the npm client; it answers from files, in a third of a second.
const npmWait = 20 * time.Second

// npmSettings asks the npm client for the named settings. Those that are not set are left out.
//
// A pull request can bring an .npmrc, and npm reads that of the directory it is started in: so it
// is started in an empty one, with a prefix of its own, and a user's file that lies in the
// workspace does not count either. ok is false when there is no npm or it does not answer.
func (f Finder) npmSettings(ctx context.Context, workspace string, names ...string) (settings map[string]string, ok bool) {
	npm := f.lookPath("npm", workspace)
	if npm == "" {
		return nil, false
	}
	dir, err := os.MkdirTemp("", "recibo-npm-")
	if err != nil {
		return nil, false
	}
	defer os.RemoveAll(dir)
	var out bytes.Buffer
	cmd := boundedCommand{
		path: npm, args: append([]string{"config", "get", "--prefix", dir}, names...),
		dir: dir, env: f.npmEnviron(workspace), wait: npmWait, out: &out,
	}
	if err := cmd.run(ctx); err != nil {
		f.warn("npm did not say which registry it is set to: " + err.Error())
		return nil, false
	}
	return parseNPMSettings(out.String(), names), true
}

// parseNPMSettings reads what `npm config get` prints: the bare value for one name, lines
// NAME=VALUE for several. It says "undefined" for what is not set.
func parseNPMSettings(out string, names []string) map[string]string {
	settings := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if !found && len(names) == 1 {
			name, value = names[0], name
		}
		if value != "" && value != "undefined" && value != "null" {
			settings[name] = value
		}
	}
	return settings
}

// npmEnviron is what npm needs to find its settings, and nothing else: it is no place for keys.
func (f Finder) npmEnviron(workspace string) []string {
	env := []string{
		"PATH=" + strings.Join(f.searchPath(workspace), string(os.PathListSeparator)),
		"NPM_CONFIG_USERCONFIG=" + f.userNPMRC(workspace),
		"NPM_CONFIG_UPDATE_NOTIFIER=false",
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "NPM_CONFIG_GLOBALCONFIG", "NVM_DIR", "VOLTA_HOME", "ASDF_DIR"} {
		if value := f.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// userNPMRC is the path of the user's npm settings, or an empty file's when they lie in the
// workspace.
func (f Finder) userNPMRC(workspace string) string {
	path := f.Getenv("NPM_CONFIG_USERCONFIG")
	if path == "" {
		path = f.Getenv("npm_config_userconfig")
	}
	if path == "" && f.Getenv("HOME") != "" {
		path = filepath.Join(f.Getenv("HOME"), ".npmrc")
	}
	if path == "" || within(path, workspace) {
		return os.DevNull
	}
	return path
}

// npmrcMax bounds the user's npm settings in bytes.
const npmrcMax = 1 << 20

// authorization returns the header value for the registry at host and path, such as
// "npm.example.com/team/", that the user's npm settings hold, or "". npm itself does not tell
// it: `npm config get` refuses.
func (f Finder) authorization(hostPath, workspace string) string {
	file, err := os.Open(f.userNPMRC(workspace))
	if err != nil {
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, npmrcMax))
	if err != nil {
		return ""
	}
	settings := parseNPMRC(string(data), f.Getenv)
	// npm's rule: the longest path that has something.
	for at := strings.TrimSuffix(hostPath, "/"); ; {
		for _, at := range []string{at + "/", at} {
			if token := settings["//"+at+":_authToken"]; token != "" {
				return "Bearer " + token
			}
			if basic := settings["//"+at+":_auth"]; basic != "" {
				return "Basic " + basic
			}
		}
		cut := strings.LastIndexByte(at, '/')
		if cut < 0 {
			return ""
		}
		at = at[:cut]
	}
}

// parseNPMRC reads lines KEY = VALUE; "#" and ";" begin comments, quotes may stand around a
// value, and ${NAME} is a variable of the environment; one that is not set stays as it is.
func parseNPMRC(data string, getenv func(string) string) map[string]string {
	settings := map[string]string{}
	for line := range strings.Lines(data) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		settings[strings.TrimSpace(key)] = expandNPMRC(value, getenv)
	}
	return settings
}

func expandNPMRC(s string, getenv func(string) string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			out.WriteString(s)
			return out.String()
		}
		out.WriteString(before)
		if value := getenv(strings.TrimSuffix(name, "?")); value != "" || strings.HasSuffix(name, "?") {
			out.WriteString(value)
		} else {
			out.WriteString("${" + name + "}")
		}
		s = after
	}
}

// searchPath is PATH without what a pull request could fill: relative directories, and those in
// the workspace.
func (f Finder) searchPath(workspace string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(f.Getenv("PATH")) {
		if filepath.IsAbs(dir) && !within(dir, workspace) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// lookPath returns the absolute path of an executable file on the search path, or "".
func (f Finder) lookPath(name, workspace string) string {
	for _, dir := range f.searchPath(workspace) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !within(path, workspace) {
			return path
		}
	}
	return ""
}
