package testrunner

import (
	"slices"

	"github.com/dop251/goja"
)

// suite is one call of describe, or the file itself.
type suite struct {
	name           string
	parent         *suite
	clusterOptions *clusterOptions // the options of its clusters; nil for those of the parent
	mode           mode
	nodes          []node // tests and suites, in source order

	before, after, beforeEach, afterEach []goja.Callable
}

// test is one call of it.
type test struct {
	name           string
	suite          *suite
	clusterOptions *clusterOptions
	mode           mode
	run            goja.Callable
}

// node is a test or a suite in the order of the file; one of the two fields is nil.
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

// names returns the descriptions of the suite and the enclosing suites.
func (s *suite) names() []string {
	var list []string
	for ; s != nil && s.parent != nil; s = s.parent {
		list = append(list, s.name)
	}
	slices.Reverse(list)
	return list
}

// tests returns all tests of the suite and of its inner suites.
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

// hooks returns the hooks of a suite and of the enclosing suites, from the outside in or from the
// inside out.
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
