package apply

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks one byte far behind the end of the file, so that others can read the file.
func lock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrJournalInUse
	}
	return err
}
