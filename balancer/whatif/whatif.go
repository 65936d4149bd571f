// Package whatif applies an operator's changes to a Snapshot, and simulates their outcome. It writes
// nothing to the cluster.
package whatif

import (
	"fmt"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Change is a change that an operator would make to a cluster.
type Change interface {
	// Apply returns the cluster with the change, or an error that says why the change can't be made.
	Apply(s *catalog.Snapshot) (*catalog.Snapshot, error)
	// String returns the change in the syntax of the command line.
	String() string
}

// edit applies a change to a Snapshot.
type edit func(s *catalog.Snapshot) (*catalog.Snapshot, error)

// change is a Change of one of ChangeKinds.
type change struct {
	text string
	edit edit
	goal plan.Goal // the zero Goal for changes of the cluster
}

func (c change) String() string { return c.text }

func (c change) Apply(s *catalog.Snapshot) (*catalog.Snapshot, error) {
	next, err := c.edit(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.text, err)
	}
	return withoutReports(next), nil
}

// withoutReports returns a Snapshot without the server's reports, which describe the cluster before the
// change.
func withoutReports(s *catalog.Snapshot) *catalog.Snapshot {
	for _, c := range s.Collections() {
		if c.ReportedStatus != nil {
			next := *c
			next.ReportedStatus = nil
			s = s.WithCollection(&next)
		}
	}
	return s
}

// UnknownChangeError says that no change has the name.
type UnknownChangeError struct {
	Name string
	// Names are the existing names.
	Names []string
}

func (e *UnknownChangeError) Error() string {
	return fmt.Sprintf("unknown change %q: use one of %s", e.Name, strings.Join(e.Names, ", "))
}

// NewChange returns a change of the kind with a name. Arguments are words of a command line: documents
// are extended JSON. Its error is an *UnknownChangeError, or says which arguments the kind takes.
func NewChange(name string, arguments []string) (Change, error) {
	var names []string
	for _, k := range ChangeKinds() {
		if k.Name != name {
			names = append(names, k.Name)
			continue
		}
		made, err := k.newEdit(arguments)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; usage: %s, such as: %s", joinWords(name, arguments), err, k.Usage(), k.Example)
		}
		c := change{text: joinWords(name, arguments), edit: made}
		if name == goalName {
			c.goal, err = parseGoal(arguments)
		}
		return c, err
	}
	return nil, &UnknownChangeError{name, names}
}

// ParseChange parses a change in the syntax of the command line: its name and its arguments, separated
// by spaces.
func ParseChange(text string) (Change, error) {
	words, err := splitWords(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", text, err)
	case len(words) == 0:
		return nil, fmt.Errorf("a change is empty: begin with its name, such as addShard")
	}
	return NewChange(words[0], words[1:])
}

// ParseChanges parses changes separated by semicolons.
func ParseChanges(text string) (changes []Change, err error) {
	parts, err := splitLine(text, ';')
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	for _, part := range parts {
		c, err := ParseChange(part)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// ApplyChanges returns the cluster with changes, applied one after another.
func ApplyChanges(s *catalog.Snapshot, changes []Change) (*catalog.Snapshot, error) {
	for _, c := range changes {
		next, err := c.Apply(s)
		if err != nil {
			return nil, err
		}
		s = next
	}
	return s, nil
}
