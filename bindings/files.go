package bindings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dop251/goja"
)

// fileGlobals() are functions about files and the host.
func fileGlobals() []global {
	return []global{
		{"load", "path:string", func(c *call) goja.Value {
			v, err := c.JS.loadFile(c.text(0))
			if err != nil {
				c.JS.rethrow(err)
			}
			if p, ok := asPromise(v); ok && p.State() == goja.PromiseStatePending {
				return v // it awaits at its top level, and so may the caller
			}
			return c.JS.rt.ToValue(true)
		}, "Runs a script."},
		{"cat", "path:string", func(c *call) goja.Value { return c.JS.rt.ToValue(c.s.readFile(c.text(0))) }, "Returns the text of a file."},
		{"ls", "directory?:string", func(c *call) goja.Value {
			dir := "."
			if c.has(0) {
				dir = c.text(0)
			}
			var names []any
			for _, e := range c.s.readDir(dir) {
				name := filepath.Join(dir, e.Name())
				if e.IsDir() {
					name += "/"
				}
				names = append(names, name)
			}
			return c.JS.rt.NewArray(names...)
		}, "Returns the names of the files in a directory."},
		{"listFiles", "directory?:string", func(c *call) goja.Value {
			dir := "."
			if c.has(0) {
				dir = c.text(0)
			}
			var items []any
			for _, e := range c.s.readDir(dir) {
				o := c.JS.newObject("name", filepath.Join(dir, e.Name()), "baseName", e.Name(), "isDirectory", e.IsDir())
				if info, err := e.Info(); err == nil && !e.IsDir() {
					must(o.Set("size", info.Size()))
				}
				items = append(items, o)
			}
			return c.JS.rt.NewArray(items...)
		}, "Returns the files in a directory with their sizes."},
		{"pwd", "", func(c *call) goja.Value { return c.JS.rt.ToValue(c.s.workingDirectory()) }, "Returns the working directory."},
		{"cd", "directory:string", func(c *call) goja.Value {
			if err := os.Chdir(c.text(0)); err != nil {
				c.JS.rethrow(fileError(err, "chdir", c.text(0)))
			}
			return nil
		}, "Changes the working directory."},
		{"mkdir", "directory:string", func(c *call) goja.Value {
			c.s.mayWrite()
			if err := os.MkdirAll(c.text(0), 0o777); err != nil {
				c.JS.rethrow(fileError(err, "mkdir", c.text(0)))
			}
			return c.JS.newObject("exists", true, "created", true)
		}, "Makes a directory."},
		{"removeFile", "path:string", func(c *call) goja.Value {
			c.s.mayWrite()
			return c.JS.rt.ToValue(os.RemoveAll(c.text(0)) == nil)
		}, "Removes a file."},
		{"writeFile", "path:string text:string", func(c *call) goja.Value {
			c.s.writeFile(c.text(0), c.text(1), os.O_TRUNC)
			return nil
		}, "Writes a file."},
		{"fileExists", "path:string", func(c *call) goja.Value { return c.JS.rt.ToValue(exists(c.text(0))) }, "Tells whether a file exists."},
		{"md5sumFile", "path:string", func(c *call) goja.Value { return c.JS.rt.ToValue(digest("md5", []byte(c.s.readFile(c.text(0))))) }, "Returns the MD5 of a file."},
		{"hostname", "", func(c *call) goja.Value { return c.JS.rt.ToValue(hostname()) }, "Returns this machine's name."},
		{"getHostName", "", func(c *call) goja.Value { return c.JS.rt.ToValue(hostname()) }, "The same as hostname."},
		{"getMemInfo", "", func(c *call) goja.Value { return c.s.memoryUsage() }, "Returns this process's memory in MiB."},
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

func (s *Shell) workingDirectory() string {
	dir, err := os.Getwd()
	if err != nil {
		s.JS.rethrow(fileError(err, "getcwd", "."))
	}
	return dir
}

func (s *Shell) readFile(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		s.JS.rethrow(fileError(err, "open", path))
	}
	return string(data)
}

func (s *Shell) readDir(path string) []fs.DirEntry {
	entries, err := os.ReadDir(path)
	if err != nil {
		s.JS.rethrow(fileError(err, "scandir", path))
	}
	return entries
}

// mayWrite refuses what changes files in a sandbox.
func (s *Shell) mayWrite() {
	if s.cfg.Sandbox {
		s.JS.throw("Error", "EACCES: this shell may not write files")
	}
}

// writeFile writes a text; how is os.O_TRUNC or os.O_APPEND.
func (s *Shell) writeFile(path, text string, how int) {
	s.mayWrite()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o666)
	if err != nil {
		s.JS.rethrow(fileError(err, "open", path))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		s.JS.rethrow(fileError(err, "write", path))
	}
}
