package safefile

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Replace writes a file that only its owner can read. If it fails, the file keeps its old content.
// Special files such as /dev/null or a named pipe are written to and not replaced. A symbolic link of this
// user stays, and the file to which it points is replaced.
func Replace(path string, write func(io.Writer) error) error {
	path = followOwnLink(path)
	if IsSpecial(path) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(writeBuffered(f, write), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	if err = writeBuffered(f, write); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is returned
	}
	return err
}

// followOwnLink returns the file to which a link points. A link of another user, who could choose the file,
// is not followed.
func followOwnLink(path string) string {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 || !hasTrustedOwner(info) {
		return path
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil { // there is no file yet
		return path
	}
	return file
}

func writeBuffered(f *os.File, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(f, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}
