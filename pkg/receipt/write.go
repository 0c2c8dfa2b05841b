package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/recibo-ci/recibo/pkg/disk"
)

const (
	// fileMax bounds the file, in bytes: ours and what others keep in it.
	fileMax = 4 << 20
	// asideMax bounds the files that are moved aside.
	asideMax = 10_000
)

// Write puts r at path. Top-level keys that are not the receipt's are kept, with their literals
// byte for byte; the receipt's own are replaced as a whole, whatever was there. What others wrote
// between Write's reading and its renaming is lost: JSON files have no lock.
//
// What is at path and cannot be kept in it (not a JSON object, not UTF-8, over 4 MiB, nested over
// 64 deep, not a regular file of its own, unreadable) is moved aside first, and aside is then the
// path it got: path + ".kept-1" or the next free number.
func Write(path string, r *Receipt) (aside string, err error) {
	ours, err := r.tree()
	if err != nil {
		return "", fmt.Errorf("print receipt: %w", err)
	}
	data, perm, err := merge(path, ours)
	if err != nil {
		if aside, err = moveAside(path); err != nil {
			return "", fmt.Errorf("make room for receipt %q: %w", path, err)
		}
		data, perm = ours.print(), filePerm
	}
	if err := disk.Write(path, data, perm); err != nil {
		return aside, fmt.Errorf("write receipt: %w", err)
	}
	return aside, nil
}

const filePerm fs.FileMode = 0o644

// merge returns ours together with the others' keys at path, and the permissions to write it
// with: a file that only its owner may read stays so.
func merge(path string, ours *value) ([]byte, fs.FileMode, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ours.print(), filePerm, nil
	}
	if err != nil {
		return nil, 0, err
	}
	old, err := disk.Read(filepath.Dir(path), filepath.Base(path), fileMax)
	if err != nil {
		return nil, 0, err
	}
	if len(bytes.TrimSpace(old)) == 0 {
		return ours.print(), info.Mode().Perm(), nil
	}
	all, err := parseObject(old)
	if err != nil {
		return nil, 0, err
	}
	_, others := all.split()
	data := (&value{open: '{', members: append(others, ours.members...)}).print()
	if len(data) > fileMax {
		// The next run could not read it, and would move this receipt away.
		return nil, 0, disk.ErrTooLarge
	}
	return data, info.Mode().Perm(), nil
}

func parseObject(data []byte) (*value, error) {
	v, err := parseTree(data)
	if err != nil {
		return nil, err
	}
	if v.open != '{' {
		return nil, errors.New("not a JSON object")
	}
	return v, nil
}

// split tells the receipt's members at the top level from other writers'. Names are compared
// exactly: another's "Status" is not ours.
func (v *value) split() (ours, others []member) {
	names := fieldNames()
	for _, m := range v.members {
		if names[m.name] {
			ours = append(ours, m)
		} else {
			others = append(others, m)
		}
	}
	return ours, others
}

func fieldNames() map[string]bool {
	names := map[string]bool{}
	t := reflect.TypeFor[Receipt]()
	for i := range t.NumField() {
		names[t.Field(i).Tag.Get("json")] = true
	}
	return names
}

// moveAside renames what is at path to a name that is free. Renaming moves a symbolic link, a
// pipe or a directory itself, and follows nothing.
func moveAside(path string) (string, error) {
	for n := 1; n <= asideMax; n++ {
		aside := fmt.Sprintf("%s.kept-%d", path, n)
		_, err := os.Lstat(aside)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		return aside, os.Rename(path, aside)
	}
	return "", fmt.Errorf("%d files are kept beside it already", asideMax)
}
