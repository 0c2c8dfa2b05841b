package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAssess(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	whole := facts{abi: 7}
	change := func(f func(*facts)) facts {
		out := whole
		f(&out)
		return out
	}
	for _, test := range []struct {
		name    string
		facts   facts
		level   Level
		missing []string
		gone    []string
	}{
		{"whole", whole, Full, nil, nil},
		{"landlock_6", change(func(f *facts) { f.abi = 6 }), Full, nil, nil},
		{"landlock_newer", change(func(f *facts) { f.abi = 99 }), Full, nil, nil},
		{"landlock_5", change(func(f *facts) { f.abi = 5 }), Full, nil, []string{wallScope}},
		{"landlock_3", change(func(f *facts) { f.abi = 3 }), Full, nil, []string{wallScope, wallTCP}},
		{"landlock_2", change(func(f *facts) { f.abi = 2 }), Partial, []string{wallFiles}, []string{wallTCP}},
		{"no_landlock", change(func(f *facts) { f.abi, f.landlock = 0, no }), Partial, []string{wallFiles}, []string{wallFiles, wallTCP, wallScope}},
		{"no_seccomp", change(func(f *facts) { f.filter, f.notify = no, no }), Partial, []string{"seccomp"}, []string{wallSockets, wallBroker, wallArchitecture}},
		{"no_broker", change(func(f *facts) { f.notify = no }), Partial, []string{wallBroker}, []string{wallBroker, wallSocketCap}},
		{"no_bounding_set", change(func(f *facts) { f.bounding = no }), Partial, []string{wallCapabilities}, []string{wallCapabilities}},
		{"not_root", change(func(f *facts) { f.ids, f.uid = no, 1000 }), Partial, []string{wallUser, wallLimits}, []string{wallUser}},
		{"not_root_landlock_5", change(func(f *facts) { f.ids, f.uid, f.abi = no, 1000, 5 }), Partial, []string{wallUser, wallLimits, wallScope}, []string{wallUser, wallScope}},
		{"nothing", facts{uid: 1000, ids: no, landlock: no, filter: no, notify: no}, None,
			[]string{wallUser, wallLimits, wallFiles, wallScope, "seccomp"}, []string{wallUser, wallFiles, wallSockets}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := assess(test.facts)
			var missing []string
			for _, line := range r.Missing {
				name, why, _ := strings.Cut(line, ": ")
				if why == "" {
					t.Errorf("missing line %q gives no reason", line)
				}
				missing = append(missing, name)
			}
			if diff := cmp.Diff(test.missing, missing); r.Level != test.level || diff != "" {
				t.Errorf("level is %q, want %q; missing (-want +got):\n%s", r.Level, test.level, diff)
			}
			for _, wall := range test.gone {
				if r.has(wall) {
					t.Errorf("wall %q stands", wall)
				}
			}
			if want := defaultUser; test.facts.ids == nil && r.UID != want {
				t.Errorf("UID is %d, want %d", r.UID, want)
			}
			if test.facts.ids != nil && r.UID != test.facts.uid {
				t.Errorf("UID is %d, want %d", r.UID, test.facts.uid)
			}
		})
	}
}

func TestWallsAreLeftOutLoudly(t *testing.T) {
	t.Parallel()
	whole := assess(facts{abi: 7})
	r, err := whole.without([]string{wallTCP})
	if err != nil || r.has(wallTCP) || r.Level != Partial || !strings.Contains(strings.Join(r.Missing, "\n"), "tcp: left out") {
		t.Errorf("without returns %+v, %v", r, err)
	}
	if !whole.has(wallTCP) {
		t.Error("the report it was made from has changed")
	}
	if _, err := whole.without([]string{"moat"}); err == nil {
		t.Error("a wall that does not stand can be left out")
	}
	if r, err := whole.without(nil); err != nil || r.Level != Full {
		t.Errorf("without nothing, it is %+v, %v", r, err)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	p, err := Policy{Gateway: "127.0.0.1:80"}.filled()
	want := Policy{Gateway: "127.0.0.1:80", UID: 65532, GID: 65532, MaxSockets: 64,
		Limits: Limits{Processes: 1024, FileSizeBytes: 1 << 30, OpenFiles: 4096, FreeBytes: 256 << 20}}
	if diff := cmp.Diff(want, p); err != nil || diff != "" {
		t.Errorf("error %v, defaults (-want +got):\n%s", err, diff)
	}
	mine := Policy{Gateway: "127.0.0.9:80", UID: 7, GID: 8, MaxSockets: 9, Limits: Limits{1, 2, 3, 4}}
	p, err = mine.filled()
	if diff := cmp.Diff(mine, p); err != nil || diff != "" {
		t.Errorf("error %v, changed (-want +got):\n%s", err, diff)
	}
}
