// Package sandbox says what scripts in a sandbox may do on this machine: read which
// files, look at which variables of the environment, connect to which hosts. They
// never write files and never start programs.
package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rules are the permissions of scripts. Nil means no sandbox: everything is allowed.
type Rules struct {
	// Read are files and directories that scripts may read.
	Read []string
	// Code are those that they may only run: load, require, import.
	Code []string
	// Env are names of variables, Net hosts or host:port.
	Env, Net []string
}

// RefusedError is the error of what a script may not do. Its text names the option that
// would allow it, where one does.
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

// CheckWrite refuses to change files.
func (r *Rules) CheckWrite() error {
	if r == nil {
		return nil
	}
	return newRefusal("", "write files")
}

// CheckStart refuses to start programs.
func (r *Rules) CheckStart() error {
	if r == nil {
		return nil
	}
	return newRefusal("", "start programs")
}

// CheckRead refuses files and directories outside of those granted.
func (r *Rules) CheckRead(path string) error {
	if r == nil || isWithin(path, r.Read) {
		return nil
	}
	return newRefusal("--allow-read "+quoteName(path), "read %s", quoteName(path))
}

// CheckRun refuses scripts and modules outside of those granted.
func (r *Rules) CheckRun(path string) error {
	if r == nil || slices.Contains(r.Code, path) || isWithin(path, r.Code) {
		return nil
	}
	return r.CheckRead(path)
}

// CheckEnv reports whether scripts see a variable of the environment.
func (r *Rules) CheckEnv(name string) error {
	if r == nil || slices.Contains(r.Env, name) {
		return nil
	}
	return newRefusal("--allow-env "+quoteName(name), "read the variable %s of the environment", quoteName(name))
}

// CheckConnect refuses hosts that were not granted. A grant without a port is for all
// ports.
func (r *Rules) CheckConnect(host string) error {
	if r == nil {
		return nil
	}
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	for _, granted := range r.Net {
		if strings.EqualFold(granted, host) || strings.EqualFold(granted, name) ||
			strings.EqualFold(granted, "["+name+"]") {
			return nil
		}
	}
	return newRefusal("--allow-net "+quoteName(host), "connect to %s", quoteName(host))
}

// isWithin reports whether a path, wherever its links lead, is in one of the
// directories, or one of them.
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

// resolveLinks resolves the symlinks of a path; of one that does not exist, those of the
// existing part.
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

// quoteName shows a name that comes from a script.
func quoteName(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\'' || r == '"' || r == ' ' || r > '~' }) {
		return fmt.Sprintf("%q", text)
	}
	return text
}
