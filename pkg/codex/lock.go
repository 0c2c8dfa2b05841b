package codex

import (
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// packageName is the npm package whose versions V-PLATFORM hold the programs of release V.
const packageName = "@openai/codex"

// lockFile is a lock file as npm writes it (lockfileVersion 3), so that npm and the services
// that propose updates understand it. It names no registry: the integrity is what is trusted.
//
//go:embed npm/package-lock.json
var lockFile []byte

// packageLock is what the lock file says about Codex.
type packageLock struct {
	version string
	// integrity has one entry a platform, of that platform's package.
	integrity map[string]tarballSum
}

// Pinned returns the version of Codex that this recibo is made for.
func Pinned() string { return embeddedLock().version }

// embeddedLock panics for a lock file that does not parse: it is part of the program, and a test
// reads it.
func embeddedLock() packageLock {
	l, err := parseLock(lockFile)
	if err != nil {
		panic(err)
	}
	return l
}

func parseLock(data []byte) (packageLock, error) {
	var file struct {
		LockfileVersion int `json:"lockfileVersion"`
		Packages        map[string]struct {
			Name, Version, Integrity string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return packageLock{}, fmt.Errorf("read lock file: %w", err)
	}
	if file.LockfileVersion != 3 {
		return packageLock{}, fmt.Errorf("read lock file: version %d, want 3", file.LockfileVersion)
	}
	const at = "node_modules/" + packageName
	l := packageLock{version: file.Packages[at].Version, integrity: map[string]tarballSum{}}
	if l.version == "" {
		return packageLock{}, fmt.Errorf("read lock file: no %s", packageName)
	}
	for key, p := range file.Packages {
		platform, ok := strings.CutPrefix(key, at+"-")
		if !ok {
			continue
		}
		if p.Name != packageName || p.Version != l.version+"-"+platform {
			return packageLock{}, fmt.Errorf("read lock file: %s is %s@%s, want version %s", key, p.Name, p.Version, l.version)
		}
		sum, err := parseTarballSum(p.Integrity)
		if err != nil {
			return packageLock{}, fmt.Errorf("read lock file: %s: %w", key, err)
		}
		l.integrity[platform] = sum
	}
	return l, nil
}

// tarballSum is the SHA-512 of a package's tarball. The zero value means that none is known.
type tarballSum [sha512.Size]byte

// parseTarballSum reads Subresource Integrity metadata (W3C SRI, section 3.4) and takes its
// SHA-512; weaker hashes are not enough to stand on.
func parseTarballSum(s string) (tarballSum, error) {
	for word := range strings.FieldsSeq(s) {
		word, _, _ = strings.Cut(word, "?")
		encoded, ok := strings.CutPrefix(word, "sha512-")
		if !ok {
			continue
		}
		b, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if err != nil || len(b) != sha512.Size {
			return tarballSum{}, fmt.Errorf("integrity %.120q is not a SHA-512", word)
		}
		return tarballSum(b), nil
	}
	return tarballSum{}, fmt.Errorf("integrity %.120q has no SHA-512", s)
}

// String is the Subresource Integrity form.
func (s tarballSum) String() string {
	return "sha512-" + base64.StdEncoding.EncodeToString(s[:])
}

// Locked returns the lock file's sum of each platform's package, as Subresource Integrity.
func Locked() map[string]string {
	out := map[string]string{}
	for platform, sum := range embeddedLock().integrity {
		out[platform] = sum.String()
	}
	return out
}
