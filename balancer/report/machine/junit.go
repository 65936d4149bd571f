package machine

import (
	"fmt"
	"io"
	"strings"

	"shardsh/balancer/check"
)

// WriteJUnit writes results of checks as JUnit XML: a suite for each cluster with a case for each rule. An
// unknown result is an error, or skipped if the source can never provide the data.
func WriteJUnit(to io.Writer, reports []check.Report) error {
	all := Suites{Name: "shardsh check"}
	for _, r := range reports {
		all.Add(suiteOf(r))
	}
	return all.Write(to)
}

func suiteOf(r check.Report) Suite {
	suite := Suite{Name: Sanitize(r.Name()), Time: "0"}
	if r.Result == nil {
		suite.add(&Case{Name: "reach", Error: &Message{Message: Sanitize(r.Failure.Message), Type: Sanitize(r.Failure.Name)}})
		return suite
	}
	p := r.Result.Parts()
	suite.Timestamp = p.Time.UTC().Format("2006-01-02T15:04:05")
	if p.Time.IsZero() {
		suite.Timestamp = ""
	}
	suite.Properties = &Properties{[]Property{
		{"clusterId", p.ClusterID.Hex()}, {"version", Sanitize(p.Version)}, {"failOn", r.Result.Policy.FailOn.String()},
	}}
	for _, c := range r.Result.Policy.Choices {
		if c.On {
			suite.add(caseOf(r.Result, c))
		}
	}
	return suite
}

func (s *Suite) add(c *Case) {
	c.Class, c.Time = "shardsh.check", "0"
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// caseOf returns the test case of a rule, with failing findings in its message and the others as
// output.
func caseOf(r *check.Result, c check.RuleChoice) *Case {
	var failing, rest []string
	skipped := ""
	for _, f := range r.Findings {
		switch {
		case f.Rule != c.Name:
		case f.Fails(r.Policy.FailOn), f.Unknown && f.Excuse == "":
			failing = append(failing, strings.Join(append([]string{f.Sentence}, f.Commands...), "\n  "))
		case f.Unknown:
			skipped = f.Sentence
		default:
			rest = append(rest, findingLine(f))
		}
	}
	one := &Case{Name: c.Name, Out: Sanitize(strings.Join(rest, "\n"))}
	status := r.RuleStatus(c.Name)
	switch {
	case status != check.Passed:
		m := &Message{Sanitize(firstLine(failing)), c.Severity.String(), Sanitize(strings.Join(failing, "\n"))}
		if status == check.Failed {
			one.Failure = m
		} else {
			one.Error = m
		}
	case skipped != "":
		one.Skipped = &Message{Message: Sanitize(skipped)}
	}
	return one
}

// firstLine returns the first text, with the number of the others.
func firstLine(list []string) string {
	text, _, _ := strings.Cut(list[0], "\n")
	if len(list) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(list)-1)
	}
	return text
}

// findingLine returns a finding with its excuse.
func findingLine(f check.Finding) string {
	if f.Excuse == "" {
		return f.Severity.String() + ": " + f.Sentence
	}
	return f.Severity.String() + ": " + f.Sentence + " (" + f.Excuse + ")"
}
