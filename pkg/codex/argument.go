package codex

import (
	"encoding/json"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// ParseArgs reads extra arguments for `codex exec`: a JSON array of strings, or words separated
// as a shell does (quotes and backslashes, no expansion).
func ParseArgs(s string) ([]string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	var args []string
	if strings.HasPrefix(s, "[") {
		if err := json.Unmarshal([]byte(s), &args); err != nil {
			return nil, fault.New(fault.Request, `write it as ["--flag", "value"] or as shell words`, "read codex-args: %w", err)
		}
	} else {
		words, err := shellWords(s)
		if err != nil {
			return nil, err
		}
		args = words
	}
	return args, checkArgs(args)
}

// checkArgs refuses what would undo the sandbox, the provider or the output contract. It is a
// list of what is allowed: an argument that a later Codex adds must not slip through.
func checkArgs(args []string) error {
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(args[i], "=")
		switch name {
		case "-c", "--config":
			if !inline {
				i++
				if i == len(args) {
					return refuseArg(name, "it needs key=value after it")
				}
				value = args[i]
			}
			if err := checkOverride(value); err != nil {
				return err
			}
		case "--color":
			if !inline {
				i++
			}
		default:
			return refuseArg(args[i], "recibo sets sandbox, provider, model, schema, output and instructions itself")
		}
	}
	return nil
}

// overrides are the configuration keys that change how the model works, not what it may do, what
// it is told, or whom it talks to.
func overrides() []string {
	return []string{
		"model_verbosity", "model_reasoning_summary", "model_context_window",
		"model_auto_compact_token_limit", "tool_output_token_limit", "hide_agent_reasoning",
	}
}

func checkOverride(s string) error {
	key, _, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if !ok {
		return refuseArg("-c "+s, "it needs key=value")
	}
	for _, allowed := range overrides() {
		if key == allowed {
			return nil
		}
	}
	return refuseArg("-c "+key, "keys that can be set: "+strings.Join(overrides(), ", "))
}

func refuseArg(arg, why string) error {
	return fault.New(fault.Request, why, "codex-args: %q is refused", arg)
}

// shellWords splits s by the quoting rules of the POSIX shell (section 2.2), without expansion.
func shellWords(s string) ([]string, error) {
	var (
		words []string
		word  strings.Builder
		open  bool
		quote rune
	)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case r == quote:
			quote = 0
		case r == '\\' && quote != '\'' && i+1 < len(runes):
			i++
			if quote == '"' && !strings.ContainsRune("$`\"\\\n", runes[i]) {
				word.WriteRune(r)
			}
			word.WriteRune(runes[i])
			open = true
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, fault.New(fault.Request, "close the quote, or write a JSON array", "read codex-args: quote %q is not closed", quote)
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}
