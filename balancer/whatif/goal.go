package whatif

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// goalName is that of the change that has shardsh work in place of the balancer.
const goalName = "goal"

func goalKinds() []Kind {
	keep := func(w []string) (edit, error) {
		_, err := goalOf(w)
		return func(s *catalog.Snapshot) (*catalog.Snapshot, error) { return s, nil }, err
	}
	return []Kind{{goalName, "Evens out operations in place of bytes, as shardsh balance --goal load does first.",
		"goal load", []form{{"load", keep}, {"load reads|writes|mixed", keep}}}}
}

// goalOf reads a goal: there is one that is not the balancer's.
func goalOf(words []string) (plan.Goal, error) {
	goal, err := plan.ParseGoal(strings.Join(words, "="))
	if err == nil && goal.Kind != plan.Load {
		err = fmt.Errorf("%s is what is simulated anyway, or a change of its own", goal.Kind)
	}
	return goal, err
}

// goal is what an alternative has for a goal; the zero Goal is that of the balancer.
func (a Alternative) goal() (goal plan.Goal) {
	for _, c := range a.Changes {
		if made, ok := c.(change); ok && made.goal.Kind != "" {
			goal = made.goal
		}
	}
	return goal
}

// NeedsLoad reports whether what comes of alternatives needs to be told where the load goes.
func NeedsLoad(alternatives []Alternative) bool {
	return slices.ContainsFunc(alternatives, func(a Alternative) bool { return a.goal().Kind == plan.Load })
}
