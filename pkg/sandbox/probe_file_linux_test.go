package sandbox

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Probes that go for files. The path comes first.
func fileProbes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"read": func(a []string) error {
			_, err := os.ReadFile(a[0])
			return err
		},
		"list": func(a []string) error {
			_, err := os.ReadDir(a[0])
			return err
		},
		"append": func(a []string) error {
			f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			return f.Close()
		},
		"truncate": func(a []string) error { return os.Truncate(a[0], 0) },
		"create":   func(a []string) error { return os.WriteFile(filepath.Join(a[0], "new"), nil, 0o600) },
		"mkdir":    func(a []string) error { return os.Mkdir(filepath.Join(a[0], "new"), 0o700) },
		"remove":   func(a []string) error { return os.Remove(a[0]) },
		"rename":   func(a []string) error { return os.Rename(a[0], a[1]) },
		"link":     func(a []string) error { return os.Link(a[0], a[1]) },
		"symlink":  func(a []string) error { return os.Symlink("/etc/passwd", filepath.Join(a[0], "new")) },
		"fifo":     func(a []string) error { return unix.Mkfifo(filepath.Join(a[0], "new"), 0o600) },
		"run":      func(a []string) error { return unix.Exec(a[0], []string{a[0]}, nil) },
	}
}
