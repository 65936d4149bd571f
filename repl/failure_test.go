package repl_test

import (
	"strings"
	"testing"

	"shardsh/repl"
)

// How errors look: rules/04-values-and-language §3.5 with its fixes.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    repl.Failure
		want string
	}{
		{"message only", repl.Failure{Message: "a"}, "Uncaught a"},
		{"name", repl.Failure{Name: "TypeError", Message: "x is not a function"}, "Uncaught TypeError: x is not a function"},
		{"code name", repl.Failure{Name: "MongoServerError", CodeName: "ShardNotFound", Message: "Shard 'bad' not found"},
			"Uncaught MongoServerError[ShardNotFound]: Shard 'bad' not found"},
		{"several lines", repl.Failure{Name: "Error", Message: "a\nb"}, "Uncaught:\nError: a\nb"},
		{"details", repl.Failure{Name: "MongoBulkWriteError", Message: "E11000", Details: "Write Errors: []\nResult: {}"},
			"Uncaught:\nMongoBulkWriteError: E11000\nWrite Errors: []\nResult: {}"},
		{"typed input has no place worth telling", repl.Failure{Message: "a", File: repl.InputName, Line: 1}, "Uncaught a"},
		{"a file has", repl.Failure{Message: "a", File: "/srv/drain.js", Line: 12, Column: 4},
			"Uncaught:\na\nat /srv/drain.js:12:4"},
		{"a file without a line", repl.Failure{Message: "a", File: "/srv/drain.js"}, "Uncaught:\na\nat /srv/drain.js"},
		{"syntax error", repl.Failure{Name: "SyntaxError", Message: "Unexpected token (1:8)", Line: 1, Column: 9,
			SourceLine: "let x = ;"},
			"Uncaught:\nSyntaxError: Unexpected token (1:8)\n\n> 1 | let x = ;\n    |         ^"},
		{"syntax error, tabs and a late line", repl.Failure{Name: "SyntaxError", Message: "m", Line: 10, Column: 4,
			SourceLine: "\tä ;"},
			"Uncaught:\nSyntaxError: m\n\n> 10 | \tä ;\n     | \t  ^"},
		{"column past the end", repl.Failure{Message: "m", Line: 1, Column: 99, SourceLine: "ab"},
			"Uncaught:\nm\n\n> 1 | ab\n    |   ^"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := shown(t, tt.f, false); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestFailureColours(t *testing.T) {
	got := shown(t, repl.Failure{Name: "Error", Message: "a", Details: "Result: {}"}, true)
	want := "\x1b[1;33mUncaught\x1b[0m:\n\x1b[1;31mError\x1b[0m: a\nResult: {}"
	if got != want {
		t.Errorf("%q", got)
	}
}

func shown(t *testing.T, f repl.Failure, color bool) string {
	t.Helper()
	out := &buffer{}
	explain := func(err error) repl.Failure {
		if err.Error() != "it failed" {
			t.Errorf("explaining %v", err)
		}
		return f
	}
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: &script{steps: []any{"fail", ".exit"}}, Out: out,
		Explain: explain, Color: color}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
