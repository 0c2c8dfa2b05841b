package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
)

// LayOwner gives dir and all below it to the jail's user, without following symbolic links. Use
// it on directories of our own making, before the program starts. Where this process is not root
// the owner is right already.
func LayOwner(dir string, uid, gid int) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
}
