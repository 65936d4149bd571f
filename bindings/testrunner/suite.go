package testrunner

import (
	"slices"

	"github.com/dop251/goja"
)

// suite is one describe, or the file itself.
type suite struct {
	name   string
	parent *suite
	start  *clusterOptions // what its clusters begin with; nil for the parent's
	mode   mode
	nodes  []node // tests and suites, in their order

	before, after, beforeEach, afterEach []goja.Callable
}

// test is one it.
type test struct {
	name  string
	suite *suite
	start *clusterOptions
	mode  mode
	run   goja.Callable
	// timeout is in milliseconds; 0 is the usual one.
	timeout int64
	// skipFaults keeps it from being repeated with faults.
	skipFaults bool
}

// node is a test or a suite in the order of the file; one of the two is nil.
type node struct {
	test  *test
	suite *suite
}

// mode is the modifier of a test or a suite: only, skip or todo.
type mode string

const (
	modeNormal mode = ""
	modeOnly   mode = "only"
	modeSkip   mode = "skip"
	modeTodo   mode = "todo"
)

// names are the descriptions around what is in the suite.
func (s *suite) names() []string {
	var list []string
	for ; s != nil && s.parent != nil; s = s.parent {
		list = append(list, s.name)
	}
	slices.Reverse(list)
	return list
}

// tests are all of the suite and of those inside.
func (s *suite) tests() []*test {
	var list []*test
	for _, n := range s.nodes {
		if n.test != nil {
			list = append(list, n.test)
		} else {
			list = append(list, n.suite.tests()...)
		}
	}
	return list
}

// hooks returns those of a suite and of those around it, from the outside in or
// from the inside out.
func (s *suite) hooks(of func(*suite) []goja.Callable, inwards bool) (list []goja.Callable) {
	for ; s != nil; s = s.parent {
		if inwards {
			list = append(append([]goja.Callable(nil), of(s)...), list...)
		} else {
			list = append(list, of(s)...)
		}
	}
	return list
}
