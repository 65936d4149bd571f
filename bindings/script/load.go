package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dop251/goja"
)

// ShippedPrefix is the prefix of shipped scripts (Options.Scripts) in load and require.
const ShippedPrefix = "shardsh:"

// Load runs a script in the shared scope, with its own __filename and __dirname.
func (s *Modules) Load(name string) (goja.Value, error) {
	text, path, err := s.readScript(name)
	if err != nil {
		return nil, err
	}
	return s.runAsFile(path, func() (goja.Value, error) {
		if !isESModule(path, text) {
			return s.js.runText(name, text, true)
		}
		done, err := s.runESModule(name, path, func(*goja.Object) {})
		if err != nil || done == nil {
			return goja.Undefined(), err
		}
		return done, nil
	})
}

// readScript finds and reads a script.
func (s *Modules) readScript(name string) (text, path string, err error) {
	if shipped, ok := strings.CutPrefix(name, ShippedPrefix); ok {
		if s.js.cfg.Scripts == nil {
			return "", "", &Error{Name: "Error", Message: "no scripts are shipped with this shell"}
		}
		if filepath.Ext(shipped) == "" {
			shipped += ".js"
		}
		data, err := fs.ReadFile(s.js.cfg.Scripts, shipped)
		if err != nil {
			return "", "", &Error{Name: "Error", Message: fmt.Sprintf("no shipped script is named %q", shipped)}
		}
		return string(data), name, nil
	}
	path, err = filepath.Abs(s.scriptPath(name))
	if err != nil {
		return "", "", err
	}
	if err := s.checkMayRun(path); err != nil {
		return "", "", err
	}
	data, err := ReadFile(path)
	if err != nil {
		return "", "", FileError(err, "open", path)
	}
	s.notifyLoaded(path)
	if text = string(data); nestsTooDeep(text) {
		return "", "", errNesting(name)
	}
	return text, path, nil
}

// checkMayRun calls Options.CheckMayRun.
func (s *Modules) checkMayRun(path string) error {
	if s.js.cfg.CheckMayRun == nil {
		return nil
	}
	return s.js.cfg.CheckMayRun(path)
}

// notifyLoaded calls Options.OnLoad.
func (s *Modules) notifyLoaded(path string) {
	if s.js.cfg.OnLoad != nil {
		s.js.cfg.OnLoad(path)
	}
}

// scriptPath returns the path of a file that a script names: relative to the script if the name starts
// with a dot, otherwise in the working directory, otherwise in the libraries
// (rules/04-values-and-language §4.6).
func (s *Modules) scriptPath(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if n := len(s.loadingDirs); n > 0 && strings.HasPrefix(name, ".") {
		if beside := filepath.Join(s.loadingDirs[n-1], name); Exists(beside) {
			return beside
		}
	}
	if Exists(name) {
		return name
	}
	for _, lib := range libraryDirs() {
		if in := filepath.Join(lib, name); Exists(in) {
			return in
		}
	}
	return name
}

// fileSystemError is an error of the file system or of module resolution, with Node's code and
// message.
type fileSystemError struct{ code, syscall, path, text string }

func (e *fileSystemError) Error() string { return e.text }

// FileError converts an error of the file system to Node's error.
func FileError(err error, operation, path string) error {
	if known := (*fileSystemError)(nil); errors.As(err, &known) {
		return known
	}
	code, text := "EIO", err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, text = "ENOENT", "no such file or directory"
	case errors.Is(err, fs.ErrPermission):
		code, text = "EACCES", "permission denied"
	case errors.Is(err, syscall.ENOTEMPTY):
		code, text = "ENOTEMPTY", "directory not empty"
	case errors.Is(err, fs.ErrExist):
		code, text = "EEXIST", "file already exists"
	case errors.Is(err, syscall.EISDIR):
		code, text = "EISDIR", "illegal operation on a directory"
	case errors.Is(err, syscall.ENOTDIR):
		code, text = "ENOTDIR", "not a directory"
	default:
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			text = p.Err.Error()
		}
	}
	return &fileSystemError{code: code, syscall: operation, path: path,
		text: fmt.Sprintf("%s: %s, %s '%s'", code, text, operation, path)}
}

// Exists reports whether a file or directory exists.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// runAsFile runs a function with the __filename and __dirname of a file.
func (s *Modules) runAsFile(path string, run func() (goja.Value, error)) (goja.Value, error) {
	global := s.js.Runtime.GlobalObject()
	names := map[string]goja.Value{"__filename": s.js.Runtime.ToValue(path),
		"__dirname": s.js.Runtime.ToValue(filepath.Dir(path))}
	before := make(map[string]goja.Value, len(names))
	for name, v := range names {
		before[name] = global.Get(name)
		Must(global.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	s.loadingDirs = append(s.loadingDirs, filepath.Dir(path))
	defer func() {
		s.loadingDirs = s.loadingDirs[:len(s.loadingDirs)-1]
		for name, v := range before {
			if v == nil {
				_ = global.Delete(name)
				continue
			}
			_ = global.Set(name, v)
		}
	}()
	return run()
}

// InScript reports whether code of a file is running.
func (s *Modules) InScript() bool { return len(s.loadingDirs) > 0 }
