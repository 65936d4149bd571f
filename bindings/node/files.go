package node

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// fileGlobals returns the functions for files and the host.
func fileGlobals() []global {
	return []global{
		{"load", "path:string", func(c *call) goja.Value {
			v, err := c.JS.Modules.Load(c.Text(0))
			c.JS.Check(err)
			if p, ok := script.AsPromise(v); ok && p.State() == goja.PromiseStatePending {
				return v // the module awaits at its top level, and the caller may await it
			}
			return c.JS.Runtime.ToValue(true)
		}, "Runs a script."},
		{"cat", "path:string", func(c *call) goja.Value { return c.JS.Runtime.ToValue(c.globals.readFile(c.Text(0))) },
			"Returns the text of a file."},
		{"ls", "directory?:string", func(c *call) goja.Value {
			dir := "."
			if c.Has(0) {
				dir = c.Text(0)
			}
			var names []any
			for _, e := range c.globals.readDir(dir) {
				name := filepath.Join(dir, e.Name())
				if e.IsDir() {
					name += "/"
				}
				names = append(names, name)
			}
			return c.JS.Runtime.NewArray(names...)
		}, "Returns the names of the files in a directory."},
		{"listFiles", "directory?:string", func(c *call) goja.Value {
			dir := "."
			if c.Has(0) {
				dir = c.Text(0)
			}
			var items []any
			for _, e := range c.globals.readDir(dir) {
				o := c.JS.NewObject("name", filepath.Join(dir, e.Name()), "baseName", e.Name(), "isDirectory", e.IsDir())
				if info, err := e.Info(); err == nil && !e.IsDir() {
					script.Must(o.Set("size", info.Size()))
				}
				items = append(items, o)
			}
			return c.JS.Runtime.NewArray(items...)
		}, "Returns the files in a directory with their sizes."},
		{"pwd", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(c.globals.workingDirectory()) },
			"Returns the working directory."},
		{"cd", "directory:string", func(c *call) goja.Value {
			c.globals.checkMayRead(c.Text(0))
			if err := os.Chdir(c.Text(0)); err != nil {
				c.JS.Rethrow(script.FileError(err, "chdir", c.Text(0)))
			}
			return nil
		}, "Changes the working directory."},
		{"mkdir", "directory:string", func(c *call) goja.Value {
			c.globals.checkMayWrite()
			if err := os.MkdirAll(c.Text(0), 0o777); err != nil {
				c.JS.Rethrow(script.FileError(err, "mkdir", c.Text(0)))
			}
			return c.JS.NewObject("exists", true, "created", true)
		}, "Makes a directory."},
		{"removeFile", "path:string", func(c *call) goja.Value {
			c.globals.checkMayWrite()
			return c.JS.Runtime.ToValue(os.RemoveAll(c.Text(0)) == nil)
		}, "Removes a file."},
		{"writeFile", "path:string text:string", func(c *call) goja.Value {
			c.globals.writeFile(c.Text(0), c.Text(1), openFlags["w"], newFileMode)
			return nil
		}, "Writes a file."},
		{"fileExists", "path:string", func(c *call) goja.Value {
			return c.JS.Runtime.ToValue(c.globals.fileExists(c.Text(0)))
		},
			"Returns whether a file exists."},
		{"md5sumFile", "path:string", func(c *call) goja.Value {
			return c.JS.Runtime.ToValue(digest("md5",
				[]byte(c.globals.readFile(c.Text(0)))))
		},
			"Returns the MD5 of a file."},
		{"hostname", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(hostname()) },
			"Returns this machine's name."},
		{"getHostName", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(hostname()) },
			"The same as hostname."},
		{"getMemInfo", "", func(c *call) goja.Value { return c.globals.memoryUsage() },
			"Returns this process's memory in MiB."},
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

func (s *Globals) workingDirectory() string {
	dir, err := os.Getwd()
	if err != nil {
		s.JS.Rethrow(script.FileError(err, "getcwd", "."))
	}
	return dir
}

func (s *Globals) readFile(path string) string {
	s.checkMayRead(path)
	data, err := script.ReadFile(path)
	if err != nil {
		s.JS.Rethrow(script.FileError(err, "open", path))
	}
	return string(data)
}

func (s *Globals) fileExists(path string) bool {
	s.checkMayRead(path)
	return script.Exists(path)
}

func (s *Globals) readDir(path string) []fs.DirEntry {
	s.checkMayRead(path)
	entries, err := os.ReadDir(path)
	if err != nil {
		s.JS.Rethrow(script.FileError(err, "scandir", path))
	}
	return entries
}

// checkMayWrite throws if the sandbox forbids writing files.
func (s *Globals) checkMayWrite() { s.JS.Check(s.cfg.Sandbox.CheckWrite()) }

// checkMayRead throws if the sandbox forbids reading a path.
func (s *Globals) checkMayRead(path string) { s.JS.Check(s.cfg.Sandbox.CheckRead(path)) }

// openFlags are the flags with which Node's fs opens a file for writing.
var openFlags = map[string]int{
	"w": os.O_CREATE | os.O_TRUNC, "w+": os.O_CREATE | os.O_TRUNC,
	"wx": os.O_CREATE | os.O_EXCL, "wx+": os.O_CREATE | os.O_EXCL,
	"a": os.O_CREATE | os.O_APPEND, "a+": os.O_CREATE | os.O_APPEND,
	"ax": os.O_CREATE | os.O_APPEND | os.O_EXCL, "ax+": os.O_CREATE | os.O_APPEND | os.O_EXCL,
	"as": os.O_CREATE | os.O_APPEND | os.O_SYNC, "as+": os.O_CREATE | os.O_APPEND | os.O_SYNC,
	"r+": 0, "rs+": os.O_SYNC,
}

// newFileMode are the permissions of new files, less the umask.
const newFileMode os.FileMode = 0o666

// writeFileSync writes a file for fs.writeFileSync and fs.appendFileSync, whose default flag is given.
func (c *call) writeFileSync(flag string) {
	options, mode := c.Object(2), newFileMode
	flag = cmp.Or(script.OptionalText(script.Property(options, "flag")), flag)
	how, ok := openFlags[flag]
	if !ok {
		c.JS.Throw("TypeError", "The argument 'flags' is invalid. Received '%s'", flag)
	}
	if v := script.Property(options, "mode"); v != nil {
		mode = c.fileMode(v)
	}
	c.globals.writeFile(c.Text(0), c.textOrBytesArg(1, c.encoding(2)), how, mode)
}

// fileMode returns the permissions that a script gives: a number, or a text with its octal digits.
func (c *call) fileMode(v goja.Value) os.FileMode {
	if !goja.IsString(v) {
		return os.FileMode(v.ToInteger()).Perm()
	}
	n, err := strconv.ParseUint(v.String(), 8, 32)
	if err != nil {
		c.JS.Throw("TypeError", "The argument 'mode' must be a 32-bit unsigned integer or an octal string. Received '%s'", v)
	}
	return os.FileMode(n).Perm()
}

// writeFile writes a string to a file that it opens with a flag of openFlags.
func (s *Globals) writeFile(path, text string, flag int, mode os.FileMode) {
	s.checkMayWrite()
	f, err := os.OpenFile(path, os.O_WRONLY|flag, mode)
	if err != nil {
		s.JS.Rethrow(script.FileError(err, "open", path))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		s.JS.Rethrow(script.FileError(err, "write", path))
	}
}

// copyFile copies a file with its permissions.
func (s *Globals) copyFile(from, to string) {
	text := s.readFile(from)
	info, err := os.Stat(from)
	if err != nil {
		s.JS.Rethrow(script.FileError(err, "copyfile", from))
	}
	mode := info.Mode().Perm()
	s.writeFile(to, text, openFlags["w"], mode)
	if copied, err := os.Stat(to); err == nil && copied.Mode().IsRegular() && copied.Mode().Perm() != mode {
		if err := os.Chmod(to, mode); err != nil {
			s.JS.Rethrow(script.FileError(err, "copyfile", to))
		}
	}
}

// removeFile removes a file, but not a directory.
func removeFile(path string) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return &os.PathError{Op: "unlink", Path: path, Err: syscall.EISDIR}
	}
	return os.Remove(path)
}

// removeDir removes an empty directory, but not a file.
func removeDir(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		return &os.PathError{Op: "rmdir", Path: path, Err: syscall.ENOTDIR}
	}
	return os.Remove(path)
}
