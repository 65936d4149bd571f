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

// Rules are what was granted. Nil Rules mean no sandbox: everything goes.
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

func refuse(option, what string, args ...any) error {
	return &RefusedError{what: fmt.Sprintf(what, args...), option: option}
}

// MayWrite refuses to change files.
func (r *Rules) MayWrite() error {
	if r == nil {
		return nil
	}
	return refuse("", "write files")
}

// MayStart refuses to start programs.
func (r *Rules) MayStart() error {
	if r == nil {
		return nil
	}
	return refuse("", "start programs")
}

// MayRead refuses files and directories outside of those granted.
func (r *Rules) MayRead(path string) error {
	if r == nil || within(path, r.Read) {
		return nil
	}
	return refuse("--allow-read "+quoted(path), "read %s", quoted(path))
}

// MayRun refuses scripts and modules outside of those granted.
func (r *Rules) MayRun(path string) error {
	if r == nil || slices.Contains(r.Code, path) || within(path, r.Code) {
		return nil
	}
	return r.MayRead(path)
}

// MayLookUp reports whether scripts see a variable of the environment.
func (r *Rules) MayLookUp(name string) error {
	if r == nil || slices.Contains(r.Env, name) {
		return nil
	}
	return refuse("--allow-env "+quoted(name), "read the variable %s of the environment", quoted(name))
}

// MayConnect refuses hosts that were not granted. A grant without a port is for all
// ports.
func (r *Rules) MayConnect(host string) error {
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
	return refuse("--allow-net "+quoted(host), "connect to %s", quoted(host))
}

// within reports whether a path, wherever its links lead, is in one of the
// directories, or one of them.
func within(path string, directories []string) bool {
	target, err := resolved(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(directories, func(dir string) bool {
		root, err := resolved(dir)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(root, target)
		return err == nil && (rel == "." || filepath.IsLocal(rel))
	})
}

// resolved follows the links of a path; of one that is not there, those of the
// part that is.
func resolved(path string) (string, error) {
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

// quoted shows a name that comes from a script.
func quoted(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\'' || r == '"' || r == ' ' || r > '~' }) {
		return fmt.Sprintf("%q", text)
	}
	return text
}
