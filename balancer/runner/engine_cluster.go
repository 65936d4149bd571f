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
func (e engineCluster) Setting(ctx context.Context, id string) (bson.Raw, error) {
	if id == catalog.SettingAutoMerge || id == catalog.SettingAutoSplit {
		return bson.Marshal(bson.D{{Key: "_id", Value: id}, {Key: "enabled", Value: false}})
	}
	read, err := e.r.readCatalog(ctx)
	if err != nil {
		return nil, e.r.noteError(err)
	}
	raw := read.Settings[id]
	if id != catalog.SettingBalancer || raw == nil {
		return raw, nil
	}
	var doc, kept bson.D
	if err := bson.Unmarshal(raw, &doc); err != nil {
		return nil, e.r.noteError(err)
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

func (e engineCluster) Shards(ctx context.Context) ([]catalog.Shard, error) {
	read, err := e.r.readCatalog(ctx)
	if err != nil {
		return nil, e.r.noteError(err)
	}
	return read.Shards, nil
}

// Collections returns the collections of the run, without their defragmentation flags.
func (e engineCluster) Collections(ctx context.Context) ([]catalog.Collection, error) {
	read, err := e.r.readCatalog(ctx)
	if err != nil {
		return nil, e.r.noteError(err)
	}
	var ours []catalog.Collection
	for _, c := range read.Collections {
		if e.r.hasNamespace(c.Namespace) {
			ours = append(ours, e.r.engineView(c))
		}
	}
	return ours, nil
}

// Routing returns a routing table in which the skipped ranges are flagged as jumbo.
func (e engineCluster) Routing(ctx context.Context, ns string) (balancer.Routing, error) {
	routing, found, err := e.r.readRouting(ctx, ns)
	if err != nil {
		return routing, e.r.noteError(err)
	}
	if !found { // the error concerns only this collection
		return routing, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	routing.Collection = e.r.engineView(routing.Collection)
	if e.r.o.ForceJumbo {
		if routing.Table, err = routing.Table.WithoutJumboFlags(""); err != nil {
			return routing, e.r.noteError(err)
		}
	}
	if routing.Table, err = e.r.skipped.withJumboFlags(ns, routing.Table, e.r.o.Clock.Now()); err != nil {
		return routing, e.r.noteError(err)
	}
	e.r.noteTable(ns, routing.Table)
	return routing, nil
}

func (e engineCluster) DataSizes(
	ctx context.Context,
	colls []catalog.Collection,
) (map[string]map[catalog.ShardID]int64, error) {
	sizes, err := e.readSizes(ctx, colls)
	return sizes, e.r.noteError(err)
}

// readSizes measures all collections of the run at once if one command can do so, while the round asks
// for a hundred collections at a time.
func (e engineCluster) readSizes(
	ctx context.Context,
	colls []catalog.Collection,
) (map[string]map[catalog.ShardID]int64, error) {
	if e.r.o.Goal == GoalOps || !e.r.cluster.Release().BalancesBySize() {
		return e.r.measureSizes(ctx, e.Cluster, colls)
	}
	if e.r.round.allSizes == nil {
		all, err := e.Collections(ctx)
		if err != nil {
			return nil, err
		}
		if e.r.round.allSizes, err = e.r.measureSizes(ctx, e.Cluster, all); err != nil {
			return nil, err
		}
	}
	return e.r.round.allSizes, nil
}

func (e engineCluster) Mergeable(context.Context) ([]policy.MergeWork, error) { return nil, nil }

// Split splits a chunk, and emits an event.
func (e engineCluster) Split(ctx context.Context, s policy.Split) error {
	var err error
	for again := true; again; again = e.r.o.Gate.MustReenter(ctx, err) {
		if err := e.r.o.Gate.AwaitUnheld(ctx); err != nil {
			e.r.noteLimit(err)
			return e.r.noteError(err)
		}
		err = e.Cluster.Split(ctx, s)
	}
	e.r.noteSplit(s, err)
	e.r.noteChanged(s.Namespace)
	return err
}

// MarkJumbo skips a chunk, or schedules a forced move of it. No command of a router sets the jumbo
// flag.
func (e engineCluster) MarkJumbo(ctx context.Context, ns string, lower catalog.Key) error {
	return e.r.noteError(e.r.handleTooLarge(ctx, ns, lower))
}

// SwitchOffBalancing skips a collection. A run does not change settings that the user did not ask it to
// change.
func (e engineCluster) SwitchOffBalancing(_ context.Context, ns string) error {
	why := "its hashed shard key has no index any more"
	e.r.skipped.skipCollection(ns, why)
	e.r.emit(Event{Kind: Skipped, Namespace: ns, Why: why})
	return nil
}

func (engineCluster) LogAction(context.Context, string, bson.D) error { return nil }
func (engineCluster) LogChange(context.Context, string) error         { return nil }
