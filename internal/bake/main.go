// Command bake installs the pinned Codex CLI into a directory of the image being built.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/recibo-ci/recibo/pkg/codex"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bake DIR")
		os.Exit(2)
	}
	f := codex.Finder{CacheDir: os.Args[1], Getenv: os.Getenv, Warn: func(s string) { fmt.Fprintln(os.Stderr, "warning:", s) }}
	p, err := f.Find(context.Background(), codex.Want{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println("codex", p.Version, "in", p.Dir)
}
