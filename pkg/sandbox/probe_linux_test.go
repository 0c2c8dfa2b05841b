package sandbox

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProbeMatchesProcess(t *testing.T) {
	t.Parallel()
	r := Probe()
	if root() != (r.UID == defaultUser) {
		t.Errorf("UID is %d, root is %t", r.UID, root())
	}
	if (r.Level == Full) != (len(r.Missing) == 0) {
		t.Errorf("level %q goes with missing %q", r.Level, r.Missing)
	}
}

// The status of the program says what the kernel knows of its walls.
func TestKernelAgrees(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	c.policy.Read = append(c.policy.Read, "/proc")
	c.run("/bin/cat", "/proc/self/status", "/proc/self/oom_score_adj")
	got := status(c.stdout.String())
	if !strings.HasSuffix(c.stdout.String(), "\n1000\n") {
		t.Errorf("the program does not go first when memory runs out: %q", c.stdout.String())
	}
	id := strings.TrimSpace(strings.Repeat(strconv.Itoa(c.uid)+" ", 4))
	want := map[string]string{
		"NoNewPrivs": "1", "Seccomp": "2", "Umask": "0077",
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapAmb": "0000000000000000",
	}
	if Probe().has(wallUser) {
		want["Uid"], want["Gid"], want["Groups"], want["CapBnd"] = id, id, "", "0000000000000000"
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
}

// status reads /proc/PID/status.
func status(content string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(content) {
		key, value, _ := strings.Cut(line, ":")
		out[key] = strings.Join(strings.Fields(value), " ")
	}
	return out
}

// What a caller has in groups and inheritable capabilities does not come through.
func TestNothingIsInherited(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for name, how := range inheritances() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(l.binary, "probe", "inner")
			cmd.SysProcAttr = how
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got := status(string(out))
			for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
				if got[set] != "0000000000000000" {
					t.Errorf("%s is %q", set, got[set])
				}
			}
			if groups := got["Groups"]; root() && how.Credential.Uid == 0 && groups != "" {
				t.Errorf("groups are %q, want none", groups)
			}
		})
	}
}

// inheritances are ways to start a caller. One that is not root has nothing to hand down.
func inheritances() map[string]*syscall.SysProcAttr {
	if !root() {
		return map[string]*syscall.SysProcAttr{"nothing": nil}
	}
	return map[string]*syscall.SysProcAttr{
		"groups": {Credential: &syscall.Credential{Groups: []uint32{4242}}},
		"ambient": {
			Credential:  &syscall.Credential{Uid: 65000, Gid: 65000},
			AmbientCaps: []uintptr{unix.CAP_CHOWN},
		},
	}
}

// A process of the same user reads another's environment and memory, unless that is hardened.
func TestHarden(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, how := range []string{"plain", "hardened"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			pid := startVictim(t, l, how)
			for _, probe := range []string{"environ_of", "memory_of", "fds_of"} {
				cmd := asOther(exec.Command(l.binary, "probe", probe, pid))
				out, err := cmd.CombinedOutput()
				if (err == nil) != (how == "plain") {
					t.Errorf("%s ends with %v, %s", probe, err, out)
				}
			}
			content, err := os.ReadFile("/proc/" + pid + "/limits")
			check(t, err)
			noCore := strings.Contains(strings.Join(strings.Fields(string(content)), " "), "Max core file size 0 0 ")
			if how == "hardened" && !noCore {
				t.Errorf("core files are not forbidden:\n%s", content)
			}
		})
	}
}

func startVictim(t *testing.T, l *lab, how string) string {
	t.Helper()
	cmd := asOther(exec.Command(l.binary, "probe", "victim", how))
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() {
		check(t, cmd.Process.Kill())
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("the victim says %q, %v", line, err)
	}
	return strconv.Itoa(cmd.Process.Pid)
}

// asOther runs cmd as a user without rights of its own, where that can be had.
func asOther(cmd *exec.Cmd) *exec.Cmd {
	if root() {
		const someone = 65000
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: someone, Gid: someone}}
	}
	return cmd
}

func TestKernelWithoutLandlock(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, err := exec.Command(l.binary, "probe", "without_landlock", "/usr").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A kernel with an older Landlock is asked for what that one knows.
func TestOlderLandlock(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	newest := ask()
	if newest.abi == 0 {
		t.Fatalf("there is no Landlock to try: %v", newest.landlock)
	}
	for abi := 1; abi <= newest.abi; abi++ {
		t.Run(strconv.Itoa(abi), func(t *testing.T) {
			t.Parallel()
			for probe, want := range map[string]bool{"append": false, "truncate": abi < abiTruncate, "remove": false} {
				older := newest
				older.abi = abi
				c := l.cell(t)
				p, err := start(t.Context(), assess(older), c.policy, Command{
					Path: l.binary, Args: []string{"probe", probe, filepath.Join(c.open, "file")}, Dir: "/", Stdout: &c.stdout,
				})
				check(t, err)
				state, err := p.Wait()
				check(t, err)
				if worked := state.Code == probeWorked; worked != want {
					t.Errorf("%s works: %t, want %t; %+v, %s", probe, worked, want, state, c.stdout.String())
				}
			}
		})
	}
}

func TestMapped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, test := range []struct {
		name, content string
		want          bool
	}{
		{"whole_range", "         0          0 4294967295\n", true},
		{"one_user", "0 1000 1\n", false},
		{"rootless", "0 1000 1\n1 100000 65536\n", true},
		{"ends_before", "0 1000 1\n1 100000 65531\n", false},
		{"empty", "", false},
		{"nonsense", "a b c\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := dir + "/" + test.name
			check(t, os.WriteFile(file, []byte(test.content), 0o600))
			if got := mapped(file, defaultUser); got != test.want {
				t.Errorf("mapped returns %t, want %t", got, test.want)
			}
		})
	}
	if mapped(dir+"/missing", 0) {
		t.Error("a missing file maps")
	}
}

func TestLayOwner(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	check(t, os.MkdirAll(dir+"/a/b", 0o700))
	check(t, os.WriteFile(dir+"/a/b/file", nil, 0o600))
	check(t, os.Symlink(outside, dir+"/a/link"))
	uid := os.Getuid()
	if root() {
		uid = 65100
	}
	check(t, LayOwner(dir, uid, uid))
	for _, path := range []string{dir, dir + "/a", dir + "/a/b", dir + "/a/b/file", dir + "/a/link"} {
		if got := ownerOf(t, path); got != uid {
			t.Errorf("%s belongs to %d, want %d", path, got, uid)
		}
	}
	if got := ownerOf(t, outside); got != os.Getuid() {
		t.Errorf("behind the link, the owner is %d", got)
	}
	if err := LayOwner(dir+"/missing", uid, uid); root() && err == nil {
		t.Error("a missing directory gives no error")
	}
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	var s unix.Stat_t
	check(t, unix.Lstat(path, &s))
	return int(s.Uid)
}
