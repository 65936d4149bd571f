package bindings_test

import (
	"testing"

	"shardsh/bindings/shelltest"
)

func TestUnicodeClasses(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{`/^\p{L}+$/u.test("aé")`, "true"},
		step{`/^\p{L}+$/u.test("a1")`, "false"},
		step{`/^\P{L}+$/u.test("12")`, "true"},
		step{`/^[\p{Lu}_]+$/u.test("ÄB_")`, "true"},
		step{`/^[^\p{Lu}]+$/u.test("äb")`, "true"},
		step{`"x1Ж2".replace(/\p{Script=Cyrillic}/gu, "-")`, "x1-2"},
		step{`/\p{Letter}(?=\d)/u.exec("ab1")[0]`, "b"},
		step{`/\p{White_Space}/u.test(" ") && /\p{gc=Nd}/u.test("٣") && /\p{Alphabetic}/u.test("a")`, "true"},
		step{`new RegExp("^\\p{Ll}$", "u").test("ß")`, "true"},
		step{`RegExp("\\p{Ll}", "u").source`, `\p{Ll}`},
		step{`/\p{L}/u`, `/\p{L}/u`},
		step{`/\p{L}/u.source + /\p{L}/u`, `\p{L}/\p{L}/u`},
		step{`/a/.source`, "a"},
		step{`/a/ instanceof RegExp && /a/.constructor === RegExp && new RegExp(/b/gi).flags`, "gi"},
		step{`class R extends RegExp { twice(x) { return this.test(x) && this.test(x) } }; new R("a").twice("a")`, "true"},
		step{`/\p{Nope}/u`, `SyntaxError: Invalid regular expression: /\p{Nope}/: Invalid property name (1:0)`},
		step{`new RegExp("\\p{Nope}", "u")`, `SyntaxError: Invalid regular expression: /\p{Nope}/: Invalid property name`},
		step{`/\p/.test("p")`, "true"}, // without u it is the letter
		step{`new RegExp("a", "v")`, "SyntaxError: Invalid flags supplied to RegExp constructor 'v'"},
		step{`new RegExp("a", "d")`, "SyntaxError: Invalid flags supplied to RegExp constructor 'd'"},
	)
}
