package bindings_test

import (
	"strings"
	"testing"

	"shardsh/bindings/shelltest"
)

// TestWordsOfSyntaxErrors: none has the parser's own names in it.
func TestWordsOfSyntaxErrors(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{`print("a`, "SyntaxError: Unterminated string constant (1:6)"},
		step{"'a", "SyntaxError: Unterminated string constant (1:0)"},
		step{"db..x", "SyntaxError: Invalid or unexpected token (1:2)"},
		step{"#foo", "SyntaxError: Private names are only allowed in property accesses (1:0)"},
		step{"5 5", "SyntaxError: Unexpected number (1:2)"},
	)
}

// TestWordsOfErrors: messages are V8's, as node 20 gives them, where that is
// sure.
func TestWordsOfErrors(t *testing.T) {
	c := shelltest.Connect(t)
	for source, want := range map[string]string{
		`const z = {}; z["boom"]()`:                    "z.boom is not a function",
		`const z = {}; z.boom()`:                       "z.boom is not a function",
		`const a = [1]; a[0]()`:                        "a[0] is not a function",
		`const a = [1], i = 0; a[i]()`:                 "a[i] is not a function",
		`const z = {}; z.a.b()`:                        "Cannot read properties of undefined (reading 'b')",
		`const z = {a() { return {} }}; z.a().b()`:     "z.a(...).b is not a function",
		`(function () {})()()`:                         "(intermediate value)(...) is not a function",
		`new (class { m() { this.x() } })().m()`:       "this.x is not a function",
		`const z = {}; z?.b()`:                         "z?.b is not a function",
		`const z = {}; new z.Foo()`:                    "z.Foo is not a constructor",
		`new 5`:                                        "5 is not a constructor",
		`({}) instanceof 5`:                            "Right-hand side of 'instanceof' is not an object",
		`var q1; q1.z = 1`:                             "Cannot set properties of undefined (setting 'z')",
		`var q = null; q["x"].y`:                       "Cannot read properties of null (reading 'x')",
		`[1].map(5)`:                                   "5 is not a function",
		`"abc".foo()`:                                  `"abc".foo is not a function`,
		`const f = 5; f(1)`:                            "f is not a function",
		`const found = db.orders.findOne(); found()`:   "found is not a function",
		`null.f()`:                                     "Cannot read properties of null (reading 'f')",
		`var x = 1; x.y.z()`:                           "Cannot read properties of undefined (reading 'z')",
		`var a = {b: null}; a.b.c`:                     "Cannot read properties of null (reading 'c')",
		`db.orders.findOne({_id: 'none'}).a`:           "Cannot read properties of null (reading 'a')",
		`(() => { const x = db.orders; x.a.b.c() })()`: "app.orders.a.b.c is a collection, not a function",
		`(local => local.y.z)({})`:                     "Cannot read properties of undefined or null (reading 'z')", // the engine does not say which
		`eval("1+")`:                                   "Unexpected end of input",
		`await 1; null.foo`:                            "Cannot read properties of null (reading 'foo')",
		`async function f() { await 1; null.foo }` + "\n" + `f()`: "Cannot read properties of null (reading 'foo')",
	} {
		name := "TypeError: "
		if source == `eval("1+")` {
			name = "SyntaxError: "
		}
		shelltest.Run(t, c, step{source, name + want})
		if !strings.HasPrefix(source, "async") && !strings.HasPrefix(source, "null.") {
			shelltest.Run(t, c, step{"try { " + source + " } catch (e) { print(e.message) }", want})
		}
	}
}
