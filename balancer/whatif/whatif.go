// Package whatif changes a Snapshot the way an operator would change the cluster,
// and says what would come of it. Nothing is written anywhere.
package whatif

import (
	"fmt"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// Change is one thing that an operator would do to a cluster.
type Change interface {
	// Apply returns the cluster with the change, or why it can't be made.
	Apply(s *catalog.Snapshot) (*catalog.Snapshot, error)
	// String is the change as it is written on a command line.
	String() string
}

// edit makes a change of a Snapshot.
type edit func(s *catalog.Snapshot) (*catalog.Snapshot, error)

// change is a Change of one of Kinds.
type change struct {
	text string
	edit edit
	goal plan.Goal // the zero Goal for what changes the cluster
}

func (c change) String() string { return c.text }

func (c change) Apply(s *catalog.Snapshot) (*catalog.Snapshot, error) {
	next, err := c.edit(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.text, err)
	}
	return unjudged(next), nil
}

// unjudged returns a Snapshot without the server's verdicts, which were on the cluster as it
// was before a change.
func unjudged(s *catalog.Snapshot) *catalog.Snapshot {
	for _, c := range s.Collections() {
		if c.Reported != nil {
			next := *c
			next.Reported = nil
			s = s.WithCollection(&next)
		}
	}
	return s
}

// UnknownError says that there is no change of some name.
type UnknownError struct {
	Name string
	// Names are those that there are.
	Names []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown change %q: use one of %s", e.Name, strings.Join(e.Names, ", "))
}

// New makes a change of the kind with a name. Arguments are words as on a command
// line: documents are extended JSON. Its error is an *UnknownError, or tells which
// arguments the kind takes.
func New(name string, arguments []string) (Change, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name != name {
			names = append(names, k.Name)
			continue
		}
		made, err := k.edit(arguments)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; usage: %s, such as: %s", line(name, arguments), err, k.Usage(), k.Example)
		}
		c := change{text: line(name, arguments), edit: made}
		if name == goalName {
			c.goal, err = goalOf(arguments)
		}
		return c, err
	}
	return nil, &UnknownError{name, names}
}

// Parse reads a change as it is written on a command line: its name and its
// arguments, with blanks between.
func Parse(text string) (Change, error) {
	words, err := split(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", text, err)
	case len(words) == 0:
		return nil, fmt.Errorf("a change is empty: begin with its name, such as addShard")
	}
	return New(words[0], words[1:])
}

// ParseAll reads changes with semicolons between.
func ParseAll(text string) (changes []Change, err error) {
	parts, err := cut(text, ';')
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	for _, part := range parts {
		c, err := Parse(part)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// Apply returns the cluster with changes, made one after another.
func Apply(s *catalog.Snapshot, changes []Change) (*catalog.Snapshot, error) {
	for _, c := range changes {
		next, err := c.Apply(s)
		if err != nil {
			return nil, err
		}
		s = next
	}
	return s, nil
}
