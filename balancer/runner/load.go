package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/heat"
	"shardsh/balancer/policy"
)

// ErrNoSamples says that no query was sampled, so that it is not known which chunks have the load.
var ErrNoSamples = errors.New("no queries of the collections are sampled, so that no chunk can be chosen by its load")

// coolingRange is a range that was moved for its load: no part of the range moves again before a time.
type coolingRange struct {
	ns       string
	min, max catalog.Key
	until    time.Time
}

// runLoadRounds balances load. Each round estimates the load of the chunks, chooses steps and executes
// them. The last round finds nothing to do.
func (r *run) runLoadRounds(ctx context.Context) error {
	for {
		stuck, err := r.runLoadRound(ctx)
		if errors.Is(err, ErrNoSamples) {
			return err
		}
		_ = r.noteError(err)
		over, err := r.endRound(ctx)
		if over && err == nil && r.result.Reached {
			r.result.Left = append(r.result.Left, stuck...)
		}
		if over || err != nil {
			return err
		}
	}
}

// runLoadRound runs one round. It returns the load that the round leaves uneven, with the reasons.
func (r *run) runLoadRound(ctx context.Context) ([]Leftover, error) {
	if err := r.o.Gate.AwaitUnheld(ctx); err != nil {
		r.noteLimit(err)
		return nil, err
	}
	read, err := r.readCatalog(ctx)
	if err != nil {
		return nil, err
	}
	r.emit(Event{Kind: Waiting, Wait: r.o.OpsInterval, Why: "counting operations"})
	maps, err := r.o.ReadHeat(ctx, r.namespaces)
	if err != nil {
		return nil, err
	}
	sizes, err := r.cluster.Sizes(ctx, r.namespaces)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.round.sizes = sizes
	r.mu.Unlock()
	var places []heat.Recipient
	for _, s := range read.Shards {
		places = append(places, heat.NewRecipient(s))
	}
	d := heat.Decide(r.collectionsWithLoad(read, maps, sizes), places, r.heatOptions())
	if err := r.splitHotChunks(ctx, d); err != nil {
		return nil, err
	}
	chosen, err := r.chosenMoves(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, wave := range splitIntoWaves(chosen) {
		r.runMoves(ctx, wave)
	}
	return LeftoversOfLoad(d, maps), nil
}

// collectionsWithLoad returns the collections whose load is known, as input for the decision.
func (r *run) collectionsWithLoad(
	read *Catalog, maps []heat.Map, sizes map[string]map[catalog.ShardID]int64,
) (list []heat.Collection) {
	for i := range maps {
		m := &maps[i]
		routing, found := read.Routings[m.Namespace]
		if _, held := r.skipped.skippedCollection(m.Namespace); held || !found || r.engineView(routing.Collection).NoBalance {
			continue
		}
		r.noteTable(m.Namespace, routing.Table)
		list = append(list,
			heat.NewCollection(m, routing.Table, routing.Zones, sizes[m.Namespace], r.skipFunc(m, routing.Table)))
	}
	return list
}

// skipFunc returns a function that reports whether the chunk at a lower bound is to be skipped,
// because it was moved already or could not be moved.
func (r *run) skipFunc(m *heat.Map, table *catalog.RoutingTable) func(catalog.Key) bool {
	now := r.o.Clock.Now()
	alone := map[int]bool{}
	for _, a := range r.skipped.skippedAt(m.Namespace, now) {
		alone[table.IndexOf(a.min)] = true
	}
	return func(lower catalog.Key) bool {
		return alone[table.IndexOf(lower)] || slices.ContainsFunc(r.coolingRanges, func(one coolingRange) bool {
			return one.ns == m.Namespace && one.until.After(now) && !lower.Less(one.min) && lower.Less(one.max)
		})
	}
}

// heatOptions returns the options of a round.
func (r *run) heatOptions() heat.Options {
	r.mu.Lock()
	defer r.mu.Unlock()
	return heat.Options{LoadKind: r.o.LoadKind, Horizon: r.o.CoolDown, Volumes: r.disks.volumes}
}

// splitHotChunks executes the splits of a decision. They come before its moves.
func (r *run) splitHotChunks(ctx context.Context, d heat.Decision) error {
	for _, s := range d.Steps {
		if s.Point.IsZero() {
			continue
		}
		routing, found, err := r.readRouting(ctx, s.Namespace)
		if err != nil {
			return err
		}
		if !found || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		chunk := routing.Table.Find(s.Min)
		r.cluster.WithCluster(func(c balancer.Cluster) {
			err = engineCluster{c, r}.Split(ctx, policy.Split{Namespace: s.Namespace, Shard: chunk.Shard,
				Version: routing.Table.Version(), ChunkVersion: chunk.Version, Min: chunk.Min, Max: chunk.Max,
				Points: []catalog.Key{s.Point}})
		})
		if err != nil {
			return fmt.Errorf("splitting the chunk of %s at %s: %w", s.Namespace, chunk.Min, err)
		}
	}
	return nil
}

// chosenMoves returns the moves of a decision whose chunks have not changed.
func (r *run) chosenMoves(ctx context.Context, d heat.Decision) (list []policy.Migration, err error) {
	until := r.o.Clock.Now().Add(r.o.CoolDown)
	for _, s := range d.Steps {
		if !s.Point.IsZero() {
			continue
		}
		routing, found, err := r.readRouting(ctx, s.Namespace)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		chunk := routing.Table.Find(s.Min)
		if !chunk.Min.Equal(s.Min) || !chunk.Max.Equal(s.Max) || chunk.Shard != s.From {
			continue
		}
		r.noteTable(s.Namespace, routing.Table)
		r.coolingRanges = append(r.coolingRanges, coolingRange{s.Namespace, s.Min, s.Max, until})
		list = append(list, policy.Migration{From: s.From, To: s.To, Namespace: s.Namespace, UUID: routing.Collection.UUID,
			Min: s.Min, Max: s.Max, ChunkVersion: chunk.Version, Reason: policy.ReasonChunksImbalance,
			MaxChunkSizeBytes: routing.Collection.MaxChunkSizeBytes})
	}
	return list, nil
}

// splitIntoWaves divides migrations into groups, so that each group has at most one migration of each
// shard.
func splitIntoWaves(all []policy.Migration) (list [][]policy.Migration) {
	for len(all) > 0 {
		busy := map[catalog.ShardID]bool{}
		var wave, rest []policy.Migration
		for _, m := range all {
			if busy[m.From] || busy[m.To] {
				rest = append(rest, m)
			} else {
				wave = append(wave, m)
			}
			busy[m.From], busy[m.To] = true, true
		}
		list, all = append(list, wave), rest
	}
	return list
}

// LeftoversOfLoad returns the reasons why shards keep more load than others.
func LeftoversOfLoad(d heat.Decision, maps []heat.Map) (list []Leftover) {
	for _, s := range d.Overloaded {
		list = append(list, Leftover{
			Code: policy.Code(s.Why), Namespace: s.Namespace, Text: diagnosis.StuckShardText(s, maps) + ".",
		})
	}
	return list
}
