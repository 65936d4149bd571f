package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/evanw/esbuild/pkg/api"
)

// errAsyncModule is the error of require for a module that awaits at its top level.
var errAsyncModule = &Error{Name: "Error", Message: "the module awaits at its top level; use import"}

// isESModule reports whether a file is an ES module: by its name, or because it has imports or exports.
func isESModule(path, text string) bool {
	switch filepath.Ext(path) {
	case ".mjs", ".mts":
		return true
	case ".json", ".cjs", ".cts":
		return false
	}
	if !mayNeedTranspiling(text) {
		return false
	}
	if !isTypeScript(path) {
		if _, err := parsePlain(path, text); err == nil {
			return false
		}
	}
	t, err := transpile(path, text)
	return err == nil && t.isModule()
}

// metaName returns the name that replaces import.meta of file n. It has the same length, so that
// columns stay correct.
func metaName(n int) string { return fmt.Sprintf("__meta$%04d", n) }

// bundler resolves the imports of one module.
type bundler struct {
	mu          sync.Mutex // the transpiler reads files concurrently
	metaPaths   []string   // paths of the files that use import.meta
	readError   error      // why a file was not read
	checkMayRun func(path string) error
	onLoad      func(path string)
}

// nodeModules are the names of Node's modules that BuiltinModule returns.
const nodeModules = "assert buffer crypto events fs fs/promises module os path process timers timers/promises url util"

// builtinModules matches the names of modules that are not files.
var builtinModules = `^(node:.*|shardsh:.*|` + strings.ReplaceAll(nodeModules+" "+refusedModules, " ", "|") + `)$`

func (b *bundler) setup(build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: builtinModules}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: a.Path, Namespace: "shardsh"}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "shardsh"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text := fmt.Sprintf("module.exports = __require(%q)", a.Path)
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, b.loadWithMeta)
}

// sourceFile matches the files that the transpiler reads.
var sourceFile = regexp.MustCompile(`\.([mc]?[jt]s|json)$`)

// noteRead reports that a file was read.
func (b *bundler) noteRead(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onLoad(path)
}

// failLoad stores the error, because the transpiler keeps only its message.
func (b *bundler) failLoad(err error) (api.OnLoadResult, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readError = err
	return api.OnLoadResult{}, err
}

func (b *bundler) loadWithMeta(a api.OnLoadArgs) (api.OnLoadResult, error) {
	if err := b.checkMayRun(a.Path); err != nil {
		return b.failLoad(err)
	}
	if !sourceFile.MatchString(a.Path) {
		return api.OnLoadResult{}, nil
	}
	data, err := ReadFile(a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	b.noteRead(a.Path)
	if nestsTooDeep(string(data)) {
		return b.failLoad(errNesting(a.Path))
	}
	meta := regexp.MustCompile(`\bimport\.meta\b`)
	if !meta.Match(data) {
		return api.OnLoadResult{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	text := meta.ReplaceAllLiteralString(string(data), metaName(len(b.metaPaths)))
	b.metaPaths = append(b.metaPaths, a.Path)
	loader := api.LoaderJS
	if isTypeScript(a.Path) {
		loader = api.LoaderTS
	}
	return api.OnLoadResult{Contents: &text, Loader: loader}, nil
}

// bundle makes one script of a module and its imports.
func (b *bundler) bundle(path string) (*transpiledCode, error) {
	dir := filepath.Dir(path)
	nodePaths := append([]string{IgnoreError(os.Getwd())}, libraryDirs()...)
	r := api.Build(api.BuildOptions{
		Stdin: &api.StdinOptions{
			Contents:   fmt.Sprintf("import * as m from %q; __exports(m)", "./"+filepath.Base(path)),
			ResolveDir: dir,
			Sourcefile: "<entry>",
		},
		Bundle: true, Format: api.FormatESModule, Platform: api.PlatformNode, Supported: supportedFeatures(),
		Charset: api.CharsetUTF8,
		Outfile: filepath.Join(dir, "bundle.js"), Sourcemap: api.SourceMapExternal, AbsWorkingDir: dir, NodePaths: nodePaths,
		LogLevel: api.LogLevelSilent, LegalComments: api.LegalCommentsNone,
		Plugins: []api.Plugin{{Name: "shardsh", Setup: b.setup}},
	})
	if b.readError != nil {
		return nil, b.readError
	}
	if len(r.Errors) > 0 {
		e := r.Errors[0]
		name := path
		if e.Location != nil {
			name = filepath.Join(dir, e.Location.File)
		}
		return nil, transpileFailure(name, e)
	}
	t := &transpiledCode{}
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			t.sourceMap = f.Contents
		} else {
			t.code = string(f.Contents)
		}
	}
	return t, nil
}

// runESModule runs the ES module in a file and passes its namespace to export. If the module awaits,
// done is the promise of its end, and export is called then. name is the name of the file in errors.
func (s *Modules) runESModule(name, path string, export func(space *goja.Object)) (done goja.Value, err error) {
	// The source map has absolute file names, and the files must be found by these names.
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	b := &bundler{checkMayRun: s.checkMayRun, onLoad: s.notifyLoaded}
	t, err := b.bundle(path)
	if err != nil {
		return nil, s.withUserFileName(err, path, name)
	}
	absolute := func(source string) string {
		if filepath.IsAbs(source) {
			return source
		}
		return filepath.Join(filepath.Dir(path), source)
	}
	tree, async, err := t.parse(path, "(__require, __exports) => {"+b.metaDeclarations(), "})", absolute)
	if err != nil {
		return nil, err
	}
	s.addSources(t.sourceMap, tree, absolute)
	if main, ok := s.js.sources[path]; ok {
		main.name = name
		s.js.sources[path] = main
	}
	f, err := s.moduleFunction(tree)
	if err != nil {
		return nil, err
	}
	exports := s.js.NewFunction("__exports", func(c *Call) goja.Value {
		space := c.Object(0)
		Define(space, "__esModule", c.JS.Runtime.ToValue(true))
		export(space)
		return nil
	})
	require := s.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value { return s.require(fc.Argument(0).String()) })
	done, err = f(goja.Undefined(), require, exports)
	if !async {
		done = nil
	}
	return done, err
}

func (b *bundler) metaDeclarations() string {
	var list strings.Builder
	for i, path := range b.metaPaths {
		meta, _ := json.Marshal(map[string]string{"url": "file://" + path, "filename": path, "dirname": filepath.Dir(path)})
		fmt.Fprintf(&list, " const %s = %s;", metaName(i), meta)
	}
	return list.String()
}

// addSources stores the source texts of a bundle's files, so that errors can quote them.
func (s *Modules) addSources(sourceMap []byte, tree *ast.Program, absolute func(string) string) {
	var m struct{ Sources, SourcesContent []string }
	if json.Unmarshal(sourceMap, &m) != nil {
		return
	}
	for i, name := range m.Sources {
		if i < len(m.SourcesContent) && !strings.HasPrefix(name, "shardsh:") {
			s.js.sources[absolute(name)] = source{text: m.SourcesContent[i], tree: tree}
		}
	}
}

// withUserFileName replaces the path in an error by the name that the user gave.
func (s *Modules) withUserFileName(err error, path, name string) error {
	if e, ok := errors.AsType[*transpileError](err); ok && e.file == path {
		e.file = name
	}
	return err
}

// importModule implements import statements of inputs: it returns the module's namespace, or a promise
// of it.
func (c *Call) importModule() goja.Value {
	m, done := c.JS.Modules.requireOrImport(c.Text(0))
	if done == nil {
		return c.JS.Modules.withDefaultExport(m())
	}
	promise, _ := done.(*goja.Object)
	then, _ := goja.AssertFunction(promise.Get("then"))
	v, err := then(promise, c.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
		return c.JS.Modules.withDefaultExport(m())
	}))
	c.JS.Check(err)
	return v
}

// withDefaultExport adds the default export that CommonJS modules lack.
func (s *Modules) withDefaultExport(exports goja.Value) goja.Value {
	o, ok := exports.(*goja.Object)
	if ok && Property(o, "__esModule") != nil {
		return o
	}
	space := s.js.Runtime.NewObject()
	if ok {
		for _, k := range o.Keys() {
			Must(space.Set(k, o.Get(k)))
		}
	}
	Must(space.Set("default", exports))
	return space
}
