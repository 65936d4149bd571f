package bindings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dop251/goja"
)

// newRequire makes require: built-in modules, and files that see the shell's
// globals (spec 04 §4.6).
func (s *Shell) newRequire() goja.Value {
	loaded := map[string]*goja.Object{}
	f := s.function("require", func(c *call) goja.Value {
		c.check("require", parseSignature("id:string"))
		id := strings.TrimPrefix(c.text(0), "node:")
		if m := c.module(id); m != nil {
			return m
		}
		if refusedModules()[id] {
			c.throw("Error", "module '%s' is not available in shardsh", id)
		}
		text, path, err := c.findModule(id)
		if err != nil {
			c.rethrow(err)
		}
		if m := loaded[path]; m != nil {
			return m.Get("exports")
		}
		m := c.newObject("exports", c.rt.NewObject(), "filename", path, "id", path)
		loaded[path] = m
		if err := c.runModule(m, text, path); err != nil {
			delete(loaded, path)
			c.rethrow(err)
		}
		return m.Get("exports")
	})
	return f
}

func refusedModules() map[string]bool {
	return map[string]bool{
		"child_process": true, "net": true, "http": true, "https": true, "tls": true, "dgram": true, "cluster": true, "worker_threads": true,
	}
}

// findModule looks for a file beside the one that asks, then under the working
// directory, then in the user's library.
func (s *Shell) findModule(id string) (text, path string, err error) {
	var dirs []string
	if n := len(s.dirs); n > 0 {
		dirs = append(dirs, s.dirs[n-1])
	}
	dirs = append(dirs, ".")
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".shardsh", "lib"))
	}
	for _, dir := range dirs {
		base := id
		if !filepath.IsAbs(id) {
			base = filepath.Join(dir, id)
		}
		for _, suffix := range []string{"", ".js", ".json", "/index.js"} {
			if info, err := os.Stat(base + suffix); err == nil && !info.IsDir() {
				return s.readScript(must2(filepath.Abs(base + suffix)))
			}
		}
	}
	return "", "", &ScriptError{Name: "Error", Message: fmt.Sprintf("Cannot find module '%s'", id)}
}

// must2 passes on a value whose error cannot happen or does no harm.
func must2[T any](v T, _ error) T { return v }

const (
	modulePrefix = "(function (exports, require, module, __filename, __dirname) {"
	moduleSuffix = "\n})"
)

func (s *Shell) runModule(m *goja.Object, text, path string) error {
	if filepath.Ext(path) == ".json" {
		parse, _ := goja.AssertFunction(s.rt.GlobalObject().Get("JSON").(*goja.Object).Get("parse"))
		v, err := parse(goja.Undefined(), s.rt.ToValue(text))
		if err != nil {
			return err
		}
		return m.Set("exports", v)
	}
	if strings.HasPrefix(text, "#!") {
		text = "//" + text[2:]
	}
	s.sources[path] = source{lines: text, shift: len(modulePrefix)}
	tree, err := parseScript(path, modulePrefix+text+moduleSuffix)
	if err != nil {
		return err
	}
	compiled, err := goja.CompileAST(tree, false)
	if err != nil {
		return err
	}
	v, err := s.rt.RunProgram(compiled)
	if err != nil {
		return err
	}
	f, _ := goja.AssertFunction(v)
	dir := filepath.Dir(path)
	s.dirs = append(s.dirs, dir)
	defer func() { s.dirs = s.dirs[:len(s.dirs)-1] }()
	require := s.rt.GlobalObject().Get("require")
	_, err = f(m.Get("exports"), m.Get("exports"), require, m, s.rt.ToValue(path), s.rt.ToValue(dir))
	return err
}

// module gives a built-in module, made once; nil when there is none.
func (s *Shell) module(name string) goja.Value {
	var build func() *goja.Object
	switch name {
	case "fs":
		build = s.newFS
	case "path":
		build = s.newPath
	case "os":
		build = s.newOS
	case "util":
		build = s.newUtil
	case "crypto":
		build = s.newCrypto
	case "assert":
		return s.rt.GlobalObject().Get("assert")
	case "process":
		return s.rt.GlobalObject().Get("process")
	default:
		return nil
	}
	return s.cached("module "+name, build)
}
