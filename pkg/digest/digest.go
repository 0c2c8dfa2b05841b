// Package digest names bytes by their SHA-256.
//
// It does not decide which bytes matter: callers hash what they read once and pass on.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// SHA256 is a digest as defined by FIPS 180-4. The zero value means that nothing was hashed.
type SHA256 [sha256.Size]byte

// Of returns the digest of b.
func Of(b []byte) SHA256 { return sha256.Sum256(b) }

// Reader returns the digest of everything r yields, and how many bytes that was.
func Reader(r io.Reader) (SHA256, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return SHA256{}, n, err
	}
	return SHA256(h.Sum(nil)), n, nil
}

// File returns the digest and the length in bytes of the file at path.
func File(path string) (SHA256, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return SHA256{}, 0, err
	}
	defer f.Close()
	d, n, err := Reader(f)
	if err != nil {
		return SHA256{}, n, fmt.Errorf("hash %q: %w", path, err)
	}
	return d, n, nil
}

// Parse reads 64 lower-case hex digits.
func Parse(s string) (SHA256, error) {
	var d SHA256
	if err := d.UnmarshalText([]byte(s)); err != nil {
		return SHA256{}, err
	}
	return d, nil
}

// String returns 64 lower-case hex digits without a prefix, or "" for the zero value.
func (d SHA256) String() string {
	if d.IsZero() {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// IsZero reports whether nothing was hashed.
func (d SHA256) IsZero() bool { return d == SHA256{} }

// MarshalText is String.
func (d SHA256) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes and nothing else: upper case, prefixes and other
// lengths are errors, so that equal digests are equal strings everywhere.
func (d *SHA256) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = SHA256{}
		return nil
	}
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("digest %q: want 64 hex digits", text)
	}
	for _, c := range text {
		if c >= 'A' && c <= 'F' {
			return fmt.Errorf("digest %q: want lower case", text)
		}
	}
	var out SHA256
	if _, err := hex.Decode(out[:], text); err != nil {
		return fmt.Errorf("digest %q: %w", text, err)
	}
	*d = out
	return nil
}
