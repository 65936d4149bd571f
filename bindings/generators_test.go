package bindings_test

import (
	"testing"

	"shardsh/bindings/shelltest"
)

// The engine does not count generators that wait for each other: without a
// limit its stack ends the process.
func TestEndlessGeneratorsEnd(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{`function* g() { yield* g() }; try { for (const x of g()); } catch (e) { e instanceof RangeError && e.message }`, "Maximum call stack size exceeded"},
		step{`function* spread() { [...spread()] }; try { [...spread()] } catch (e) { e.name }`, "RangeError"},
		step{`function* down(n) { if (n) yield* down(n - 1); else yield 7 }; [...down(300)]`, "[ 7 ]"},
		step{`const it = (function* () { try { yield 1; yield 2 } finally { print("closed") } })(); it.next(); it.return(5)`, "closed\n{ value: 5, done: true }"},
		step{`const thrown = (function* () { try { yield 1 } catch (e) { yield e } })(); thrown.next(); thrown.throw("x").value`, "x"},
		step{`(function* () {})().next.name + (function* () {})().next.length`, "next1"},
		step{`for (const x of g());`, "RangeError: Maximum call stack size exceeded"},
	)
}
