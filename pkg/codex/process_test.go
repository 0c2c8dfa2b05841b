package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// childOrder tells a process that is this test program once more what to install.
type childOrder struct {
	CacheDir, Registry, Version, Platform, Integrity string
}

const childVariable = "RECIBO_TEST_INSTALL"

// startChild starts this test program as an installer. The test that calls it calls
// installAsChild first.
func startChild(t *testing.T, order childOrder, out io.Writer) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(data))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// installAsChild does what the order says and ends the process, when there is one.
func installAsChild() {
	data := os.Getenv(childVariable)
	if data == "" {
		return
	}
	var order childOrder
	if err := json.Unmarshal([]byte(data), &order); err != nil {
		panic(err)
	}
	sum, err := parseTarballSum(order.Integrity)
	if err != nil {
		panic(err)
	}
	// The strictest umask: what is installed is for the agent's user too.
	syscall.Umask(0o077)
	f := Finder{
		CacheDir: order.CacheDir, Warn: func(s string) { fmt.Println("CHILD", s) },
		Getenv: func(name string) string { return map[string]string{"NPM_CONFIG_REGISTRY": order.Registry}[name] },
		lock:   &packageLock{version: order.Version, integrity: map[string]tarballSum{order.Platform: sum}},
	}
	p, err := f.Find(context.Background(), Want{})
	if err != nil {
		fmt.Println("CHILD", err)
		os.Exit(1)
	}
	fmt.Println("CHILD", p.Source)
	os.Exit(0)
}

// childrenSaid gathers what several processes print, and closes all when part has been said
// left times.
type childrenSaid struct {
	mu   sync.Mutex
	text bytes.Buffer
	part string
	left int
	all  chan struct{}
	once sync.Once
}

func (c *childrenSaid) release() { c.once.Do(func() { close(c.all) }) }

func (c *childrenSaid) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(p)
	if bytes.Contains(p, []byte(c.part)) {
		if c.left--; c.left == 0 {
			c.release()
		}
	}
	return len(p), nil
}

func (c *childrenSaid) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func TestInstallInSeparateProcesses(t *testing.T) {
	installAsChild()
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	reg := newFakeRegistry(t)
	f := newFinding(t, reg.URL, nil)
	f.lock = p.locked()
	// The first to ask is held until the others wait for it, so that they do meet.
	said := &childrenSaid{part: "waiting for it", left: 2, all: make(chan struct{})}
	held := func(w http.ResponseWriter, req *http.Request) {
		<-said.all
		p.doc(reg.URL)(w, req)
	}
	reg.on(p.docPath(), held).on(p.tarballPath(), p.file())
	order := childOrder{f.CacheDir, reg.URL, "1.2.3", thisPlatform(), p.sum.String()}
	var wg sync.WaitGroup
	for range 3 {
		cmd := startChild(t, order, said)
		wg.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, said)
				said.release()
			}
		})
	}
	wg.Wait()
	if got := said.String(); strings.Count(got, "CHILD installed\n") != 1 || strings.Count(got, "CHILD cache\n") != 2 {
		t.Errorf("they said %q, want one installed and two cache", got)
	}
	got, err := f.Find(t.Context(), Want{})
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, f, got, FromCache, "lock")
}

func TestInstallKilledInTheMiddle(t *testing.T) {
	installAsChild()
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	reg := newFakeRegistry(t)
	f := newFinding(t, reg.URL, nil)
	f.lock = p.locked()
	half := make(chan struct{})
	reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), answerStuck(p.tarball, func() { close(half) }))
	var out bytes.Buffer
	cmd := startChild(t, childOrder{f.CacheDir, reg.URL, "1.2.3", thisPlatform(), p.sum.String()}, &out)
	<-half
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v: %s", err, &out)
	}
	left := f.remains(t)
	if len(left) != 1 || !strings.HasPrefix(left[0], partPrefix) {
		t.Fatalf("the cache holds %q, want what the dead process left", left)
	}
	r := p.release
	r.pinned = p.sum
	if got, err := openEntry(filepath.Join(f.CacheDir, left[0]), r); err == nil {
		t.Errorf("the leftover is taken for whole: %+v", got)
	}
	reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), p.file())
	got, err := f.Find(t.Context(), Want{})
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, f, got, FromInstall, "lock")
}
