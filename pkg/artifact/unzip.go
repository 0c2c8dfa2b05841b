package artifact

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"

	"github.com/recibo-ci/recibo/pkg/disk"
)

// entriesMax bounds the entries of a zip that is read.
const entriesMax = filesMax

// Unzip reads the files of an artifact that anybody may have made: regular files of relative
// names, each name once, in the zip's order, together at most limit bytes. Anything else is an
// error; nothing is written anywhere.
func Unzip(data []byte, limit int64) ([]File, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("read artifact: %w", err)
	}
	if len(archive.File) > entriesMax {
		return nil, fmt.Errorf("read artifact: %d files, at most %d are read", len(archive.File), entriesMax)
	}
	var files []File
	seen := map[string]bool{}
	for _, entry := range archive.File {
		if seen[entry.Name] {
			return nil, fmt.Errorf("read artifact: two files named %q", entry.Name)
		}
		seen[entry.Name] = true
		content, err := readEntry(entry, limit)
		if err != nil {
			return nil, fmt.Errorf("read artifact: %w", err)
		}
		limit -= int64(len(content))
		files = append(files, File{Name: entry.Name, Data: content})
	}
	return files, nil
}

func readEntry(entry *zip.File, left int64) ([]byte, error) {
	if err := checkFileName(entry.Name); err != nil {
		return nil, err
	}
	if kind := entry.Mode().Type(); kind != 0 {
		return nil, fmt.Errorf("file %q: %w (%s)", entry.Name, errNotRegular, kind&fs.ModeType)
	}
	content, err := entry.Open()
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", entry.Name, err)
	}
	defer content.Close()
	// What the zip says of its sizes is not believed.
	data, err := io.ReadAll(io.LimitReader(content, left+1))
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", entry.Name, err)
	}
	if int64(len(data)) > left {
		return nil, fmt.Errorf("file %q: %w of what may be read", entry.Name, disk.ErrTooLarge)
	}
	return data, nil
}
