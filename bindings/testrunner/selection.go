package testrunner

import (
	"regexp"

	"shardsh/balancer/catalog"
)

// selection says which tests of a file run.
type selection struct {
	filter       *regexp.Regexp // matched against full names; nil runs all
	firstRelease bool           // this is the first release: tests that name their release run only on it
	only         bool           // a test or a suite has .only
}

// runs reports whether a test runs.
func (s *selection) runs(t *test) bool {
	switch {
	case t.hasMode(modeSkip), t.mode == modeTodo, s.only && !t.hasMode(modeOnly):
		return false
	}
	return s.includesInReport(t)
}

// runsAny reports whether any test of a suite runs.
func (s *selection) runsAny(of *suite) bool {
	for _, t := range of.tests() {
		if s.runs(t) {
			return true
		}
	}
	return false
}

// includesInReport reports whether the report contains a test, possibly as skipped.
func (s *selection) includesInReport(t *test) bool {
	return (s.firstRelease || !t.namesRelease()) && (s.filter == nil || s.filter.MatchString(t.title()))
}

// hasMode reports whether a test, or an enclosing suite, has a mode.
func (t *test) hasMode(m mode) bool {
	if t.mode == m {
		return true
	}
	for s := t.suite; s != nil; s = s.parent {
		if s.mode == m {
			return true
		}
	}
	return false
}

// title returns the full name of a test.
func (t *test) title() string { return Result{Suites: t.suite.names(), Name: t.name}.Title() }

// skipsFaults reports whether a test, or an enclosing suite, disables the repetition with faults.
func (t *test) skipsFaults() bool {
	if t.clusterOptions != nil {
		return t.clusterOptions.skipFaults
	}
	for s := t.suite; s != nil; s = s.parent {
		if s.clusterOptions != nil {
			return s.clusterOptions.skipFaults
		}
	}
	return false
}

// namesRelease reports whether a test specifies its release.
func (t *test) namesRelease() bool {
	if t.clusterOptions != nil {
		return t.clusterOptions.release != (catalog.Release{})
	}
	for s := t.suite; s != nil; s = s.parent {
		if s.clusterOptions != nil {
			return s.clusterOptions.release != (catalog.Release{})
		}
	}
	return false
}
