package actions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// appendFile appends what text makes, given how many bytes the file holds, in one write and on a
// line of its own: what another program left without a newline at its end would swallow the first
// line. Nothing made is nothing written.
//
// It refuses what is no regular file: opening a pipe would block, and a link may lead anywhere.
func appendFile(path string, text func(size int64) []byte) (err error) {
	info, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err = f.Stat()
	if err != nil {
		return err
	}
	made := text(info.Size())
	if len(made) == 0 {
		return nil
	}
	ended, err := endsLine(f, info.Size())
	if err != nil {
		return err
	}
	if !ended {
		made = append([]byte("\n"), made...)
	}
	_, err = f.Write(made)
	return err
}

// endsLine reports whether a file of that size is empty or ends with a newline.
func endsLine(f *os.File, size int64) (bool, error) {
	if size == 0 {
		return true, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return false, err
	}
	return last[0] == '\n', nil
}
