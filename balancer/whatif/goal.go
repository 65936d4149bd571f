package whatif

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// goalName is the name of the change that makes shardsh work in place of the balancer.
const goalName = "goal"

func goalKinds() []ChangeKind {
	keep := func(w []string) (edit, error) {
		_, err := parseGoal(w)
		return func(s *catalog.Snapshot) (*catalog.Snapshot, error) { return s, nil }, err
	}
	return []ChangeKind{{goalName, "Evens out operations in place of bytes, as shardsh balance --goal load does first.",
		"goal load", []usageForm{{"load", keep}, {"load reads|writes|mixed", keep}}}}
}

// parseGoal parses a goal. Only one goal is not that of the balancer.
func parseGoal(words []string) (plan.Goal, error) {
	goal, err := plan.ParseGoal(strings.Join(words, "="))
	if err == nil && goal.Kind != plan.Load {
		err = fmt.Errorf("%s is simulated by default, or is a separate change", goal.Kind)
	}
	return goal, err
}

// goal returns the goal of an alternative; the zero Goal stands for the balancer.
func (a Alternative) goal() (goal plan.Goal) {
	for _, c := range a.Changes {
		if made, ok := c.(change); ok && made.goal.Kind != "" {
			goal = made.goal
		}
	}
	return goal
}

// NeedsHeatMaps reports whether simulating the alternatives needs heat maps.
func NeedsHeatMaps(alternatives []Alternative) bool {
	return slices.ContainsFunc(alternatives, func(a Alternative) bool { return a.goal().Kind == plan.Load })
}
