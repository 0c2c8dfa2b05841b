package sandbox

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseProcess(t *testing.T) {
	t.Parallel()
	const tail = " 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 54321 1000"
	for _, test := range []struct {
		name, line string
		want       process
		ok         bool
	}{
		{"plain", "7 (sleep) S 3 7 7" + tail, process{pid: 7, parent: 3, state: 'S', start: 54321}, true},
		{"name_with_trap", "7 (a) Z 1 (b) R 4 7 7" + tail, process{pid: 7, parent: 4, state: 'R', start: 54321}, true},
		{"name_with_newline", "7 (a\nb) T 5 7 7" + tail, process{pid: 7, parent: 5, state: 'T', start: 54321}, true},
		{"cut", "7 (sleep) S 3 7 7", process{}, false},
		{"no_name", "7 sleep S 3 7 7" + tail, process{}, false},
		{"parent_is_a_word", "7 (sleep) S x 7 7" + tail, process{}, false},
		{"empty", "", process{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := parseProcess(7, []byte(test.line)); got != test.want || ok != test.ok {
				t.Errorf("parseProcess returns %+v, %t; want %+v, %t", got, ok, test.want, test.ok)
			}
		})
	}
}

func FuzzParseProcess(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(own), "7 (a) Z 1 (b) R 4", ")", "(", ") S 1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if p, ok := parseProcess(7, line); ok && p.pid != 7 || !ok && p != (process{}) {
			t.Errorf("parseProcess returns %+v, %t", p, ok)
		}
	})
}

// A signal must not reach a process that has got the number of another.
func TestSignalMissesAnother(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "600")
	check(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	p, ok := readProcess(cmd.Process.Pid)
	if !ok || p.parent != os.Getpid() {
		t.Fatalf("the child is read as %+v, %t", p, ok)
	}
	other := p
	other.start++
	if other.signal(unix.SIGKILL) {
		t.Error("a signal for another process is sent to it")
	}
	if !p.signal(unix.SIGKILL) {
		t.Error("the signal that is for it is not sent")
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the signal that is for it ends it with %v", err)
	}
}
