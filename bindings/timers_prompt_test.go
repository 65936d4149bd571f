package bindings_test

import (
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// At a prompt timers run while something runs, and never keep it away.
func TestTimersAtAPrompt(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"var n = 0; const i = setInterval(() => { n++ }, 1000); 'set'", "set"},
		step{"n", "0"},
		step{"sleep(10500); n", "10"}, // as in mongosh, where sleep waits for a promise
		step{"n", "10"},
		step{"await new Promise(r => setTimeout(r, 3500)); n", "14"},
		step{"clearInterval(i); setTimeout(() => print('later'), 500); setTimeout(() => print('now'), 0); 1", "now\n1"},
		step{"sleep(1000); 'awake'", "later\nawake"},
		step{"setTimeout(() => { throw new Error('late') }, 1); setInterval(() => print('tick'), 5000); 2", "2"},
		step{"nope", "ReferenceError: nope is not defined"},
		step{"sleep(5000); 3", "Uncaught Error: late\ntick\n3"},
		step{"new Promise(r => setTimeout(() => r('resolved'), 10))", "resolved"},
	)
}

// A script ends when none is left.
func TestTimersOfAScript(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t, func(c *bindings.Config) { c.Interactive = false }),
		step{"var n = 0; const i = setInterval(() => { if (++n == 5) clearInterval(i) }, 1000); setTimeout(() => print(n), 9000); 'set'", "5\nset"},
	)
}

// What an input left rejected is told at once, and never the next one's error.
func TestRejectionsBelongToTheirInput(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"Promise.reject(new Error('left')); throw new Error('thrown')", "Uncaught Error: left\nError: thrown"},
		step{"1", "1"},
		step{"Promise.reject(new Error('a')); Promise.reject(new Error('b')); 2", "Uncaught Error: b\nError: a"},
		step{"3", "3"},
		step{"setTimeout(async () => { throw new Error('of the timer') }, 10); 4", "4"},
		step{"sleep(5); 5", "5"},
		step{"await new Promise(r => setTimeout(r, 20)); 6", "Uncaught Error: of the timer\n6"},
		step{"(async () => { await new Promise(r => setTimeout(r, 10)); throw new Error('own') })()", "Error: own"},
		step{"7", "7"},
		step{"Promise.reject(new Error('a')); (async () => { throw new Error('result') })()", "Uncaught Error: a\nError: result"},
		step{"const p = Promise.reject(new Error('handled')); p.catch(() => 8)", "8"},
		step{"[{get a() { Promise.reject(new Error('x')); return 1 }}].map(x => x.a)", "Error: x"},
		step{"9", "9"},
	)
}
