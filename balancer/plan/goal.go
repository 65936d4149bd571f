package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
)

// GoalKind is the kind of goal of a plan.
type GoalKind string

// The kinds of goals.
const (
	// Balance is what the balancer does until nothing is left to move.
	Balance GoalKind = "balance"
	// Drain empties one shard.
	Drain GoalKind = "drain"
	// Zones brings every chunk into its zone.
	Zones GoalKind = "zones"
	// Defragment merges small chunks and moves those that need a neighbour.
	Defragment GoalKind = "defragment"
	// Consolidate makes as few chunks as the merges without moves allow.
	Consolidate GoalKind = "consolidate"
	// Load evens out the operations of shards, as balance by load does in its first round.
	// Its plans are for display only: a run counts operations again before each round.
	Load GoalKind = "load"
	// Presplit cuts one collection at given points and spreads its chunks evenly
	// over the shards, by number. It comes from its own command only.
	Presplit GoalKind = "presplit"
	// Undo takes back what was carried out of other plans: apply makes such plans.
	Undo GoalKind = "undo"
)

// GoalKinds returns the kinds of goals that a user can name.
func GoalKinds() []GoalKind { return []GoalKind{Balance, Drain, Zones, Defragment, Consolidate, Load} }

// ParseGoal reads a goal as it is written on a command line: its kind, for a drain
// with the shard behind it, drain=s3, for a load perhaps with what counts, load=writes.
func ParseGoal(text string) (Goal, error) {
	kind, shard, given := strings.Cut(text, "=")
	g := Goal{Kind: GoalKind(kind), Shard: catalog.ShardID(shard)}
	if g.Kind == Load {
		g.Shard, g.By = "", heat.LoadKind(shard)
	}
	switch {
	case !slices.Contains(GoalKinds(), g.Kind):
		return Goal{}, unknownGoalError(g.Kind)
	case g.Kind == Drain && shard == "":
		return Goal{}, errors.New("the goal drain needs a shard: drain=SHARD")
	case g.Kind == Load && (!given || slices.Contains(heat.LoadKinds(), g.By)):
	case g.Kind == Load:
		return Goal{}, fmt.Errorf("the goal load takes %s, not %q", "reads, writes or mixed", shard)
	case g.Kind != Drain && given:
		return Goal{}, fmt.Errorf("the goal %s takes no %q", kind, shard)
	}
	return g, nil
}

func unknownGoalError(kind GoalKind) error {
	return fmt.Errorf("%q is not a valid goal: use %s, %s=SHARD, %s, %s, %s or %s",
		kind, Balance, Drain, Zones, Defragment, Consolidate, Load)
}

// Goal is what a plan is to lead to, and for which collections.
type Goal struct {
	Kind GoalKind `json:"kind"`
	// Shard is the one that Drain empties.
	Shard catalog.ShardID `json:"shard,omitzero"`
	// Namespaces are the collections; none means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// By is what counts for Load; empty is mixed.
	By heat.LoadKind `json:"by,omitzero"`
	// Points are where Presplit cuts.
	Points []catalog.Key `json:"points,omitempty"`
	// Homes are where Presplit brings what lies before the first of the Points, between two of
	// them, and from the last on; none spreads evenly.
	Homes []catalog.ShardID `json:"homes,omitempty"`
}

// Limits bound a plan: it ends before the first step that would pass one, but for
// that of disks, which has other shards receive. Zero means no limit.
type Limits struct {
	Bytes  int64         `json:"bytes,omitzero"`
	Moves  int           `json:"moves,omitzero"`
	Rounds int           `json:"rounds,omitzero"`
	Time   time.Duration `json:"timeNanos,omitzero"`
	// Disk is the share of its volume that no shard may fill by what it receives.
	Disk float64 `json:"disk,omitzero"`
}
