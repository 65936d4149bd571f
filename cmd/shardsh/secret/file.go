// Package secret keeps passwords and keys to those whom they are for: it asks for them,
// reads them from files, and hides them in what others see.
package secret

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

const (
	// MaxPassword bytes keep a file that is not a password from being read whole.
	MaxPassword = 4096
	// maxKey is more than a key takes with a chain of certificates.
	maxKey = 1 << 20
	// othersMode are the permissions that let others at a file, groupMode that which root may
	// give to a group.
	othersMode = fs.FileMode(0o077)
	groupMode  = fs.FileMode(0o040)
)

// ReadFile reads a file with a secret in it, of at most so many bytes. Like
// ssh it refuses files that others can read: the secret may be known already. As for
// PostgreSQL, the group of a file of root's may read it. Pipes, such as a shell makes of
// <(…), are private.
func ReadFile(path string, most int64) ([]byte, error) {
	data, info, err := readBounded(path, most)
	if err != nil {
		return nil, err
	}
	return data, checkPermissions(path, info.Mode(), givenByRoot(info))
}

// checkPermissions refuses a file that others may read, and says what to do.
func checkPermissions(path string, mode fs.FileMode, byRoot bool) error {
	others := othersMode
	if byRoot {
		others &^= groupMode
	}
	if runtime.GOOS == "windows" || !mode.IsRegular() || mode.Perm()&others == 0 {
		return nil
	}
	return fmt.Errorf("others may read %s (mode %#o): chmod 600 it", path, mode.Perm())
}

// readBounded reads a file of at most most bytes, and returns what it is.
func readBounded(path string, most int64) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, fmt.Errorf("%s is a directory", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is longer than %d bytes: it is not a secret", path, most)
	}
	return data, info, err
}

// CheckKeyFile refuses a PEM file that others may read and that has a key in it
// which no password protects.
func CheckKeyFile(path string) (encrypted bool, err error) {
	data, info, err := readBounded(path, maxKey)
	if err != nil {
		return false, err
	}
	text := string(data)
	if strings.Contains(text, "BEGIN ENCRYPTED PRIVATE KEY") || strings.Contains(text, "Proc-Type: 4,ENCRYPTED") {
		return true, nil
	}
	if !strings.Contains(text, "PRIVATE KEY") {
		return false, nil
	}
	return false, checkPermissions(path, info.Mode(), givenByRoot(info))
}

// ReadPassword returns the first line of a file that nobody else may read.
func ReadPassword(path string) (string, error) {
	data, err := ReadFile(path, MaxPassword)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("the first line of %s is empty", path)
	}
	return line, nil
}
