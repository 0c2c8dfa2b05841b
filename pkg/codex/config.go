package codex

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Config is what recibo sets in Codex's config.toml. Everything else that a review does not need
// is turned off.
type Config struct {
	// BaseURL is the gateway's.
	BaseURL string
	// Context becomes a developer message of its own; empty means none.
	Context []byte
	// Model and Effort are asked for; empty means Codex's own choice.
	Model, Effort string
	// SkillsOff names the repository's skills: a `$name` in a prompt would load them although
	// their list is off.
	SkillsOff []string
}

// off lists the features of Codex that a review does not need. Each either puts something into
// the request that nobody asked for, starts a process or a connection (plugins run git ls-remote
// at every start), or repeats what has its one place in the gateway (retries).
func off() []string {
	return []string{
		"apps", "browser_use", "computer_use", "enable_request_compression", "goals", "hooks",
		"image_generation", "in_app_browser", "memories", "plugins", "remote_plugin",
		"shell_snapshot", "skill_mcp_dependency_install", "skill_search", "sleep_tool",
		"tool_suggest", "unbounded_connection_retries", "view_image", "workspace_dependencies",
	}
}

// TOML returns the bytes of config.toml. Keys are those of Codex 0.171.0, which refuses unknown
// ones under --strict-config.
func (c Config) TOML() []byte {
	var b bytes.Buffer
	// A login shell would reset PATH, and rg would not be found.
	b.WriteString("model_provider = \"recibo\"\nallow_login_shell = false\nweb_search = \"disabled\"\ncheck_for_update_on_startup = false\napproval_policy = \"never\"\n")
	for _, set := range [][2]string{{"model", c.Model}, {"model_reasoning_effort", c.Effort}} {
		if set[1] != "" {
			fmt.Fprintf(&b, "%s = %s\n", set[0], tomlString(set[1]))
		}
	}
	if len(c.Context) > 0 {
		fmt.Fprintf(&b, "developer_instructions = %s\n", tomlString(string(c.Context)))
	}
	b.WriteString("\n[analytics]\nenabled = false\n\n[agents]\nenabled = false\n\n[history]\npersistence = \"none\"\n")
	b.WriteString("\n[skills]\ninclude_instructions = false\nbundled = { enabled = false }\n")
	c.writeSkills(&b)
	b.WriteString("\n[features]\n")
	for _, f := range off() {
		fmt.Fprintf(&b, "%s = false\n", f)
	}
	// Retries have one place, the gateway; Codex's would multiply them.
	fmt.Fprintf(&b, "\n[model_providers.recibo]\nname = \"recibo\"\nbase_url = %s\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n", tomlString(c.BaseURL))
	return b.Bytes()
}

func (c Config) writeSkills(b *bytes.Buffer) {
	if len(c.SkillsOff) == 0 {
		return
	}
	b.WriteString("config = [")
	for i, name := range c.SkillsOff {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "{ name = %s, enabled = false }", tomlString(name))
	}
	b.WriteString("]\n")
}

// tomlString quotes s as a TOML basic string (TOML v1.0.0, "String").
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == utf8.RuneError || r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
