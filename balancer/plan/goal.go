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

// These are the kinds of goals.
const (
	// Balance does what the balancer does until nothing is left to move.
	Balance GoalKind = "balance"
	// Drain empties one shard.
	Drain GoalKind = "drain"
	// Zones moves every chunk into its zone.
	Zones GoalKind = "zones"
	// Defragment merges small chunks, and moves small chunks to an adjacent chunk to merge them.
	Defragment GoalKind = "defragment"
	// Consolidate merges chunks as far as possible without moves.
	Consolidate GoalKind = "consolidate"
	// Load balances the operations of shards, like the first round of balance by load. Its plans are
	// only for display: a run counts operations again before each round.
	Load GoalKind = "load"
	// Presplit splits one collection at given points and distributes its chunks evenly over the shards,
	// by number. Only the presplit command uses it.
	Presplit GoalKind = "presplit"
	// Undo reverts the executed steps of other plans. Package apply makes such plans.
	Undo GoalKind = "undo"
)

// GoalKinds returns the kinds of goals that a user can name.
func GoalKinds() []GoalKind { return []GoalKind{Balance, Drain, Zones, Defragment, Consolidate, Load} }

// ParseGoal parses a goal as written on a command line: its kind, for a drain with the shard, drain=s3,
// and for load optionally with the kind of load, load=writes.
func ParseGoal(text string) (Goal, error) {
	kind, shard, given := strings.Cut(text, "=")
	g := Goal{Kind: GoalKind(kind), Shard: catalog.ShardID(shard)}
	if g.Kind == Load {
		g.Shard, g.LoadKind = "", heat.LoadKind(shard)
	}
	switch {
	case !slices.Contains(GoalKinds(), g.Kind):
		return Goal{}, unknownGoalError(g.Kind)
	case g.Kind == Drain && shard == "":
		return Goal{}, errors.New("the goal drain needs a shard: drain=SHARD")
	case g.Kind == Load && (!given || slices.Contains(heat.LoadKinds(), g.LoadKind)):
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

// Goal is the goal of a plan, with its collections.
type Goal struct {
	Kind GoalKind `json:"kind"`
	// Shard is the shard that Drain empties.
	Shard catalog.ShardID `json:"shard,omitzero"`
	// Namespaces are the collections; none means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// LoadKind is the kind of load for Load; empty is mixed.
	LoadKind heat.LoadKind `json:"by,omitzero"`
	// Points are the split points of Presplit.
	Points []catalog.Key `json:"points,omitempty"`
	// TargetShards are the target shards of Presplit for the ranges before the first of the Points, between
	// two of them, and from the last on; none distributes evenly.
	TargetShards []catalog.ShardID `json:"homes,omitempty"`
}

// Limits limit a plan: it ends before the first step that would exceed a limit. The disk limit is
// different: other shards receive data instead. Zero means no limit.
type Limits struct {
	Bytes  int64         `json:"bytes,omitzero"`
	Moves  int           `json:"moves,omitzero"`
	Rounds int           `json:"rounds,omitzero"`
	Time   time.Duration `json:"timeNanos,omitzero"`
	// Disk is the maximum fraction of its volume that a shard may fill by receiving chunks.
	Disk float64 `json:"disk,omitzero"`
}
