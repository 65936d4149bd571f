package bindings

import "testing"

// At a prompt timers run while something runs, and never keep it away.
func TestTimersAtAPrompt(t *testing.T) {
	run(t, connect(t),
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
	run(t, connect(t, func(c *Config) { c.Interactive = false }),
		step{"var n = 0; const i = setInterval(() => { if (++n == 5) clearInterval(i) }, 1000); setTimeout(() => print(n), 9000); 'set'", "5\nset"},
	)
}
