package testrunner

import (
	"slices"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// suite is one describe, or the file itself.
type suite struct {
	name   string
	parent *suite
	start  *clusterOptions // what its clusters begin with; nil for the parent's
	mode   mode
	nodes  []node // tests and suites, in their order

	before, after, beforeEach, afterEach []goja.Callable
}

// test is one it.
type test struct {
	name  string
	suite *suite
	start *clusterOptions
	mode  mode
	run   goja.Callable
	// timeout is in milliseconds; 0 is the usual one.
	timeout int64
	// unfaulted keeps it from being repeated with faults.
	unfaulted bool
}

// node is a test or a suite in the order of the file; one of the two is nil.
type node struct {
	test  *test
	suite *suite
}

// mode is how a test or a suite was written down.
type mode string

const (
	modeNormal mode = ""
	modeOnly   mode = "only"
	modeSkip   mode = "skip"
	modeTodo   mode = "todo"
)

// names are the descriptions around what is in the suite.
func (s *suite) names() []string {
	var list []string
	for ; s != nil && s.parent != nil; s = s.parent {
		list = append(list, s.name)
	}
	slices.Reverse(list)
	return list
}

// tests are all of the suite and of those inside.
func (s *suite) tests() []*test {
	var list []*test
	for _, n := range s.nodes {
		if n.test != nil {
			list = append(list, n.test)
		} else {
			list = append(list, n.suite.tests()...)
		}
	}
	return list
}

// defineGlobals defines describe, it and what else a test file says.
func (f *file) defineGlobals() {
	js := f.shell.JS
	global := js.Runtime.GlobalObject()
	word := func(names []string, call func(c *script.Call, m mode) goja.Value, modes ...mode) {
		for _, name := range names {
			o := js.Function(name, func(c *script.Call) goja.Value { return call(c, modeNormal) })
			for _, m := range modes {
				script.Define(o, string(m), js.Function(string(m), func(c *script.Call) goja.Value { return call(c, m) }))
			}
			script.Define(global, name, o)
		}
	}
	word([]string{"describe"}, f.describe, modeOnly, modeSkip)
	word([]string{"it", "test"}, f.it, modeOnly, modeSkip, modeTodo)
	for name, list := range map[string]func(*suite) *[]goja.Callable{
		"before":     func(s *suite) *[]goja.Callable { return &s.before },
		"beforeAll":  func(s *suite) *[]goja.Callable { return &s.before },
		"after":      func(s *suite) *[]goja.Callable { return &s.after },
		"afterAll":   func(s *suite) *[]goja.Callable { return &s.after },
		"beforeEach": func(s *suite) *[]goja.Callable { return &s.beforeEach },
		"afterEach":  func(s *suite) *[]goja.Callable { return &s.afterEach },
	} {
		word([]string{name}, func(c *script.Call, _ mode) goja.Value {
			f.registering(name)
			body, ok := goja.AssertFunction(c.Arg(0))
			if !ok {
				js.Throw("Error", "%s takes a function", name)
			}
			*list(f.current) = append(*list(f.current), body)
			return nil
		})
	}
}

// registering throws where the file is read already.
func (f *file) registering(word string) {
	if f.current == nil {
		f.shell.JS.Throw("Error", "%s() stands inside of a test: tests and hooks are written side by side, and read before "+
			"the first test runs", word)
	}
}

// describe is describe(name, [options], body).
func (f *file) describe(c *script.Call, m mode) goja.Value {
	f.registering("describe")
	name, options, body := f.arguments(c, "describe")
	s := &suite{name: name, parent: f.current, mode: m}
	if options != nil {
		s.start = f.readOptions(options, "describe", nil)
	}
	f.current.nodes = append(f.current.nodes, node{suite: s})
	outer := f.current
	f.current = s
	defer func() { f.current = outer }()
	v, err := body(goja.Undefined())
	if err != nil {
		f.shell.JS.Rethrow(err)
	}
	if _, promise := script.AsPromise(v); promise {
		f.shell.JS.Throw("Error", "describe(%q) is async: its tests would come too late; await in before() or in the tests",
			name)
	}
	return nil
}

// it is it(name, [options], body); without a body the test is to be written.
func (f *file) it(c *script.Call, m mode) goja.Value {
	f.registering("it")
	t := &test{suite: f.current, mode: m}
	if len(c.Args) < 2 || m == modeTodo {
		if !goja.IsString(c.Arg(0)) {
			f.shell.JS.Throw("Error", "it takes a name, options where there are some, and a function")
		}
		t.name, t.mode = c.Text(0), modeTodo
		f.current.nodes = append(f.current.nodes, node{test: t})
		return nil
	}
	var options *goja.Object
	t.name, options, t.run = f.arguments(c, "it")
	if options != nil {
		t.start = f.readOptions(options, "it", t)
	}
	f.current.nodes = append(f.current.nodes, node{test: t})
	return nil
}

// arguments reads name, [options], body. The body may also come before a number of
// milliseconds, as elsewhere.
func (f *file) arguments(c *script.Call, word string) (name string, options *goja.Object, body goja.Callable) {
	js := f.shell.JS
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
