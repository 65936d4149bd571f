package script

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// Modules finds and runs files: loaded scripts, and required or imported modules.
type Modules struct {
	js          *Engine
	loadingDirs []string // directories of the files being loaded, innermost last
}

// NewRequire returns the function require for code in a directory; an empty directory stands for that
// of the running file. It returns built-in modules, and runs files that can use the shell's globals
// (rules/04-values-and-language §4.6).
func (s *Modules) NewRequire(dir string) *goja.Object {
	in := func(f func()) {
		if dir != "" {
			s.loadingDirs = append(s.loadingDirs, dir)
			defer func() { s.loadingDirs = s.loadingDirs[:len(s.loadingDirs)-1] }()
		}
		f()
	}
	f := s.js.NewFunction("require", func(c *Call) (exports goja.Value) {
		c.Check("require", ParseSignature("id:string"))
		in(func() { exports = c.JS.Modules.require(c.Text(0)) })
		return exports
	})
	Define(f, "resolve", s.js.NewFunction("resolve", func(c *Call) (path goja.Value) {
		in(func() {
			if c.JS.Modules.builtinModule(trimNodePrefix(c.Text(0))) != nil {
				path = c.Arg(0)
				return
			}
			_, file, err := c.JS.Modules.findModule(c.Text(0))
			c.JS.Check(err)
			path = c.JS.Runtime.ToValue(file)
		})
		return path
	}))
	Define(f, "cache", s.moduleCache())
	return f
}

// moduleCache returns the cache of the modules that were read from files, by path.
func (s *Modules) moduleCache() *goja.Object {
	return s.js.Classes.BuildOnce("modules", s.js.Runtime.NewObject)
}

func trimNodePrefix(id string) string { return strings.TrimPrefix(id, "node:") }

// require returns the exports of a module, or throws.
func (s *Modules) require(id string) goja.Value {
	exports, done := s.requireOrImport(id)
	if done != nil {
		s.js.Rethrow(errAsyncModule)
	}
	return exports()
}

// requireOrImport works like require, but also supports modules that await: done is the promise of
// their end, and exports must not be called before.
func (s *Modules) requireOrImport(id string) (exports func() goja.Value, done goja.Value) {
	name := trimNodePrefix(id)
	if m := s.builtinModule(name); m != nil {
		return func() goja.Value { return m }, nil
	}
	if slices.Contains(strings.Fields(refusedModules), name) || strings.HasPrefix(id, "node:") {
		s.js.Throw("Error", "module '%s' is not available in shardsh", name)
	}
	text, path, err := s.findModule(id)
	s.js.Check(err)
	cache := s.moduleCache()
	if m, ok := cache.Get(path).(*goja.Object); ok {
		return exportsOf(m), nil
	}
	m := s.js.NewObject("exports", s.js.Runtime.NewObject(), "filename", path, "id", path, "loaded", false)
	Must(cache.Set(path, m))
	if done, err = s.runModule(m, text, path); err != nil {
		Must(cache.Delete(path))
		s.js.Rethrow(err)
	}
	Must(m.Set("loaded", true))
	return exportsOf(m), done
}

func exportsOf(m *goja.Object) func() goja.Value {
	return func() goja.Value { return m.Get("exports") }
}

// refusedModules are the names of Node's modules that shardsh lacks.
const refusedModules = "child_process cluster dgram dns http http2 https inspector net readline repl stream tls tty " +
	"v8 vm wasi worker_threads zlib"

// findModule finds a file. A name that starts with a dot is relative to the requiring file; other names
// are searched in the node_modules directories above it, then in the working directory, then in the
// libraries.
func (s *Modules) findModule(id string) (text, path string, err error) {
	if strings.HasPrefix(id, ShippedPrefix) {
		return s.readScript(id)
	}
	here := "."
	if n := len(s.loadingDirs); n > 0 {
		here = s.loadingDirs[n-1]
	}
	var bases []string
	switch {
	case filepath.IsAbs(id):
		bases = []string{id}
	case strings.HasPrefix(id, "./"), strings.HasPrefix(id, "../"), id == ".", id == "..":
		bases = []string{filepath.Join(here, id), id}
	default:
		for dir := IgnoreError(filepath.Abs(here)); ; dir = filepath.Dir(dir) {
			bases = append(bases, filepath.Join(dir, "node_modules", id))
			if dir == filepath.Dir(dir) {
				break
			}
		}
		bases = append(bases, id)
	}
	if !filepath.IsAbs(id) {
		for _, lib := range libraryDirs() {
			bases = append(bases, filepath.Join(lib, id))
		}
	}
	for _, base := range bases {
		if file := moduleFile(base); file != "" {
			return s.readScript(IgnoreError(filepath.Abs(file)))
		}
	}
	return "", "", &fileSystemError{code: "MODULE_NOT_FOUND", text: fmt.Sprintf("Cannot find module '%s'", id)}
}

// moduleFile returns the file for a name without its extension; empty when there is none.
func moduleFile(base string) string {
	names := []string{base, base + ".js", base + ".json", base + ".mjs", base + ".ts"}
	if data, err := os.ReadFile(filepath.Join(base, "package.json")); err == nil {
		var pkg struct{ Main string }
		if json.Unmarshal(data, &pkg) == nil && pkg.Main != "" {
			main := filepath.Join(base, pkg.Main)
			names = append(names, main, main+".js", filepath.Join(main, "index.js"))
		}
	}
	for _, name := range append(names, filepath.Join(base, "index.js"), filepath.Join(base, "index.ts")) {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			return name
		}
	}
	return ""
}

// PathEnv names directories with modules and scripts, as NODE_PATH does for Node.
const PathEnv = "SHARDSH_PATH"

// libraryDirs returns the directories that are searched last: those of PathEnv in their order, then
// that in the user's home directory.
func libraryDirs() (dirs []string) {
	for _, dir := range filepath.SplitList(os.Getenv(PathEnv)) {
		if dir != "" {
			dirs = append(dirs, IgnoreError(filepath.Abs(dir)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".shardsh", "lib"))
	}
	return dirs
}

// IgnoreError drops an error that cannot happen or does not matter.
func IgnoreError[T any](v T, _ error) T { return v }

const (
	modulePrefix = "(function (exports, require, module, __filename, __dirname) {"
	moduleSuffix = "\n})"
)

// runModule runs a module's text and fills its exports. For an ES module that awaits, done is the
// promise of its end.
func (s *Modules) runModule(m *goja.Object, text, path string) (done goja.Value, err error) {
	if filepath.Ext(path) == ".json" {
		parse, _ := goja.AssertFunction(s.js.Runtime.GlobalObject().Get("JSON").(*goja.Object).Get("parse"))
		v, err := parse(goja.Undefined(), s.js.Runtime.ToValue(strings.TrimPrefix(text, "\ufeff")))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return nil, m.Set("exports", v)
	}
	if isESModule(path, text) {
		return s.runESModule(path, path, func(space *goja.Object) { Must(m.Set("exports", space)) })
	}
	tree, err := s.parseModule(text, path)
	if err != nil {
		return nil, err
	}
	f, err := s.moduleFunction(tree)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	s.loadingDirs = append(s.loadingDirs, dir)
	defer func() { s.loadingDirs = s.loadingDirs[:len(s.loadingDirs)-1] }()
	_, err = f(m.Get("exports"), m.Get("exports"), s.NewRequire(dir), m, s.js.Runtime.ToValue(path),
		s.js.Runtime.ToValue(dir))
	return nil, err
}

// parseModule parses a CommonJS module as a function of exports, require and module.
func (s *Modules) parseModule(text, path string) (*ast.Program, error) {
	if strings.HasPrefix(text, "#!") {
		text = "//" + text[2:]
	}
	s.js.sources[path] = source{text: text}
	if !isTypeScript(path) && !hasUncompilableSyntax(text) {
		tree, err := parseScript(path, modulePrefix+text+moduleSuffix)
		if err == nil || !mayNeedTranspiling(text) {
			s.js.sources[path] = source{text: text, wrapperColumns: len(modulePrefix), tree: tree}
			return tree, err
		}
	}
	t, err := transpile(path, text)
	if err != nil {
		return nil, err
	}
	tree, async, err := t.parse(path, strings.TrimPrefix(modulePrefix, "("), "})", nil)
	s.js.sources[path] = source{text: text, tree: tree}
	if async {
		return nil, errAsyncModule
	}
	return tree, err
}

// builtinModule returns a built-in module; nil when there is none.
func (s *Modules) builtinModule(name string) goja.Value {
	if s.js.cfg.BuiltinModule == nil {
		return nil
	}
	return s.js.cfg.BuiltinModule(name)
}

// moduleFunction returns the callable function of a module that was parsed as one function expression.
func (s *Modules) moduleFunction(tree *ast.Program) (goja.Callable, error) {
	prepareTree(tree)
	s.js.coverage.instrument(tree)
	if err := s.js.regexps.expand(tree); err != nil {
		return nil, err
	}
	compiled, err := goja.CompileAST(tree, false)
	if err != nil {
		return nil, err
	}
	v, err := s.js.Runtime.RunProgram(compiled)
	if err != nil {
		return nil, err
	}
	f, _ := goja.AssertFunction(v)
	return f, nil
}
