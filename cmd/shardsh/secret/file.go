// Package secret protects passwords and keys: it asks for them, reads them from files, and hides them
// in output.
package secret

import (
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

const (
	// MaxPasswordBytes is the maximum size of a password file in bytes; it keeps other files from being read
	// completely.
	MaxPasswordBytes = 4096
	// maxKeyBytes is larger than a key with a chain of certificates.
	maxKeyBytes = 1 << 20
	// othersMode are the permissions of other users and of the group. groupMode is the permission that
	// root may give to a group.
	othersMode = fs.FileMode(0o077)
	groupMode  = fs.FileMode(0o040)
)

// ReadFile reads a file with a secret, of no more than maxBytes bytes. Like ssh, it rejects files that other
// users can read, because they may know the secret already. As in PostgreSQL, the group of a file owned
// by root may read it. Pipes, such as that of a shell's <(…), are private.
func ReadFile(path string, maxBytes int64) ([]byte, error) {
	data, info, err := readBounded(path, maxBytes)
	if err != nil {
		return nil, err
	}
	if err := checkPermissions(path, info.Mode(), isProvidedByRoot(info)); err != nil {
		return nil, err
	}
	return data, nil
}

// checkPermissions returns an error for a file that other users may read or write. The error names the remedy.
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

// readBounded reads a file of no more than maxBytes bytes, and returns its FileInfo.
func readBounded(path string, maxBytes int64) ([]byte, fs.FileInfo, error) {
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
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && int64(len(data)) > maxBytes {
		err = fmt.Errorf("%s is longer than %d bytes: it is not a secret", path, maxBytes)
	}
	return data, info, err
}

// CheckKeyFile returns an error for a PEM file that other users may read and that contains an unencrypted
// key. encrypted reports whether the file contains an encrypted key, and no other.
func CheckKeyFile(path string) (encrypted bool, err error) {
	data, info, err := readBounded(path, maxKeyBytes)
	if err != nil {
		return false, err
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.HasSuffix(block.Headers["Proc-Type"], "ENCRYPTED"):
			encrypted = true
		default:
			return false, checkPermissions(path, info.Mode(), isProvidedByRoot(info))
		}
	}
	return encrypted, nil
}

// ReadPassword returns the first line of a file that only its owner may read.
func ReadPassword(path string) (string, error) {
	data, err := ReadFile(path, MaxPasswordBytes)
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
