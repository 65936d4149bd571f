package swarm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shardsh/test/swarm/trace"
)

// shrink leaves out of a scenario all that a violation of a rule does not need, one thing at a
// time, until nothing more can go or the runs are used up.
func shrink(t *testing.T, s *scenario, rule string, runs int) *scenario {
	fails := func(s *scenario) bool {
		runs--
		return s.breaks(t, rule)
	}
	for smaller := true; smaller && runs > 0; {
		smaller = false
		for _, less := range s.without() {
			if runs > 0 && fails(less) {
				s, smaller = less, true
				break
			}
		}
	}
	return s
}

// without returns the scenario without one of its parts each, the largest first.
func (s *scenario) without() (list []*scenario) {
	add := func(change func(*scenario)) {
		less := *s
		less.Things, less.Cuts, less.Runners = slices.Clone(s.Things), slices.Clone(s.Cuts), slices.Clone(s.Runners)
		change(&less)
		list = append(list, &less)
	}
	if s.Writers > 0 {
		add(func(s *scenario) { s.Writers = 0 })
	}
	if half := len(s.Things) / 2; half > 1 {
		add(func(s *scenario) { s.Things = s.Things[half:] })
		add(func(s *scenario) { s.Things = s.Things[:half] })
	}
	for i, r := range s.Runners {
		if r.Verb != "" { // its place stays, as actors are named by it
			add(func(s *scenario) { s.Runners[i].Verb = "" })
		}
	}
	if len(s.Cuts) > 1 {
		add(func(s *scenario) { s.Cuts = nil })
	}
	for i := range s.Cuts {
		add(func(s *scenario) { s.Cuts = slices.Delete(s.Cuts, i, i+1) })
	}
	for i := range s.Things {
		add(func(s *scenario) { s.Things = slices.Delete(s.Things, i, i+1) })
	}
	return list
}

// String is what happens in a scenario, one thing a line.
func (s *scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: release %s, %d shards, balancer %s, %d writers with %d operations each\n", s.Seed, s.Release, s.Shards,
		s.Balancer, s.Writers, s.Ops)
	fmt.Fprintf(&b, "topology: %s\n", s.topology())
	for n, r := range s.Runners {
		if r.Verb != "" {
			fmt.Fprintf(&b, "r%d after %v: %s %s, parallel %d, at most %d moves, pausing %t, undone %t\n", n, r.After, r.Verb, r.NS, r.Parallel,
				r.MaxMoves, r.Pause, r.Undo)
		}
	}
	for _, c := range s.Cuts {
		fmt.Fprintln(&b, c)
	}
	for _, thing := range s.Things {
		fmt.Fprintln(&b, thing)
	}
	return b.String()
}

func (s *scenario) breaks(t *testing.T, rule string) bool {
	return slices.ContainsFunc(check(run(t, s)), func(v trace.Violation) bool { return v.Rule == rule })
}
