// Command recibo reviews a pull request with the Codex CLI and leaves a receipt.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/recibo-ci/recibo/pkg/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Main(ctx, command.Process())
	stop()
	os.Exit(code)
}
