package command

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/recibo-ci/recibo/pkg/codex"
)

// develVersion is what a build says that nobody gave a version.
const develVersion = "devel"

// build is what this program says about itself.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	Codex   string `json:"codex_version"`
	// Integrity is the lock file's sum for each platform.
	Integrity map[string]string `json:"codex_integrity"`
}

func thisBuild() build {
	b := build{Version: develVersion, Go: runtime.Version(), Codex: codex.Pinned(), Integrity: codex.Locked()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

func runVersion(_ context.Context, w World, args []string) error {
	b := thisBuild()
	if len(args) == 1 && args[0] == "--json" {
		e := json.NewEncoder(w.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(b)
	}
	if len(args) > 0 {
		return unexpected(args[0])
	}
	fmt.Fprintf(w.Stdout, "recibo %s", b.Version)
	if b.Commit != "" {
		fmt.Fprintf(w.Stdout, " (%s)", b.Commit)
	}
	fmt.Fprintf(w.Stdout, "\ncodex  %s\n", b.Codex)
	for _, platform := range sortedKeys(b.Integrity) {
		fmt.Fprintf(w.Stdout, "  %-12s %s\n", platform, b.Integrity[platform])
	}
	fmt.Fprintf(w.Stdout, "go     %s\n", b.Go)
	return nil
}
