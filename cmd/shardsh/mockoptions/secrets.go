package mockoptions

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mongoerr"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// ReadUsers creates the users of --auth: all in the database admin, with the roles in their files, or
// root.
func ReadUsers(specs []string) (*access.Directory, error) {
	directory := access.NewDirectory()
	for _, spec := range specs {
		name, path, ok := strings.Cut(spec, ":")
		if !ok || name == "" || path == "" {
			return nil, cmdline.Usagef("--auth takes user:file, the file holding the password, not %q", spec)
		}
		draft, err := readUser(path)
		if err != nil {
			return nil, cmdline.Usagef("--auth %s: %w", name, err)
		}
		err = directory.AddConfigured("admin", name, draft)
		if mongoerr.Is(err, mongoerr.UserExists) {
			return nil, cmdline.Usagef("--auth: the user %s is given twice", name)
		}
		if err != nil {
			return nil, cmdline.Usagef("--auth %s: %w", name, err)
		}
	}
	return directory, nil
}

// readUser reads a user's file: the password in the first line, optionally followed by one role a line.
// No error contains text that may be part of a password.
func readUser(path string) (access.UserSpec, error) {
	draft := access.UserSpec{Roles: []access.Role{{Role: "root", Database: "admin"}}}
	data, err := secret.ReadFile(path, secret.MaxPasswordBytes)
	if err != nil {
		return draft, err
	}
	lines := strings.Split(strings.TrimRight(string(data), "\r\n"), "\n")
	if draft.Password = strings.TrimSuffix(lines[0], "\r"); draft.Password == "" {
		return draft, fmt.Errorf("the first line of %s is empty: it should hold the password", path)
	}
	if len(lines) > 1 {
		draft.Roles = nil
	}
	for i, line := range lines[1:] {
		role, err := readRole(line)
		if err != nil {
			return draft, fmt.Errorf("line %d of %s: %w", i+2, path, err)
		}
		draft.Roles = append(draft.Roles, role)
	}
	return draft, nil
}

// readRole parses "role: NAME@DB", or "role: NAME" for a role of admin.
func readRole(line string) (access.Role, error) {
	full, isRole := strings.CutPrefix(line, "role:")
	if !isRole {
		return access.Role{}, errors.New("after the password, lines must be like \"role: readWrite@app\" or " +
			"\"role: clusterMonitor\"")
	}
	name, db, scoped := strings.Cut(strings.TrimSpace(full), "@")
	if !scoped {
		db = "admin"
	}
	role := access.Role{Role: name, Database: db}
	if !slices.Contains(access.BuiltinRoles(db), role) {
		return role, fmt.Errorf("the database %s has no built-in role %s", db, name)
	}
	return role, nil
}

// ReadTLS reads a certificate and its key; an empty key means that both are in one file. It returns nil
// without a certificate.
func ReadTLS(certificate, key string) (*tls.Config, error) {
	if certificate == "" {
		return nil, nil
	}
	keyOption := "--tls-key"
	if key == "" {
		key, keyOption = certificate, "--tls-cert"
	}
	if _, err := secret.CheckKeyFile(key); err != nil {
		return nil, cmdline.Usagef("%s: %w", keyOption, err)
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	var missing *fs.PathError
	switch {
	case errors.As(err, &missing):
		return nil, cmdline.UsageError{Err: err}
	case err != nil:
		return nil, cmdline.Usagef("--tls-cert %s and --tls-key %s: %w", certificate, key, err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, CipherSuites: target.CipherSuites(),
	}, nil
}
