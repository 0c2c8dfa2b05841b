// Command recibo reviews a pull request with the Codex CLI and leaves a receipt.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/recibo-ci/recibo/pkg/command"
	"github.com/recibo-ci/recibo/pkg/sandbox"
)

func main() {
	if sandbox.IsChild(os.Args) {
		sandbox.Child()
	}
	syscall.Umask(0o022) // the agent's own user reads what is laid out for it
	// The key is in this process's memory: nobody of the same user may look into it.
	if err := sandbox.Harden(); err != nil {
		fmt.Fprintln(os.Stderr, "warning:", err)
	}
	// A reader of our output that goes away must not take the receipt with it.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := command.Main(ctx, command.Process())
	stop()
	os.Exit(code)
}
