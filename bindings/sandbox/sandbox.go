// Package sandbox defines what scripts in a sandbox may do on this machine: which files they may read,
// which environment variables they may read, and to which hosts they may connect. They can never write
// files or start programs.
package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rules are the permissions of scripts. Nil means that there is no sandbox, and everything is allowed.
type Rules struct {
	// ReadPaths holds files and directories that scripts may read.
	ReadPaths []string
	// CodePaths holds files and directories that scripts may only run: load, require, import.
	CodePaths []string
	// EnvNames holds names of variables, and Hosts holds hosts or host:port.
	EnvNames, Hosts []string
}

// RefusedError is the error of a forbidden operation. Its message names the option that would allow the
// operation, if there is one.
type RefusedError struct {
	what, option string
}

func (e *RefusedError) Error() string {
	text := "EACCES: --sandbox: scripts may not " + e.what
	if e.option != "" {
		text += "; " + e.option + " would allow it"
	}
	return text
}

func newRefusal(option, what string, args ...any) error {
	return &RefusedError{what: fmt.Sprintf(what, args...), option: option}
}

// CheckWrite returns an error if files may not be written.
func (r *Rules) CheckWrite() error {
	if r == nil {
		return nil
	}
	return newRefusal("", "write files")
}

// CheckStartProgram returns an error if programs may not be started.
func (r *Rules) CheckStartProgram() error {
	if r == nil {
		return nil
	}
	return newRefusal("", "start programs")
}

// CheckRead returns an error for files and directories that were not granted.
func (r *Rules) CheckRead(path string) error {
	if r == nil || isWithin(path, r.ReadPaths) {
		return nil
	}
	return newRefusal("--allow-read "+quoteName(path), "read %s", quoteName(path))
}

// CheckMayRun returns an error for scripts and modules that were not granted.
func (r *Rules) CheckMayRun(path string) error {
	if r == nil || slices.Contains(r.CodePaths, path) || isWithin(path, r.CodePaths) {
		return nil
	}
	return r.CheckRead(path)
}

// CheckEnv returns an error for an environment variable that was not granted.
func (r *Rules) CheckEnv(name string) error {
	if r == nil || slices.Contains(r.EnvNames, name) {
		return nil
	}
	return newRefusal("--allow-env "+quoteName(name), "read the variable %s of the environment", quoteName(name))
}

// CheckConnect returns an error for hosts that were not granted. A grant without a port covers all
// ports.
func (r *Rules) CheckConnect(host string) error {
	if r == nil {
		return nil
	}
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	for _, granted := range r.Hosts {
		if strings.EqualFold(granted, host) || strings.EqualFold(granted, name) ||
			strings.EqualFold(granted, "["+name+"]") {
			return nil
		}
	}
	return newRefusal("--allow-net "+quoteName(host), "connect to %s", quoteName(host))
}

// isWithin reports whether a path, after symlinks are resolved, is one of the directories or is in one
// of them.
func isWithin(path string, directories []string) bool {
	target, err := resolveLinks(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(directories, func(dir string) bool {
		root, err := resolveLinks(dir)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(root, target)
		return err == nil && (rel == "." || filepath.IsLocal(rel))
	})
}

// resolveLinks resolves the symlinks of a path. For a missing path, it resolves those of the existing
// part.
func resolveLinks(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		switch parent := filepath.Dir(path); {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !os.IsNotExist(err) || parent == path:
			return "", err
		default:
			rest = filepath.Join(filepath.Base(path), rest)
			path = parent
		}
	}
}

// quoteName quotes a name that comes from a script.
func quoteName(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\'' || r == '"' || r == ' ' || r > '~' }) {
		return fmt.Sprintf("%q", text)
	}
	return text
}
