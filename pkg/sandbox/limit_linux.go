package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// limit bounds this process and all it will start.
func limit(o order) error {
	limits := []struct {
		name     string
		resource int
		value    uint64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"file size", unix.RLIMIT_FSIZE, uint64(o.Policy.Limits.FileSizeBytes)},
		{"open files", unix.RLIMIT_NOFILE, uint64(o.Policy.Limits.OpenFiles)},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"processes", unix.RLIMIT_NPROC, uint64(o.Policy.Limits.Processes)},
	}
	if !o.has(wallUser) {
		// The kernel counts by user, and this one has other processes.
		limits = limits[:len(limits)-1]
	}
	for _, l := range limits {
		value := l.value
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("read limit of %s: %w", l.name, err)
		}
		value = min(value, now.Max)
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return volunteer()
}

// volunteer makes the kernel end the program before anything else when memory runs out.
func volunteer() error {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0); err != nil {
		return fmt.Errorf("let the program go first when memory runs out: %w", err)
	}
	return nil
}

// minFreeFiles is how many more files every file system must have room for.
const minFreeFiles = 1000

// short returns the first of dirs whose file system has less than free bytes left, or "".
func short(dirs []string, free int64) (string, error) {
	for _, dir := range dirs {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil {
			return "", fmt.Errorf("ask for free disk at %q: %w", dir, err)
		}
		// Bavail, not Bfree: what is kept for root is kept for the receipt.
		if s.Bavail < uint64(free)/uint64(s.Bsize) || s.Files > 0 && s.Ffree < minFreeFiles {
			return dir, nil
		}
	}
	return "", nil
}
