package testrunner_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shardsh/bindings/testrunner"
)

// covered is a script of which lines 4, 6, 13 and 14 do not run.
const covered = `"use strict"
function half(n) {
  if (n < 0)
    throw new Error("negative")
  if (n == 0) {
    return 0
  }
  return n / 2
}
const small = [1, 2].map(n => half(n))
switch (small.length) {
  case 1:
    print("one")
    break
  default: print("some")
}
while (small.length > 5) small.pop()
try { null.x } catch (e) { print(e.stack.split("\n")[1].trim()) }
`

// Lines that did not run are told, whatever wrote the script, and the places of
// errors are the same as without.
func TestCoverage(t *testing.T) {
	typed := strings.Replace(covered, "half(n)", "half(n: number): number", 1)
	module := strings.Replace(covered, "null.x", "null.x; await 1", 1)
	tests := map[string]string{
		"t_test.js": `
for (const name of ["plain.js", "typed.ts", "module.mjs"])
  it(name, () => { const r = run(name); expect(r.errors).toBe(""); print(r.output) })`,
		"plain.js": covered, "typed.ts": typed, "module.mjs": module,
	}
	without := run(t, tests, testrunner.Options{})
	c := testrunner.NewCoverage()
	r := run(t, tests, testrunner.Options{Coverage: c})
	place := func(r testrunner.Report, i int) string { // the folders differ
		line := strings.Split(r.Files[0].Tests[i].Output, "\n")[1]
		return line[strings.LastIndexAny(line, "/ ")+1 : strings.LastIndex(line, "(")]
	}
	for i, test := range r.Files[0].Tests {
		if len(test.Problems) > 0 {
			t.Fatalf("%+v", test)
		}
		if got, want := place(r, i), place(without, i); got != want || !strings.Contains(got, ":18:") {
			t.Errorf("%s: the error is at %s, without coverage at %s", test.Name, got, want)
		}
	}
	for _, f := range r.Coverage {
		missed := f.Missed()
		want := []int{4, 6, 13, 14}
		if !slices.Equal(missed, want) {
			t.Errorf("%s: lines %v did not run, want %v", f.Path, missed, want)
		}
		if f.Lines[8] != 2 {
			t.Errorf("%s: line 8 ran %d times, want 2", f.Path, f.Lines[8])
		}
	}
	if len(r.Coverage) != 3 {
		t.Errorf("%d scripts are covered, want 3", len(r.Coverage))
	}
	var lcov bytes.Buffer
	if err := testrunner.WriteLCOV(&lcov, []testrunner.FileCoverage{{Path: "a.js", Lines: map[int]int{3: 0, 1: 2}}}); err != nil {
		t.Fatal(err)
	}
	if got, want := lcov.String(), "TN:\nSF:a.js\nDA:1,2\nDA:3,0\nLF:2\nLH:1\nend_of_record\n"; got != want {
		t.Errorf("lcov:\n%s\nwant\n%s", got, want)
	}
	if got := fmt.Sprint(testrunner.LinesText([]int{1, 3, 4, 5, 9})); got != "1, 3-5, 9" {
		t.Error(got)
	}
}
