// Command generate writes the parts of action.yml and README.md that are made from the tables in
// pkg/command. Run it at the top of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/recibo-ci/recibo/pkg/command"
)

func main() {
	for name, text := range map[string]string{"action.yml": command.ActionYML(), "README.md": command.InputTable()} {
		if err := rewrite(name, text); err != nil {
			fmt.Fprintf(os.Stderr, "error: generate %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

func rewrite(name, text string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	out, err := command.Splice(old, text)
	if err != nil {
		return err
	}
	return os.WriteFile(name, out, 0o644)
}
