package balancing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// Load is what a dry run tells of operations: each round counts anew, so that nobody
// can say which moves there will be.
type Load struct {
	Seconds     float64                              `json:"seconds"`
	Collections map[string]map[catalog.ShardID]int64 `json:"collections"`
}

// CountLoad counts the operations of the collections of a run for a time.
func CountLoad(ctx context.Context, a live.CommandRunner, clock pace.Clock, o runner.Options) (Load, error) {
	steps, err := live.NewSteps(ctx, a)
	if err != nil {
		return Load{}, err
	}
	look, err := steps.Look(ctx, nil)
	if err != nil {
		return Load{}, err
	}
	names, err := plan.Namespaces(look, o.Namespaces)
	if err != nil {
		return Load{}, err
	}
	interval := cmp.Or(o.OpsInterval, time.Minute)
	counted, err := runner.CountOperations(ctx, steps, clock, interval, runner.Ours(names, o.Namespaces))
	for _, shards := range counted {
		for _, s := range look.Shards() {
			shards[s.ID] += 0 // one that has no chunk is not asked
		}
	}
	return Load{interval.Seconds(), counted}, err
}

// Text is a line for each collection.
func (l Load) Text() string {
	var text strings.Builder
	for _, ns := range slices.Sorted(maps.Keys(l.Collections)) {
		shards := l.Collections[ns]
		var total int64
		for _, n := range shards {
			total += n
		}
		fmt.Fprintf(&text, "%s: %d operations in %g s", ns, total, l.Seconds)
		if total == 0 {
			text.WriteString(", nothing to even out\n")
			continue
		}
		ids := slices.SortedFunc(maps.Keys(shards), func(a, b catalog.ShardID) int {
			return cmp.Or(cmp.Compare(shards[b], shards[a]), cmp.Compare(a, b))
		})
		for _, id := range ids {
			fmt.Fprintf(&text, ", %s %.1f %%", id, 100*float64(shards[id])/float64(total))
		}
		first, last := ids[0], ids[len(ids)-1]
		if apart := shards[first] - shards[last]; 10*apart*int64(len(ids)) < total {
			text.WriteString(": even, to a tenth of a fair share\n")
		} else {
			fmt.Fprintf(&text, ": chunks would move from %s to %s first\n", first, last)
		}
	}
	return text.String()
}
