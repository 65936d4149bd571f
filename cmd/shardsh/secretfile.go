package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

const (
	// maxPasswordBytes keeps a file that is no password from being read whole.
	maxPasswordBytes = 4096
	// maxKeyBytes is more than a key takes with a chain of certificates.
	maxKeyBytes = 1 << 20
	// othersMode are the permissions that let others at a file.
	othersMode = fs.FileMode(0o077)
)

// readSecretFile reads a file with a secret in it, of at most so many bytes. Like
// ssh it takes none that others may read: who could has the secret already.
// Pipes, such as a shell makes of <(…), are nobody else's.
func readSecretFile(path string, most int64) ([]byte, error) {
	data, mode, err := readBounded(path, most)
	if err != nil {
		return nil, err
	}
	return data, checkGuarded(path, mode)
}

// checkGuarded refuses a file that others may read, and says what to do.
func checkGuarded(path string, mode fs.FileMode) error {
	if runtime.GOOS == "windows" || !mode.IsRegular() || mode.Perm()&othersMode == 0 {
		return nil
	}
	return fmt.Errorf("others may read %s (mode %#o): chmod 600 it", path, mode.Perm())
}

// readBounded reads a file of at most so many bytes, and tells its mode.
func readBounded(path string, most int64) ([]byte, fs.FileMode, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, fmt.Errorf("%s is a directory", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is longer than %d bytes: that is no secret", path, most)
	}
	return data, info.Mode(), err
}

// checkKeyFile refuses a PEM file that others may read and that has a key in it
// which no password protects.
func checkKeyFile(path string) (encrypted bool, err error) {
	data, mode, err := readBounded(path, maxKeyBytes)
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
	return false, checkGuarded(path, mode)
}
