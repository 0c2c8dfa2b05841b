package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The binary as a person calls it. Each script is a page of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"recibo": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true})
}
