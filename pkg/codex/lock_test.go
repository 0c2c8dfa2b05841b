package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lockedPlatforms are those recibo runs on.
func lockedPlatforms() []string {
	return []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"}
}

func TestLockAgreesWithPackage(t *testing.T) {
	t.Parallel()
	var pkg struct {
		Private      bool
		Dependencies map[string]string
	}
	data, err := os.ReadFile(filepath.Join("npm", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &pkg); err != nil {
		t.Fatal(err)
	}
	lock, err := parseLock(lockFile)
	if err != nil {
		t.Fatal(err)
	}
	if got := pkg.Dependencies[packageName]; got != lock.version || len(pkg.Dependencies) != 1 || !pkg.Private {
		t.Errorf("package.json: private %v, %s %q among %d; want private, %q alone", pkg.Private, packageName, got, len(pkg.Dependencies), lock.version)
	}
	if v, err := ParseVersion(Pinned()); err != nil || v != lock.version {
		t.Errorf("Pinned() = %q (%v), want %q", v, err, lock.version)
	}
	sums := map[tarballSum]string{}
	for _, platform := range lockedPlatforms() {
		sum, ok := lock.integrity[platform]
		if !ok || sum == (tarballSum{}) {
			t.Errorf("%s has no integrity", platform)
		}
		if other, twice := sums[sum]; twice {
			t.Errorf("%s and %s have the same integrity", platform, other)
		}
		sums[sum] = platform
		if tripleOf(platform) == "" {
			t.Errorf("%s has no directory in the package", platform)
		}
	}
}

// A host in these files would send everybody's installations there.
func TestLockNamesNoRegistry(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("npm")
	if err != nil {
		t.Fatal(err)
	}
	host := regexp.MustCompile(`(?i)://|"resolved"|registry\.|^\s*registry\s*=`)
	seen := 0
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join("npm", file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if m := host.Find(data); m != nil {
			t.Errorf("%s: %q", file.Name(), m)
		}
	}
	if seen < 2 {
		t.Fatalf("looked at %d files, want package.json and package-lock.json", seen)
	}
}

func TestParseLockRefuses(t *testing.T) {
	t.Parallel()
	whole := string(lockFile)
	sum := embeddedLock().integrity["linux-x64"].String()
	cases := map[string]string{
		"not_json":          "{",
		"other_format":      strings.Replace(whole, `"lockfileVersion": 3`, `"lockfileVersion": 2`, 1),
		"no_codex":          `{"lockfileVersion":3,"packages":{}}`,
		"other_version":     strings.Replace(whole, `"version": "0.171.0-linux-x64"`, `"version": "0.170.0-linux-x64"`, 1),
		"other_package":     strings.Replace(whole, `"name": "@openai/codex"`, `"name": "@openal/codex"`, 1),
		"weak_hash":         strings.Replace(whole, sum, "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", 1),
		"no_hash":           strings.Replace(whole, sum, "", 1),
		"short_hash":        strings.Replace(whole, sum, "sha512-AAAA", 1),
		"not_base64":        strings.Replace(whole, sum, strings.Replace(sum, "=", "!", 1), 1),
		"hash_with_newline": strings.Replace(whole, sum, sum[:20]+`\n`+sum[20:], 1),
	}
	for name, data := range cases {
		if data == whole {
			t.Fatalf("%s changes nothing", name)
		}
		if got, err := parseLock([]byte(data)); err == nil {
			t.Errorf("%s: read %+v, want an error", name, got)
		}
	}
}

func TestParseTarballSum(t *testing.T) {
	t.Parallel()
	want := embeddedLock().integrity["linux-x64"]
	for _, s := range []string{want.String(), "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk= " + want.String(), want.String() + "?opt"} {
		if got, err := parseTarballSum(s); err != nil || got != want {
			t.Errorf("parseTarballSum(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add(lockFile)
	f.Add([]byte(`{"lockfileVersion":3,"packages":{"node_modules/@openai/codex":{"version":"1.2.3"}}}`))
	f.Add([]byte(`{"lockfileVersion":3,"packages":{"node_modules/@openai/codex-linux-x64":null}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := parseLock(data)
		if err != nil {
			return
		}
		if lock.version == "" {
			t.Error("a lock without a version")
		}
		for platform, sum := range lock.integrity {
			back, err := parseTarballSum(sum.String())
			if err != nil || back != sum {
				t.Errorf("%s: %v comes back as %v (%v)", platform, sum, back, err)
			}
		}
	})
}
