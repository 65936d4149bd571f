package runner

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// engineCluster is the cluster as the engine of a run sees it. It has only the collections of the run,
// hides the settings of the cluster's own balancer, and shows skipped chunks as jumbo. It drops writes
// for which the router has no command.
type engineCluster struct {
	balancer.Cluster
	r *run
}

var _ balancer.Cluster = engineCluster{}

// Setting hides the switches and windows of the cluster's own balancer: a run has its own. It also
// switches the auto-merger off, so that nothing is merged during the moves.
func (v engineCluster) Setting(ctx context.Context, id string) (bson.Raw, error) {
	if id == catalog.SettingAutoMerge || id == catalog.SettingAutoSplit {
		return bson.Marshal(bson.D{{Key: "_id", Value: id}, {Key: "enabled", Value: false}})
	}
	read, err := v.r.readCatalog(ctx)
	if err != nil {
		return nil, v.r.noteError(err)
	}
	raw := read.Settings[id]
	if id != catalog.SettingBalancer || raw == nil {
		return raw, nil
	}
	var doc, kept bson.D
	if err := bson.Unmarshal(raw, &doc); err != nil {
		return nil, v.r.noteError(err)
	}
	for _, field := range doc {
		switch field.Key {
		case "stopped", "mode", "activeWindow", "activeWindowDOW":
		default:
			kept = append(kept, field)
		}
	}
	return bson.Marshal(kept)
}

func (v engineCluster) Shards(ctx context.Context) ([]catalog.Shard, error) {
	read, err := v.r.readCatalog(ctx)
	if err != nil {
		return nil, v.r.noteError(err)
	}
	return read.Shards, nil
}

// Collections returns the collections of the run, without their defragmentation flags.
func (v engineCluster) Collections(ctx context.Context) ([]catalog.Collection, error) {
	read, err := v.r.readCatalog(ctx)
	if err != nil {
		return nil, v.r.noteError(err)
	}
	var ours []catalog.Collection
	for _, c := range read.Collections {
		if v.r.hasNamespace(c.Namespace) {
			ours = append(ours, v.r.engineView(c))
		}
	}
	return ours, nil
}

// Routing returns a routing table in which the skipped ranges are flagged as jumbo.
func (v engineCluster) Routing(ctx context.Context, ns string) (balancer.Routing, error) {
	routing, found, err := v.r.readRouting(ctx, ns)
	if err != nil {
		return routing, v.r.noteError(err)
	}
	if !found { // the error concerns only this collection
		return routing, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	routing.Collection = v.r.engineView(routing.Collection)
	if v.r.o.ForceJumbo {
		if routing.Table, err = routing.Table.WithoutJumboFlags(""); err != nil {
			return routing, v.r.noteError(err)
		}
	}
	if routing.Table, err = v.r.skipped.withFlags(ns, routing.Table, v.r.o.Clock.Now()); err != nil {
		return routing, v.r.noteError(err)
	}
	v.r.noteTable(ns, routing.Table)
	return routing, nil
}

func (v engineCluster) DataSizes(
	ctx context.Context,
	colls []catalog.Collection,
) (map[string]map[catalog.ShardID]int64, error) {
	sizes, err := v.readSizes(ctx, colls)
	return sizes, v.r.noteError(err)
}

// readSizes measures all collections of the run at once if one command can do so, while the round asks
// for a hundred collections at a time.
func (v engineCluster) readSizes(
	ctx context.Context,
	colls []catalog.Collection,
) (map[string]map[catalog.ShardID]int64, error) {
	if v.r.o.Goal == GoalOps || !v.r.cluster.Release().BalancesBySize() {
		return v.r.measureSizes(ctx, v.Cluster, colls)
	}
	if v.r.round.allSizes == nil {
		all, err := v.Collections(ctx)
		if err != nil {
			return nil, err
		}
		if v.r.round.allSizes, err = v.r.measureSizes(ctx, v.Cluster, all); err != nil {
			return nil, err
		}
	}
	return v.r.round.allSizes, nil
}

func (v engineCluster) Mergeable(context.Context) ([]policy.MergeWork, error) { return nil, nil }

// Split splits a chunk, and emits an event.
func (v engineCluster) Split(ctx context.Context, s policy.Split) error {
	var err error
	for again := true; again; again = v.r.o.Gate.WasRefused(ctx, err) {
		if err := v.r.o.Gate.AwaitUnheld(ctx); err != nil {
			v.r.noteLimit(err)
			return v.r.noteError(err)
		}
		err = v.Cluster.Split(ctx, s)
	}
	v.r.noteSplit(s, err)
	v.r.noteChanged(s.Namespace)
	return err
}

// MarkJumbo skips a chunk, or schedules a forced move of it. No command of a router sets the jumbo
// flag.
func (v engineCluster) MarkJumbo(ctx context.Context, ns string, lower catalog.Key) error {
	return v.r.noteError(v.r.handleTooLarge(ctx, ns, lower))
}

// SwitchOffBalancing skips a collection. A run does not change settings that the user did not ask it to
// change.
func (v engineCluster) SwitchOffBalancing(_ context.Context, ns string) error {
	why := "its hashed shard key has no index any more"
	v.r.skipped.skipCollection(ns, why)
	v.r.tell(Event{Kind: Skipped, Namespace: ns, Why: why})
	return nil
}

func (engineCluster) LogAction(context.Context, string, bson.D) error { return nil }
func (engineCluster) LogChange(context.Context, string) error         { return nil }
