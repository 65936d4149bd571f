package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"shardsh/balancer/mock/users"
	"shardsh/balancer/mongoerr"
)

// readUsers makes the users of --auth: all on admin, with the role root.
func readUsers(specs []string) (*users.Directory, error) {
	directory := users.NewDirectory()
	for _, spec := range specs {
		name, path, ok := strings.Cut(spec, ":")
		if !ok || name == "" || path == "" {
			return nil, usagef("--auth takes user:file, the file holding the password, not %q", spec)
		}
		password, err := readPassword(path)
		if err != nil {
			return nil, usageError{fmt.Errorf("--auth %s: %w", name, err)}
		}
		err = directory.Create("admin", name, users.Draft{Password: password, Roles: []users.Role{{Role: "root", Database: "admin"}}})
		if mongoerr.Is(err, mongoerr.UserExists) {
			return nil, usagef("--auth: the user %s is given twice", name)
		}
		if err != nil {
			return nil, usageError{fmt.Errorf("--auth %s: %w", name, err)}
		}
	}
	return directory, nil
}

const (
	// maxPasswordBytes keeps a file that is no password from being read whole.
	maxPasswordBytes = 4096
	// othersMode are the permissions that let others at a file.
	othersMode = fs.FileMode(0o077)
)

// readPassword reads a file of one line. Its text never shows in an error.
func readPassword(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	switch {
	case info.IsDir():
		return "", fmt.Errorf("%s is a directory", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&othersMode != 0:
		return "", fmt.Errorf("others may read %s (mode %#o): chmod 600 it", path, info.Mode().Perm())
	case info.Size() > maxPasswordBytes:
		return "", fmt.Errorf("%s holds more than a password", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case password == "":
		return "", fmt.Errorf("%s is empty: it should hold the password", path)
	case strings.ContainsAny(password, "\r\n"):
		return "", fmt.Errorf("%s has more than one line: it should hold the password only", path)
	}
	return password, nil
}

// readTLS reads the certificate and its key, which may be in one file. It is
// nil without.
func (o serveLine) readTLS() (*tls.Config, error) {
	if o.tlsCert == "" {
		return nil, nil
	}
	key := o.tlsKey
	if key == "" {
		key = o.tlsCert
	}
	pair, err := tls.LoadX509KeyPair(o.tlsCert, key)
	var missing *fs.PathError
	switch {
	case errors.As(err, &missing):
		return nil, usageError{err}
	case err != nil:
		return nil, usageError{fmt.Errorf("--tls-cert %s and --tls-key %s: %w", o.tlsCert, key, err)}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
