package expect_test

import (
	"errors"
	"strings"
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/expect"
	"shardsh/bindings/script"
)

// newShell is a shell without a connection that has expect.
func newShell(t *testing.T) *bindings.Shell {
	t.Helper()
	shell, err := bindings.New(bindings.Config{})
	if err != nil {
		t.Fatal(err)
	}
	expect.Define(shell.JS, expect.Options{})
	return shell
}

// Each matcher holds where it should, and says in words what is wrong where it does
// not. The expected texts are Jest's where it has the matcher.
func TestMatchers(t *testing.T) {
	shell := newShell(t)
	for _, tt := range []struct{ input, says string }{
		{`expect(1).toBe(1)`, ""},
		{`expect(1).toBe(2)`, "expect(received).toBe(expected)\n\nExpected: 2\nReceived: 1"},
		{`expect(1).not.toBe(1)`, "expect(received).not.toBe(expected)\n\nExpected: not 1"},
		{`expect(NaN).toBe(NaN)`, ""},
		{`expect(0).toBe(-0)`, "Expected: -0\nReceived: 0"},
		{`expect("1").toBe(1)`, "Expected: 1\nReceived: '1'"},
		{`expect({}).toBe({})`, "they print the same but differ in type, class or identity"},
		{`expect({a: 1, b: {c: [1]}}).toEqual({b: {c: [1]}, a: 1})`, ""},
		{`expect({a: 1}).toEqual({a: 1, b: undefined})`, ""},
		{`expect({a: 1}).toStrictEqual({a: 1, b: undefined})`, "- Expected\n+ Received\n\n  {"},
		{`expect({a: 1, b: 2}).toEqual({a: 1})`, "+   b: 2"},
		{`expect([1, 2]).toEqual([1, 2, 3])`, "-   3"},
		{`expect(Long("5")).toEqual(5)`, ""},
		{`expect(Long("5")).toStrictEqual(5)`, "Expected: 5\nReceived: Long('5')"},
		{`expect(ObjectId("0123456789abcdef01234567")).toEqual(ObjectId("0123456789abcdef01234567"))`, ""},
		{`expect(new Date(5)).toEqual(new Date(6))`, "Expected: ISODate('1970-01-01T00:00:00.006Z')"},
		{`const o = {}; o.o = o; const p = {}; p.o = p; expect(o).toEqual(p)`, ""},
		{`expect(new Map([[1, 2]])).toEqual(new Map([[1, 3]]))`, "+   1 => 2\n-   1 => 3"},
		{`expect(new Set([1, 2])).toEqual(new Set([2, 1]))`, ""},
		{`expect(new Error("a")).toEqual(new Error("b"))`, "Expected: "},
		{`expect({a: 1, b: [{c: 1, d: 2}]}).toMatchObject({b: [{c: 1}]})`, ""},
		{`expect({a: 1}).toMatchObject({a: 2})`, "toMatchObject(expected)"},
		{`expect("drained shard2").toContain("shard2")`, ""},
		{`expect(["a"]).toContain("b")`, "Expected: 'b'\nReceived: [ 'a' ]"},
		{`expect("a\nb").toContain("c")`, "Received: \n  a\n  b"},
		{`expect(5).toContain(5)`, "the received value has to be a text or a list\nReceived: 5"},
		{`expect([{a: 1}]).toContainEqual({a: 1})`, ""},
		{`expect([{a: 1}]).toContainEqual({a: 2})`, "Expected: { a: 2 }"},
		{`expect([1, 2]).toHaveLength(2); expect("abc").toHaveLength(3)`, ""},
		{`expect([1]).toHaveLength(2)`, "Expected length: 2\nReceived length: 1\nReceived: [ 1 ]"},
		{`expect({a: {b: 1}}).toHaveProperty("a.b", 1); expect({a: [{b: 2}]}).toHaveProperty(["a", "0", "b"])`, ""},
		{`expect({a: {b: 1}}).toHaveProperty("a.c")`, "Expected path: \"a.c\"\nReceived path: \"a\""},
		{`expect({a: {b: 1}}).toHaveProperty("a.b", 2)`, "Expected: 2\nReceived: 1"},
		{`expect({a: 1}).not.toHaveProperty("a")`, "Expected path: not \"a\"\nReceived value: 1"},
		{`expect("abc").toMatch(/b/); expect("abc").toMatch("bc")`, ""},
		{`expect("abc").toMatch(/d/)`, "Expected: /d/\nReceived: 'abc'"},
		{`expect(() => { throw new TypeError("bad thing") }).toThrow()`, ""},
		{`const f = () => { throw new TypeError("bad thing") }
			expect(f).toThrow("bad"); expect(f).toThrow(/thing$/); expect(f).toThrow(TypeError); expect(f).toThrow(new Error("bad thing"))`, ""},
		{`expect(() => {}).toThrow("x")`, "Expected: 'x'\nReceived: the function threw nothing"},
		{`expect(() => { throw new Error("y") }).toThrow("x")`, "Expected: 'x'\nReceived: Error: y"},
		{`expect(() => { throw new Error("y") }).not.toThrow()`, "Expected: not an error\nReceived: Error: y"},
		{`expect(5).toThrow()`, "the received value has to be a function"},
		{`expect(2).toBeGreaterThan(1); expect(1).toBeGreaterThanOrEqual(1); expect(1).toBeLessThan(2); expect(1).toBeLessThanOrEqual(1)`, ""},
		{`expect(1).toBeGreaterThan(1)`, "Expected: > 1\nReceived: 1"},
		{`expect(Long("9007199254740993")).toBeGreaterThan(Long("9007199254740992")); expect(2n).toBeLessThan(3)`, ""},
		{`expect(new Date(5)).toBeLessThan(new Date(4))`, "Expected: < ISODate"},
		{`expect("a").toBeLessThan(1)`, "the received value has to be a number or a date\nReceived: 'a'"},
		{`expect(NaN).not.toBeGreaterThan(0); expect(NaN).not.toBeLessThan(0)`, ""},
		{`expect(0.1 + 0.2).toBeCloseTo(0.3); expect(1.004).toBeCloseTo(1)`, ""},
		{`expect(1.01).toBeCloseTo(1)`, "which has to be less than 0.005"},
		{`expect(1).toBeTruthy(); expect("").toBeFalsy(); expect(null).toBeNull(); expect(undefined).toBeUndefined()
			expect(0).toBeDefined(); expect(NaN).toBeNaN(); expect([]).toBeInstanceOf(Array); expect(1).toBeTypeOf("number")`, ""},
		{`expect(0).toBeTruthy()`, "expect(received).toBeTruthy()\n\nReceived: 0"},
		{`expect(1).toBeNull()`, "Received: 1"},
		{`expect({}).toBeInstanceOf(Array)`, "Expected: Array\nReceived: {}"},
		{`expect({a: 1, b: "x", c: [1, 2], d: "id-5", e: null, f: 1.001}).toEqual({a: expect.any(Number), b: expect.anything(),
			c: expect.arrayContaining([2]), d: expect.stringMatching(/^id/), e: null, f: expect.closeTo(1, 2)})`, ""},
		{`expect({a: "x"}).toEqual({a: expect.any(Number)})`, "expect.any(Number)"},
		{`expect({a: 1}).toEqual(expect.objectContaining({b: 1}))`, "Expected: expect.objectContaining({ b: 1 })"},
		{`expect({a: 1}).toEqual(expect.not.objectContaining({b: 1}))`, ""},
		{`expect("abc").toEqual(expect.stringContaining("z"))`, "expect.stringContaining('z')"},
		{`expect(ObjectId()).toEqual(expect.any(ObjectId))`, ""},
		{`expect.extend({toBeEven(n) { return {pass: n % 2 == 0, message: () => n + " is odd"} }}); expect(2).toBeEven()`, ""},
		{`expect(3).toBeEven()`, "expect(received).toBeEven()\n\n3 is odd"},
		{`expect(4).not.toBeEven()`, "4 is odd"}, // what the matcher says is its own
		{`await expect(Promise.resolve(1)).resolves.toBe(1); await expect(Promise.reject(new Error("no"))).rejects.toThrow("no")`, ""},
		{`expect(new Error("no")).toThrow()`, "the received value has to be a function"},
		{`await expect(Promise.resolve(1)).resolves.toBe(2)`, "expect(received).resolves.toBe(expected)\n\nExpected: 2\nReceived: 1"},
		{`await expect(Promise.resolve(1)).rejects.toThrow()`, "The promise was resolved instead: 1"},
		{`await expect(Promise.reject(1)).resolves.toBe(1)`, "The promise was rejected instead: 1"},
		{`await expect(1).resolves.toBe(1)`, "received has to be a promise"},
	} {
		_, err := shell.Eval(t.Context(), "test.js", tt.input)
		if tt.says == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.input, err)
			}
			continue
		}
		thrown, ok := errors.AsType[*script.Error](err)
		switch {
		case !ok:
			t.Errorf("%s holds, or failed with %v", tt.input, err)
		case thrown.Name != expect.ErrorName || !strings.Contains(thrown.Message, tt.says):
			t.Errorf("%s says %s: %s\nwant %s", tt.input, thrown.Name, thrown.Message, tt.says)
		case thrown.Line == 0:
			t.Errorf("%s: the error has no place", tt.input)
		}
	}
}

// A matcher that is used wrongly says so.
func TestMisuse(t *testing.T) {
	shell := newShell(t)
	for input, says := range map[string]string{
		`expect(1).toBe()`:                                 "Missing required argument expected",
		`expect([]).toHaveLength("2")`:                     "Argument expected must be of type number",
		`expect(1).toBeNope()`:                             "toBeNope",
		`expect.any(5)`:                                    "expect.any takes a class",
		`expect.arrayContaining(5)`:                        "expect.arrayContaining takes an array",
		`expect.extend({a: 1})`:                            "a is not a function",
		`expect.extend({b() { return 1 }}); expect(1).b()`: "has to return {pass, message}",
	} {
		if _, err := shell.Eval(t.Context(), "test.js", input); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", input, err, says)
		}
	}
}
