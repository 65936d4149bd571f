package bindings_test

import (
	"strings"
	"testing"

	"shardsh/bindings/shelltest"
)

// TestLongsBeyondNumbers: hashed bounds mix with numbers as in mongosh 2.12 and
// the old shell; their text keeps every digit.
func TestLongsBeyondNumbers(t *testing.T) {
	c := shelltest.Connect(t)
	if text, failed := c.Show(`var L = NumberLong("9223372036854775807"), M = NumberLong("-4611686018427387902"); 1`); failed {
		t.Fatal(text)
	}
	for input, want := range map[string]string{
		// What mongosh 2.12 shows.
		"L - 1": "9223372036854776000", "L * 2": "18446744073709552000", "L / 2": "4611686018427388000",
		"M % 4": "-0", "-M": "4611686018427388000", "+L": "9223372036854776000", "L | 0": "0",
		"L > 1": "true", "1 < L": "true", "L >= 1.5": "true", "M < 0": "true", "L == L": "true",
		"Math.max(L, 1)": "9223372036854776000", "Math.abs(M)": "4611686018427388000", "isNaN(L)": "false",
		"Math.floor(M / 2 ** 52)": "-1024", "Number(L)": "9223372036854776000", "parseFloat(M)": "-4611686018427388000",
		"[L, M, Long('3'), 5].sort((a, b) => a - b).join(' ')": "-4611686018427387902 3 5 9223372036854775807",
		"[L, M].reduce((a, b) => Math.min(a, b))":              "-4611686018427388000",
		"L.toNumber()":                          "9223372036854776000",
		"L.compare(M)":                          "1",
		"`${L}`":                                "9223372036854775807",
		"'at ' + L":                             "at 9223372036854775807",
		"L + ' is the end'":                     "9223372036854775807 is the end",
		"({[L]: 1})":                            "{ '9223372036854775807': 1 }",
		"new Map([[String(L), 1]]).get('' + L)": "1",
		"BigInt(L) + 1n":                        "9223372036854775808n",
		"[L, M].join()":                         "9223372036854775807,-4611686018427387902",
		"L.add(M)":                              "Long('4611686018427387905')",
		// What the old shell shows, where mongosh compares and adds texts.
		"L > M": "true", "M < L": "true", "NumberLong('9') < NumberLong('10')": "true",
		"L + 1": "9223372036854776000", "L + M": "4611686018427388000", "L.valueOf()": "9223372036854776000",
		"var n = M; n += 2; n": "-4611686018427388000",
		// A text stays a text, however far the number is from the literal.
		"'from ' + M + ' to ' + L":         "from -4611686018427387902 to 9223372036854775807",
		"const u = 'x'; u + ': ' + (0, M)": "x: -4611686018427387902",
		"var v = ''; v += 'at ' + M; v":    "at -4611686018427387902",
		"'' + (true && L)":                 "9223372036854775807",
		"'' + (() => L)()":                 "9223372036854775807",
		// Others count as before.
		"'x' + NumberLong(5)": "x5", "'x' + {toString: () => 't', valueOf: () => 'v'}": "xv",
		"'x' + [1, 2]": "x1,2", "'' + null + undefined + 1 + true": "nullundefined1true",
		"'x' + Symbol.iterator.toString()":                    "xSymbol(Symbol.iterator)",
		"NumberDecimal('9007199254740993') - 1":               "9007199254740991",
		"NumberDecimal('1e400') > 1":                          "true",
		"'x' + NumberDecimal('0.12345678901234567890')":       "x0.12345678901234567890",
		"NumberDecimal('99999999999999999999') * 1":           "100000000000000000000",
		"Timestamp(1700000000, 1) < Timestamp(1700000000, 2)": "true",
		"BigInt.asIntN(8, 257n)":                              "1n", "typeof BigInt": "function", "1n.constructor === BigInt": "true",
		"BigInt(5)": "5n", "try { BigInt(1.5) } catch (e) { e.name }": "RangeError",
		"JSON.stringify({a: L})": `{"a":"9223372036854775807"}`,
	} {
		got, failed := c.Show(input)
		if lines := strings.Split(got, "\n"); failed || lines[len(lines)-1] != want {
			t.Errorf("%s shows %s, want %s", input, got, want)
		}
	}
}

// TestRoundingIsTold once, where + may have been meant for a text.
func TestRoundingIsTold(t *testing.T) {
	c := shelltest.Connect(t)
	for _, tt := range []struct {
		input string
		warns int
	}{
		{"NumberLong('1152921504606846976') + 1", 0}, // a power of two
		{"'x' + NumberLong('9007199254740993')", 0},
		{"NumberLong('9007199254740993') - 1", 0},
		{"const t = 'x'; t + NumberLong('9007199254740993')", 1},
		{"NumberLong('9007199254740993') + 1", 0}, // once is enough
	} {
		c.Show(tt.input)
		if got := strings.Count(c.Errs.String(), "was rounded"); got != tt.warns {
			t.Errorf("after %s: %d warnings, want %d: %s", tt.input, got, tt.warns, c.Errs)
		}
	}
}
