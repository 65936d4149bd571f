package script

import (
	"fmt"
	"io"
	"os"
)

// The maximum number of bytes that are read: Node's limit for files, and a lower limit for inputs
// without a size, such as a device without an end.
const (
	maxFileSize   = 2 << 30
	maxStreamSize = 512 << 20
)

// ReadFile reads a whole file for a script.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	limit := int64(maxStreamSize)
	if info.Mode().IsRegular() {
		limit = maxFileSize
	}
	if info.Size() > limit {
		return nil, newTooLargeError(path, limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, newTooLargeError(path, limit)
	}
	return data, err
}

func newTooLargeError(path string, limit int64) error {
	return &fileSystemError{code: "ERR_FS_FILE_TOO_LARGE", syscall: "read", path: path,
		text: fmt.Sprintf("File size of '%s' is greater than %d MiB", path, limit>>20)}
}
