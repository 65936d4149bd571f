package testrunner

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// definitions reads the suites and tests of one file: the calls of describe, it and the hooks.
type definitions struct {
	js   *script.Engine
	path string // path of the file
	// noteFileRead records that the tests depend on a file.
	noteFileRead func(path string)

	root    *suite
	current *suite // the suite being read; nil at the end
}

// newDefinitions returns the definitions of a file that has not been read.
func newDefinitions(js *script.Engine, path string, note func(path string)) *definitions {
	root := &suite{}
	return &definitions{js: js, path: path, noteFileRead: note, root: root, current: root}
}

// defineGlobals defines describe, it and the other globals of test files.
func (d *definitions) defineGlobals() {
	js := d.js
	global := js.Runtime.GlobalObject()
	word := func(names []string, call func(c *script.Call, m mode) goja.Value, modes ...mode) {
		for _, name := range names {
			o := js.NewFunction(name, func(c *script.Call) goja.Value { return call(c, modeNormal) })
			for _, m := range modes {
				script.Define(o, string(m), js.NewFunction(string(m), func(c *script.Call) goja.Value { return call(c, m) }))
			}
			script.Define(global, name, o)
		}
	}
	word([]string{"describe"}, d.describe, modeOnly, modeSkip)
	word([]string{"it", "test"}, d.it, modeOnly, modeSkip, modeTodo)
	for name, list := range map[string]func(*suite) *[]goja.Callable{
		"before":     func(s *suite) *[]goja.Callable { return &s.before },
		"beforeAll":  func(s *suite) *[]goja.Callable { return &s.before },
		"after":      func(s *suite) *[]goja.Callable { return &s.after },
		"afterAll":   func(s *suite) *[]goja.Callable { return &s.after },
		"beforeEach": func(s *suite) *[]goja.Callable { return &s.beforeEach },
		"afterEach":  func(s *suite) *[]goja.Callable { return &s.afterEach },
	} {
		word([]string{name}, func(c *script.Call, _ mode) goja.Value {
			d.checkRegistering(name)
			body, ok := goja.AssertFunction(c.Arg(0))
			if !ok {
				js.Throw("Error", "%s takes a function", name)
			}
			*list(d.current) = append(*list(d.current), body)
			return nil
		})
	}
}

// checkRegistering throws if it is called after the file was read.
func (d *definitions) checkRegistering(word string) {
	if d.current == nil {
		d.js.Throw("Error", "%s() stands inside of a test: tests and hooks are written side by side, and read before "+
			"the first test runs", word)
	}
}

// describe implements describe(name, [options], body).
func (d *definitions) describe(c *script.Call, m mode) goja.Value {
	d.checkRegistering("describe")
	name, options, body := d.arguments(c, "describe")
	s := &suite{name: name, parent: d.current, mode: m}
	if options != nil {
		s.clusterOptions = d.readOptions(options, "describe")
	}
	d.current.nodes = append(d.current.nodes, node{suite: s})
	outer := d.current
	d.current = s
	defer func() { d.current = outer }()
	v, err := body(goja.Undefined())
	d.js.Check(err)
	if _, promise := script.AsPromise(v); promise {
		d.js.Throw("Error", "describe(%q) is async: its tests would come too late; await in before() or in the tests",
			name)
	}
	return nil
}

// it implements it(name, [options], body); without a body the test is a todo.
func (d *definitions) it(c *script.Call, m mode) goja.Value {
	d.checkRegistering("it")
	t := &test{suite: d.current, mode: m}
	if len(c.Args) < 2 || m == modeTodo {
		if !goja.IsString(c.Arg(0)) {
			d.js.Throw("Error", "it takes a name, options where there are some, and a function")
		}
		t.name, t.mode = c.Text(0), modeTodo
		d.current.nodes = append(d.current.nodes, node{test: t})
		return nil
	}
	var options *goja.Object
	t.name, options, t.run = d.arguments(c, "it")
	if options != nil {
		t.clusterOptions = d.readOptions(options, "it")
	}
	d.current.nodes = append(d.current.nodes, node{test: t})
	return nil
}

// arguments returns name, [options], body. As in other test runners, a number of milliseconds may
// follow the body.
func (d *definitions) arguments(c *script.Call, word string) (name string, options *goja.Object, body goja.Callable) {
	js := d.js
	if !goja.IsString(c.Arg(0)) {
		js.Throw("Error", "%s takes a name, options where there are some, and a function", word)
	}
	at := 1
	if _, ok := goja.AssertFunction(c.Arg(1)); !ok {
		options, at = c.Object(1), 2
		if options == nil {
			js.Throw("Error", "%s(%q): the second argument has to be options or a function", word, c.Text(0))
		}
	} else if goja.IsNumber(c.Arg(2)) {
		options = js.NewObject("timeout", c.Arg(2))
	}
	body, ok := goja.AssertFunction(c.Arg(at))
	if !ok {
		js.Throw("Error", "%s(%q) has no function", word, c.Text(0))
	}
	return c.Text(0), options, body
}
