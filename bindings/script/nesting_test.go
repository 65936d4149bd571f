package script

import (
	"errors"

	"strings"
	"testing"
)

// nests are constructs that stand in each other: what repeats, what comes in the
// middle, and what closes. All of them overflow Go's stack when they are
// repeated a million times, or take minutes.
var nests = []struct{ open, middle, end string }{
	{"(", "1", ")"}, {"[", "1", "]"}, {"({a:", "1", "})"}, {"{", "", "}"}, {"`${", "1", "}`"},
	{"f(", "1", ")"}, {"a[", "0", "]"}, {"(()=>", "1", ")"}, {"()=>", "1", ""}, {"function f(){", "", "}"},
	{"!", "1", ""}, {"- ", "1", ""}, {"typeof ", "1", ""}, {"typeof\n", "1", ""}, {"new ", "f", ""},
	{"x=", "1", ""}, {"x=\n", "1", ""}, {"1+", "1", ""}, {"1+\n", "1", ""}, {"1**", "1", ""}, {"1?1:", "1", ""},
	{"f||", "1", ""}, {"x={}+{}+", "1", ""}, {"x={}+\n{}+", "1", ""},
	{"if(1);else ", "1", ""}, {"if(1){}else ", "1", ""}, {"if(1){}\nelse\n", "1", ""}, {"if(1)", ";", ""}, {"if(1)\n", ";", ""},
	{"for(;0;)", ";", ""}, {"for(;0;)\n", ";", ""}, {"while(0)\n", ";", ""}, {"do ", ";", " while(0);"},
	{"with({})\n", ";", ""}, {"a0:", ";", ""}, {"try{", "", "}catch{}"}, {"switch(1){case 1:", "", "}"},
	{"(class extends ", "Object", "{})"}, {"class A{static{", "", "}}"}, {"({a=1}={a:", "1", "})"}, {"async()=>\n", "1", ""},
}

// afterOperand are chains that go on after an operand.
var afterOperand = []string{".a", "\n.a", "()", "[0]", "+1", "\n+1", "?.a", "``", "**1", "/1", ",1 /", " in {}", "\ninstanceof\nf"}

func TestNestingOfPrograms(t *testing.T) {
	for _, n := range nests {
		if !nestsTooDeep(strings.Repeat(n.open, 1e5)) {
			t.Errorf("100,000 times %q passes", n.open)
		}
	}
	for _, link := range afterOperand {
		if link != ",1 /" && !nestsTooDeep("a"+strings.Repeat(link, 1e5)) {
			t.Errorf("100,000 times %q after an operand passes", link)
		}
	}
}

// What passes does not endanger the stack, neither the parser's nor the compiler's.
func TestNestingBelowTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	e := NewEngine(Options{})
	deepest := func(build func(n int) string) string {
		low, high := 1, maxNesting+1
		for low < high {
			if n := (low + high + 1) / 2; nestsTooDeep(build(n)) {
				high = n - 1
			} else {
				low = n
			}
		}
		return build(low)
	}
	run := func(source string) {
		_, err := e.Eval(t.Context(), "f.js", source)
		if internal := (*Error)(nil); errors.As(err, &internal) && internal.Name == internalErrorName {
			t.Errorf("%.20q: %.60s", source, err)
		}
	}
	for _, n := range nests {
		run(deepest(func(k int) string { return strings.Repeat(n.open, k) + n.middle + strings.Repeat(n.end, k) }))
	}
	for _, link := range afterOperand {
		run(deepest(func(k int) string { return "a" + strings.Repeat(link, k) }))
	}
}

// Programs of any length pass that are not nested.
func TestLongProgramsAreNotNested(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, line := range []string{
		"db.c.insert({a: 1, b: [1, 2, {c: 3}]});\n", "db.c.insert({a: 1})\n", "let a = 1\n", "x = {a: 1}\n",
		"if (a) { b } else { c }\n", "if(a){b()}else{c()}", "if (a) b(); else c();", "for (const x of y) { print(x) }\n",
		"while (a) { b() }\n", "function f(a, b) { return a + b }\n", "f('(((', \"[[[\", `{{{`, /[(]{/)\n",
		"// ((((((\n", "/* (((( */ a\n", "print(`${a} ${b[`${c}`]} $ {`)\n", "class A { m() { return 1 }\n n() {} }\n",
		"a = b / c / d\n", "if (/\\(/.test(a)) b()\n", "switch (a) { case 1: b(); break\n case 2: c() }\n",
		"(async () => { await a() })();\n", "it's not a program (\n", "x = a ? b : c\n", "try { a() } catch (e) { b() }\n",
	} {
		if nestsTooDeep(strings.Repeat(line, 30_000)) {
			t.Errorf("30,000 times %q is refused", line)
		}
	}
	list := "[" + strings.Repeat(`{"a": [1, {"b": "}{]["}]},`, 50_000) + "]"
	if nestsTooDeep(list) {
		t.Error("a long list is refused")
	}
	cases := "switch (a) {" + strings.Repeat("case 1: case 'a': ", 30_000) + "}"
	if nestsTooDeep(cases) {
		t.Error("a long switch is refused")
	}
}

func TestNestedProgramsAreRangeErrors(t *testing.T) {
	e := NewEngine(Options{})
	_, err := e.Eval(t.Context(), "f.js", strings.Repeat("(", 1e6))
	var thrown *Error
	if !errors.As(err, &thrown) || thrown.Name != "RangeError" {
		t.Error(err)
	}
	if Incomplete(strings.Repeat("(", 1e6)) {
		t.Error("more is asked for")
	}
}
