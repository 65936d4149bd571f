package action

import (
	"context"
	"fmt"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// mostForced is how many chunks are looked at before a run.
const mostForced = 100

// foreseeForced notes which chunks a plan would move by force, and for how long writes
// wait: those that are flagged jumbo and have one shard key. A chunk that nobody has
// flagged yet is told of when it is reached.
func (c Cluster) foreseeForced(ctx context.Context, p *plan.Plan, r *serial) error {
	steps, err := live.NewSteps(ctx, c.runner())
	if err != nil {
		return &AccessError{err}
	}
	type part struct {
		ns   string
		from catalog.ShardID
	}
	seen, looked := map[part]bool{}, 0
	for _, s := range p.Steps {
		at := part{s.Namespace, s.From}
		if s.Kind != plan.Move || seen[at] {
			continue
		}
		seen[at] = true
		coll, chunks, err := steps.Flagged(ctx, s.Namespace, s.From, mostForced)
		if err != nil {
			return err
		}
		for _, chunk := range chunks {
			if looked++; looked > mostForced {
				return nil
			}
			of := apply.Command{
				Kind: plan.Move, Namespace: s.Namespace, Pattern: coll.Pattern, Min: chunk.Min, Max: chunk.Max,
				MaxBytes: coll.MaxChunkSizeBytes,
			}
			points, err := steps.Cuts(ctx, of)
			if err != nil {
				return err
			}
			if len(points) > 0 {
				continue
			}
			size, err := steps.Size(ctx, of)
			if err != nil {
				return err
			}
			r.note(fmt.Sprintf("The chunk of %s at %s on %s would be moved by force: %s.",
				s.Namespace, chunk.Min, s.From, apply.ForcedOf(size.Bytes)))
		}
	}
	return nil
}
