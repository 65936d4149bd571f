package reporter

import (
	"io"
	"strconv"
	"strings"
	"time"

	"shardsh/balancer/report/machine"
	"shardsh/bindings/testrunner"
)

// JUnit writes the results of tests as JUnit XML: a suite for each file with a case for each test. A
// file that could not be run is an error.
func JUnit(to io.Writer, r testrunner.Report) error {
	all := machine.Suites{Name: "shardsh test"}
	for _, f := range r.Files {
		all.Add(suiteOf(f))
	}
	return all.Write(to)
}

func suiteOf(f testrunner.FileResult) machine.Suite {
	suite := machine.Suite{Name: machine.Sanitize(f.Path), Time: seconds(f.Took)}
	if f.Problem != nil {
		suite.Errors++
		suite.Cases = append(suite.Cases, &machine.Case{Name: "(the file)", Class: suite.Name, Time: "0",
			Error: messageOf(*f.Problem, nil)})
	}
	for _, t := range f.Tests {
		c := &machine.Case{Name: machine.Sanitize(t.Title()), Class: suite.Name, Time: seconds(t.Took),
			Out: machine.Sanitize(t.Output)}
		if t.Release != "" {
			c.Name += " (" + t.Release + ")"
		}
		switch t.Status {
		case testrunner.Failed:
			suite.Failures++
			c.Failure = messageOf(t.Problems[0], t.Problems)
		case testrunner.Skipped, testrunner.Todo, testrunner.Listed:
			suite.Skipped++
			c.Skipped = &machine.Message{Message: string(t.Status)}
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	return suite
}

// messageOf returns the first line of a problem as the message, and all problems in full.
func messageOf(p testrunner.Problem, all []testrunner.Problem) *machine.Message {
	if all == nil {
		all = []testrunner.Problem{p}
	}
	var texts []string
	for _, p := range all {
		texts = append(texts, problemText(p))
	}
	first, _, _ := strings.Cut(strings.TrimSpace(texts[0]), "\n")
	whole := machine.Sanitize(strings.Join(texts, "\n\n"))
	return &machine.Message{Message: machine.Sanitize(first), Type: "failure", Text: whole}
}

// problemText formats a problem.
func problemText(p testrunner.Problem) string {
	text := p.Text
	if p.During != "" {
		text = p.During + ":\n" + text
	}
	if p.At != "" {
		text += "\n    at " + p.At
	}
	return text
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
