package values

import (
	_ "embed"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

//go:embed testdata/pairs.txt
var pairsText string

// pair is one observed input and output of rules/04-outputs-and-traps, Appendix A.
type pair struct {
	group, kind, input, want string
}

func readPairs(t *testing.T) (pairs []pair) {
	t.Helper()
	group := ""
	for block := range strings.SplitSeq(pairsText, "\n\n") {
		block = strings.Trim(block, "\n")
		if name, ok := strings.CutPrefix(block, "### "); ok {
			group = name
			continue
		}
		if block == "" {
			continue
		}
		kind, rest, _ := strings.Cut(block, "\n")
		input, want, found := strings.Cut(rest, "\n----")
		if !found || kind != "eval" && kind != "error" {
			t.Fatalf("malformed pair in group %q: %q", group, block)
		}
		pairs = append(pairs, pair{group, kind, input, strings.TrimPrefix(want, "\n")})
	}
	return pairs
}

// valueGroups are the groups that concern values alone.
var valueGroups = []string{
	"primitives", "objects", "arrays", "width and nesting", "maps, sets, typed, functions, regexps", "dates", "ObjectId",
	"Long, Int32, Double, Decimal128", "Timestamp, MinKey, MaxKey", "Binary, UUID, Code, DBRef, regexps", "EJSON and JSON",
	"print family", "thrown",
}

// skipped pairs need something outside this package.
var skipped = map[string]string{
	"function foo(a,b){return a+b}": "a declaration as a result is the program runner's business",
	"async function bar(){}":        "a declaration as a result is the program runner's business",
	"class A {}":                    "a declaration as a result is the program runner's business",
	"Promise.resolve(5)":            "a promise on its own is awaited by the program runner",
	"(async()=>7)()":                "a promise on its own is awaited by the program runner",
}

func TestObservedPairs(t *testing.T) {
	pairs := readPairs(t)
	overrides := map[string]pair{}
	for _, p := range pairs {
		if p.group == "overrides" {
			overrides[p.input] = p
		}
	}
	for _, group := range valueGroups {
		t.Run(group, func(t *testing.T) {
			s := newShell(t)
			ran, left := 0, 0
			for _, p := range pairs {
				if p.group != group {
					continue
				}
				if o, ok := overrides[p.input]; ok {
					p = o
				}
				if skipped[p.input] != "" {
					left++
					continue
				}
				ran++
				kind, got := s.run(p.input)
				if kind != p.kind || unnumbered(got) != unnumbered(p.want) {
					t.Errorf("%s\n--- want %s\n%s\n--- got %s\n%s", p.input, p.kind, p.want, kind, got)
				}
			}
			if ran == 0 {
				t.Fatal("no pairs in this group")
			}
			t.Logf("%d pairs, %d skipped", ran, left)
		})
	}
}

// shell is as much of a shell as the pairs need: inputs run in one runtime,
// print and console, results shown as in the REPL.
type shell struct {
	rt  *goja.Runtime
	w   *Realm
	out []string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{rt: goja.New()}
	s.w = Install(s.rt, Options{Warn: func(text string) { s.out = append(s.out, "Warning: "+text) }})
	show := func(call goja.FunctionCall) goja.Value {
		parts := make([]string, len(call.Arguments))
		for i, a := range call.Arguments {
			parts[i] = s.w.InspectOutput(a, DefaultInspectOptions(), false)
		}
		s.out = append(s.out, strings.Join(parts, " "))
		return goja.Undefined()
	}
	s.rt.Set("print", show)
	s.rt.Set("console", map[string]any{"log": show, "error": show})
	s.rt.Set("printjson", func(call goja.FunctionCall) goja.Value {
		parts := make([]string, len(call.Arguments))
		for i, a := range call.Arguments {
			parts[i] = s.w.PrintjsonText(a)
		}
		s.out = append(s.out, strings.Join(parts, " "))
		return goja.Undefined()
	})
	// The shell's Buffer is another package's; the pairs need its from().
	if _, err := s.rt.RunString(`globalThis.Buffer = class Buffer extends Uint8Array {
		static from(x) { return typeof x === 'string' ? new Uint8Array([...x].map(c => c.charCodeAt(0))) : new Uint8Array(x) } };
		class MyErr extends Error { constructor(m){ super(m); this.name='MyErr' } }`); err != nil {
		t.Fatal(err)
	}
	return s
}

// run evaluates one input and returns the kind of its outcome and all that was
// printed.
func (s *shell) run(input string) (kind, text string) {
	s.out = nil
	v, err := s.rt.RunString(strings.Replace(input, "class MyErr", "MyErr = class MyErr", 1))
	if err == nil {
		if shown := s.w.InspectOutput(v, DefaultInspectOptions(), true); shown != "" {
			s.out = append(s.out, shown)
		}
		return "eval", strings.Join(s.out, "\n")
	}
	if ex := (*goja.Exception)(nil); errors.As(err, &ex) {
		s.out = append(s.out, s.w.ErrorText(ex.Value(), DefaultInspectOptions()))
	} else {
		s.out = append(s.out, err.Error())
	}
	return "error", strings.Join(s.out, "\n")
}

var numbered = regexp.MustCompile(`(Missing required argument|Argument) (at position \d+|[\w()]+)`)

// unnumbered returns a message without which argument it is about: mongosh counts
// them, the shell names them.
func unnumbered(text string) string { return numbered.ReplaceAllString(text, "$1 #") }
