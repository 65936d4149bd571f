package assert_test

import (
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestOldAssertions: each holds where it should, and fails where it should not.
func TestOldAssertions(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{})
	if text, failed := c.Show("var bad = new Error('x'); bad.code = 20; var a = 1, t0 = new Date(5); 1"); failed {
		t.Fatal(text)
	}
	for _, tt := range []struct{ holds, fails, says string }{
		{"assert.betweenIn(1, 1, 2)", "assert.betweenIn(1, 3, 2)", "3 is not between 1 and 2"},
		{"assert.betweenEx(1, 1.5, 2)", "assert.betweenEx(1, 1, 2)", "1 is not between 1 and 2"},
		{"assert.closeWithinMS(t0, new Date(900))", "assert.closeWithinMS(t0, new Date(2000), 'late')", ": late"},
		{"assert.closeWithinMS(t0, new Date(2000), 'm', 3000)", "assert.closeWithinMS(t0, NaN)", "is not within"},
		{"assert.containsPrefix('ab', ['abc'])", "assert.containsPrefix('bc', ['abc'])", "was not a prefix"},
		{"assert.fuzzySameMembers([{a: 1, b: 2.00001}, {a: 2, b: 1}], [{a: 2, b: 1}, {a: 1, b: 2}], ['b'])",
			"assert.fuzzySameMembers([{a: 1, b: 2.00001}], [{a: 1, b: 2}], ['a'])", "do not have the same members"},
		{"assert.fieldsEqual({a: {x: 1}, b: 2}, {a: {x: 1}, b: 3}, ['a'])", "assert.fieldsEqual({b: 2}, {b: 3}, ['b'])", "field b of"},
		{"assert.commandWorkedOrFailedWithCode({ok: 1}, 20)", "assert.commandWorkedOrFailedWithCode({ok: 0, code: 21}, 20)", "command failed"},
		{"assert.commandWorkedOrFailedWithCode({ok: 0, code: 20}, [20, 21])", "assert.commandWorkedOrFailedWithCode({ok: 0, code: 2}, [20, 21])", "failed"},
		{"assert.dropExceptionsWithCode(() => { throw bad }, 20)", "assert.dropExceptionsWithCode(() => { throw bad }, 21)", "another code"},
		{"assert.noAPIParams({find: 'c'})", "assert.noAPIParams({apiVersion: '1'})", "has a field apiVersion"},
		{"assert.automsg('a === 1')", "assert.automsg('a === 2')", "assert failed : a === 2"},
		{"assert.eq.automsg('a', '1')", "assert.eq.automsg('a', '2')", "[a] compared with [2]"},
		{"assert.neq.automsg('a', '2')", "assert.neq.automsg('a', '1')", "[a] compared with [1]"},
		{"assert.throws.automsg('null.x')", "assert.throws.automsg('1')", ""},
		{"assert.doesNotThrow.automsg('1')", "assert.doesNotThrow.automsg('null.x')", "unwanted"},
		{"assert.commandWorked(db.adminCommand({ping: 1}))", "assert.commandWorked({ok: 0})", "command failed"},
		{"assert.soon(() => true)", "assert.soon(() => false, 'never', 5, 1)", "never"},
		{"assert.retry(() => true, 'm', 2, 1)", "assert.retry(() => false, 'm', 2, 1)", "failed after 2 attempts"},
	} {
		if got, failed := c.Show(tt.holds); failed {
			t.Errorf("%s: %s", tt.holds, got)
		}
		if got, failed := c.Show(tt.fails); !failed || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %s", tt.fails, got)
		}
	}
}

func TestAssert(t *testing.T) {
	c := shelltest.Connect(t)
	for _, passing := range []string{
		"assert(1)", "assert.ok(true)", "assert.equal(1, '1')", "assert.strictEqual(1, 1)", "assert.notEqual(1, 2)",
		"assert.deepEqual({a: [1, {b: 2}]}, {a: [1, {b: '2'}]})", "assert.deepStrictEqual({a: 1, b: 2}, {b: 2, a: 1})",
		"assert.deepEqual(new Map([[1, 2]]), new Map([[1, 2]]))", "assert.notDeepStrictEqual([1], [2])", "assert.notDeepEqual(new Set([1]), new Set([2]))",
		"assert.deepEqual(new Set([1, {a: 1}, 2]), new Set([2, 1, {a: '1'}]))", "assert.setEq(new Set([1, 2]), new Set([2, 1]))",
		"assert.deepStrictEqual(new Map([[1, [2]], [{k: 1}, 3]]), new Map([[{k: 1}, 3], [1, [2]]]))",
		"assert.notDeepEqual(new Map([[1, 2], [{k: 1}, 3]]), new Map([[1, 2], [{k: 1}, 4]]))",
		"assert.notDeepEqual(new Set([{a: 1}, {a: 2}]), new Set([{a: 1}, {a: 3}]))",
		"assert.notDeepEqual(new Error('a'), new Error('b'))", "assert.deepEqual(new TypeError('a'), new TypeError('a'))",
		"assert.notDeepEqual(() => 1, () => 2)", "assert.notDeepEqual(async () => 1, async () => 2)", "assert.notDeepStrictEqual(new Number(1), new Number(2))",
		"assert.notDeepEqual(new Uint8Array([1]).buffer, new Uint8Array([2]).buffer)",
		"const one = {}, other = {}; one.self = one; other.self = other; assert.deepEqual([one], [other])",
		"assert.throws(() => { throw new TypeError('x') }, TypeError)", "assert.throws(() => { throw new Error('abc') }, /b/)",
		"assert.throws(() => { throw new Error('abc') }, {message: 'abc'})", "assert.throws(x => { throw x }, [5])",
		"assert.doesNotThrow(() => 1)", "assert.match('abc', /b/)", "assert.ifError(null)",
		"assert.eq({a: 1}, {a: 1})", "assert.eq(NumberLong(5), 5)", "assert.neq(1, 2)", "assert.lt(1, 2)", "assert.gte(2, 2)", "assert.between(1, 2, 3)",
		"assert.contains(2, [1, 2])", "assert.isnull(null)", "assert.docEq({a: 1, b: 2}, {b: 2, a: 1})", "assert.close(1, 1.00001)",
		"let tries = 0; assert.soon(() => ++tries == 5)", "assert.soonNoExcept(() => { if (++tries < 9) throw 1; return true })", "assert.soon('tries > 8')",
		"assert.sameMembers([1, {a: 1}], [{a: 1}, 1])", "assert.includes('abc', 'b')", "assert.hasFields({a: 1}, ['a'])", "let t = 0; assert.retry(() => ++t == 3, 'm', 3, 1000)",
		"assert.commandWorked(db.runCommand({dbStats: 1}))", "assert.commandWorked({ok: 1})", "assert.writeOK(db.orders.insertOne({_id: 800}))",
		"assert.commandFailed(() => db.runCommand({nosuch: 1}))", "assert.commandFailedWithCode(() => db.runCommand({nosuch: 1}), [1, 59])", "assert.commandFailed({ok: 0})",
		"assert.throwsWithCode(() => db.runCommand({nosuch: 1}), 59)", "assert.time(() => 1)",
	} {
		if got, failed := c.Show(passing); failed {
			t.Errorf("%s: %s", passing, got)
		}
	}
	shelltest.Run(t, c,
		step{"assert(false, 'why')", "AssertionError: why"},
		step{"const deep = () => { let a = []; for (let i = 0; i < 20000; i++) a = [a]; return a }; assert.deepEqual(deep(), deep())",
			"RangeError: Maximum call stack size exceeded"},
		step{"assert.eq(1, 2, 'numbers')", "AssertionError: [1] != (should be equal) [2] : numbers"},
		step{"assert.deepStrictEqual({a: 1}, {a: '1'})", "AssertionError: Expected values to be strictly deep-equal:\n+ actual - expected\n\n  {\n+   a: 1\n-   a: '1'\n  }\n"},
		step{"assert.equal(1, 2)", "AssertionError: 1 == 2"},
		step{"try { assert.equal(1, 2) } catch (e) { [e.code, e.actual, e.expected, e.operator] }", "[ 'ERR_ASSERTION', 1, 2, '==' ]"},
		step{"assert.rejects(Promise.resolve(1), 'none')", "AssertionError: Missing expected rejection: none"},
		step{"assert.rejects(async () => { throw new Error('x') }, /x/)", ""},
		step{"assert.doesNotReject(Promise.reject(new Error('x')))", "AssertionError: Got unwanted rejection.\nActual message: \"x\""},
		step{"assert.throws(() => 1)", "AssertionError: Missing expected exception."},
		step{"assert.throws(() => { throw new Error('x') }, TypeError)", `AssertionError: The error is expected to be an instance of "TypeError"`},
		step{"assert.commandWorked({ok: 0, errmsg: 'no'})", `AssertionError: command failed: { "ok" : 0, "errmsg" : "no" }`},
		step{"assert.sameMembers([1], [1, 1])", "AssertionError: [ 1 ] and [ 1, 1 ] do not have the same members"},
		step{"assert.hasFields({a: 1}, ['b'], 'why')", `AssertionError: { a: 1 } has no field "b" : why`},
		step{"assert.retry(() => false, 'why', 2)", "AssertionError: assert.retry failed after 2 attempts : why"},
		step{"assert.soon(() => false, 'never', 1000)", "AssertionError: assert.soon failed (timeout 1000ms) : never"},
		step{"try { assert.fail('f') } catch (e) { print(e.name, e.code, e.message) }", "AssertionError ERR_ASSERTION f"},
	)
}
