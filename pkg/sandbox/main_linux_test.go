package sandbox

import (
	"fmt"
	"os"
	"testing"
)

// secret is in the environment of every process that the tests run in, as a token would be.
const secret = "hunter2-do-not-leak"

// This binary is also the warden, the process behind the walls, and the attacker.
func TestMain(m *testing.M) {
	if IsChild(os.Args) {
		Child()
	}
	if len(os.Args) > 2 && os.Args[1] == "probe" {
		os.Exit(probe(os.Args[2], os.Args[3:]))
	}
	if err := os.Setenv("INPUT_OPENAI-API-KEY", secret); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// What a probe exits with.
const (
	probeWorked = 0
	probeFailed = 10
	probeBroken = 11 // the probe itself could not do what it is for
)

// probe tries one attack. It says on standard output why it did not work.
func probe(name string, args []string) int {
	attempt, ok := probes()[name]
	if !ok {
		fmt.Println("no such probe:", name)
		return probeBroken
	}
	if err := attempt(args); err != nil {
		fmt.Println(err)
		return probeFailed
	}
	return probeWorked
}

func probes() map[string]func(args []string) error {
	all := map[string]func([]string) error{}
	for _, group := range []map[string]func([]string) error{
		fileProbes(), processProbes(), networkProbes(), callProbes(), hungryProbes(), archProbes(), helperProbes(),
	} {
		for name, p := range group {
			all[name] = p
		}
	}
	return all
}
