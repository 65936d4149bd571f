package reporter_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"shardsh/bindings/testrunner"
	"shardsh/bindings/testrunner/reporter"
)

// outcome is a run with one of everything, in names that are hard to write.
func outcome() testrunner.Report {
	return testrunner.Report{
		Files: []testrunner.FileResult{
			{Path: "a_test.js", Took: time.Second, Tests: []testrunner.Result{
				{Suites: []string{"drain", "in <b>"}, Name: "works & \x1b[31mred", Status: testrunner.Passed, Took: time.Second, Faults: 12,
					Output: "said\n"},
				{Suites: []string{"drain", "in <b>"}, Name: "fails", Status: testrunner.Failed, Release: "5.0", Seed: 7,
					Problems: []testrunner.Problem{{During: "afterEach", Text: "Expected: 1\nReceived: \x002 ]]>", At: "a_test.js:3:5",
						Line: "    x()", Column: 5}, {Text: "and\n- more\n+ of it"}}},
				{Name: "not", Status: testrunner.Skipped}, {Name: "later", Status: testrunner.Todo},
			}},
			{Path: "b_test.js", Problem: &testrunner.Problem{Text: "SyntaxError: Unexpected end of input"}},
		},
		Counts: map[testrunner.Status]int{testrunner.Passed: 1, testrunner.Failed: 2, testrunner.Skipped: 1, testrunner.Todo: 1},
		Took:   1234 * time.Millisecond, Snapshots: testrunner.SnapshotCounts{Written: 2},
		Coverage: []testrunner.FileCoverage{{Path: "drain.js", Lines: map[int]int{1: 3, 2: 0, 3: 0, 5: 1}}},
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	x := reporter.Text{To: &b}
	r := outcome()
	for _, f := range r.Files {
		x.WriteFile(f)
	}
	x.WriteSummary(r)
	const want = `a_test.js
  drain
    in <b>
      ✓ works & \x1B[31mred (12 faults, 1s)
        | said
      ✗ fails (5.0, seed 7)

      afterEach:
      Expected: 1
      Received: \x002 ]]>
      at a_test.js:3:5
              x()
              ^


      and
      - more
      + of it

  - not
  … later
b_test.js
  ✗ the file could not be run

      SyntaxError: Unexpected end of input


snapshots: 2 written
lines that ran:
   50%  drain.js: 2 of 4, not 2-3
   50%  in all: 2 of 4

1 skipped, 1 todo
in 1.234s
1 passed, 2 failed
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%q\nwant:\n%q", got, want)
	}
}

// The counts of JUnit are those of its cases, and readers of XML get through it.
func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := reporter.JUnit(&b, outcome()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Name    string `xml:"name,attr"`
			Skipped int    `xml:"skipped,attr"`
			Cases   []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	a, second := doc.Suites[0], doc.Suites[1]
	if doc.Tests != 5 || doc.Failures != 1 || doc.Errors != 1 || a.Skipped != 2 || len(a.Cases) != 4 ||
		a.Cases[1].Failure == nil || a.Cases[2].Skipped == nil || second.Cases[0].Error == nil {
		t.Errorf("%+v", doc)
	}
	if got := a.Cases[1].Name; got != "drain > in <b> > fails (5.0)" {
		t.Error(got)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := reporter.JSON(&b, outcome()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Passed, Failed, Skipped, Todo int
		Files                         []struct {
			Path    string
			Problem *struct{ Message string }
			Tests   []struct {
				Status   string
				Problems []struct{ Message, At string }
			}
		}
		Coverage []struct {
			Path           string
			Lines, Covered int
			Missed         []int
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Passed != 1 || doc.Failed != 2 || doc.Skipped != 1 || doc.Todo != 1 || doc.Files[1].Problem == nil ||
		doc.Files[0].Tests[1].Problems[0].At != "a_test.js:3:5" || len(doc.Coverage[0].Missed) != 2 {
		t.Errorf("%s", strings.TrimSpace(b.String()))
	}
}

// Progress is one line, at most once a second, and gone before anything else.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := reporter.Progress{To: &b, Now: func() time.Time { return now }}
	for range 5 {
		p.OnTest("a_test.js", "x > y", 3)
		now = now.Add(600 * time.Millisecond)
	}
	p.Clear()
	p.Clear()
	const line = "\r\x1b[Ka_test.js: x > y, fault 3"
	if got, want := b.String(), line+line+"\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
