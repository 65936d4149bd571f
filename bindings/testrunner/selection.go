package testrunner

import (
	"regexp"

	"shardsh/balancer/catalog"
)

// selection says which tests of a file are to run.
type selection struct {
	filter *regexp.Regexp // matched against full names; nil runs all
	first  bool           // of the releases: a test that names its release runs once
	only   bool           // there is a test or a suite with .only
}

// wants reports whether a test is to run.
func (s *selection) wants(t *test) bool {
	switch {
	case t.hasMode(modeSkip), t.mode == modeTodo, s.only && !t.hasMode(modeOnly):
		return false
	}
	return s.includes(t)
}

// wantsAny reports whether any test of a suite is to run.
func (s *selection) wantsAny(of *suite) bool {
	for _, t := range of.tests() {
		if s.wants(t) {
			return true
		}
	}
	return false
}

// includes reports whether a test is in the report, if only as skipped.
func (s *selection) includes(t *test) bool {
	return (s.first || !t.namesRelease()) && (s.filter == nil || s.filter.MatchString(t.title()))
}

// hasMode reports whether a test, or a suite around it, has a mode.
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

// title is the whole name of a test.
func (t *test) title() string { return Result{Suites: t.suite.names(), Name: t.name}.Title() }

// skipsFaults reports whether a test, or a suite around it, is not repeated with faults.
func (t *test) skipsFaults() bool {
	if t.start != nil {
		return t.start.skipFaults
	}
	for s := t.suite; s != nil; s = s.parent {
		if s.start != nil {
			return s.start.skipFaults
		}
	}
	return false
}

// namesRelease reports whether a test names the release that it runs on.
func (t *test) namesRelease() bool {
	if t.start != nil {
		return t.start.release != (catalog.Release{})
	}
	for s := t.suite; s != nil; s = s.parent {
		if s.start != nil {
			return s.start.release != (catalog.Release{})
		}
	}
	return false
}
