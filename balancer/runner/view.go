package runner

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// view is the cluster as the engine of a run sees it: the collections of the run,
// without the settings that are for the cluster's own balancer, and with what is
// left alone. What no command does ends here.
type view struct {
	balancer.Cluster
	r *run
}

var _ balancer.Cluster = view{}

// Setting leaves out the switches and windows of the cluster's own balancer: a run
// has its own. Nothing is merged beside the moves.
func (v view) Setting(ctx context.Context, id string) (bson.Raw, error) {
	if id == catalog.SettingAutoMerge || id == catalog.SettingAutoSplit {
		return bson.Marshal(bson.D{{Key: "_id", Value: id}, {Key: "enabled", Value: false}})
	}
	read, err := v.r.catalog(ctx)
	if err != nil {
		return nil, v.r.note(err)
	}
	raw := read.Settings[id]
	if id != catalog.SettingBalancer || raw == nil {
		return raw, nil
	}
	var doc, kept bson.D
	if err := bson.Unmarshal(raw, &doc); err != nil {
		return nil, v.r.note(err)
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

func (v view) Shards(ctx context.Context) ([]catalog.Shard, error) {
	read, err := v.r.catalog(ctx)
	if err != nil {
		return nil, v.r.note(err)
	}
	return read.Shards, nil
}

// Collections lists those of the run. A defragmentation is none of its business.
func (v view) Collections(ctx context.Context) ([]catalog.Collection, error) {
	read, err := v.r.catalog(ctx)
	if err != nil {
		return nil, v.r.note(err)
	}
	var ours []catalog.Collection
	for _, c := range read.Collections {
		if v.r.has(c.Namespace) {
			ours = append(ours, v.r.seen(c))
		}
	}
	return ours, nil
}

// Routing shows what is left alone as flagged.
func (v view) Routing(ctx context.Context, ns string) (balancer.Routing, error) {
	routing, found, err := v.r.routing(ctx, ns)
	if err != nil {
		return routing, v.r.note(err)
	}
	if !found { // which ends nothing but the collection
		return routing, mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	}
	routing.Collection = v.r.seen(routing.Collection)
	if v.r.o.ForceJumbo {
		if routing.Table, err = routing.Table.WithoutJumboFlags(""); err != nil {
			return routing, v.r.note(err)
		}
	}
	if routing.Table, err = v.r.skipped.flagged(ns, routing.Table, v.r.o.Clock.Now()); err != nil {
		return routing, v.r.note(err)
	}
	v.r.routed(ns, routing.Table)
	return routing, nil
}

func (v view) DataSizes(ctx context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	sizes, err := v.sizes(ctx, colls)
	return sizes, v.r.note(err)
}

// sizes measures all collections of the run at once, where one command does: the round asks
// for a hundred at a time.
func (v view) sizes(ctx context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	if v.r.o.Goal == Ops || !v.r.cluster.Release().BalancesBySize() {
		return v.r.measure(ctx, v.Cluster, colls)
	}
	if v.r.round.measured == nil {
		all, err := v.Collections(ctx)
		if err != nil {
			return nil, err
		}
		if v.r.round.measured, err = v.r.measure(ctx, v.Cluster, all); err != nil {
			return nil, err
		}
	}
	return v.r.round.measured, nil
}

func (v view) Mergeable(context.Context) ([]policy.MergeWork, error) { return nil, nil }

// Split tells of it.
func (v view) Split(ctx context.Context, s policy.Split) error {
	var err error
	for again := true; again; again = v.r.o.Gate.Refused(ctx, err) {
		if err := v.r.o.Gate.Await(ctx); err != nil {
			v.r.over(err)
			return v.r.note(err)
		}
		err = v.Cluster.Split(ctx, s)
	}
	v.r.split(s, err)
	v.r.changed(s.Namespace)
	return err
}

// MarkJumbo leaves a chunk alone, or has it moved by force: no command flags it.
func (v view) MarkJumbo(ctx context.Context, ns string, lower catalog.Key) error {
	return v.r.note(v.r.tooLarge(ctx, ns, lower))
}

// SwitchOffBalancing leaves a collection alone: this run is to write nothing that
// nobody asked for.
func (v view) SwitchOffBalancing(_ context.Context, ns string) error {
	why := "its hashed shard key has no index any more"
	v.r.skipped.hold(ns, why)
	v.r.tell(Event{Kind: Aside, Namespace: ns, Why: why})
	return nil
}

func (view) LogAction(context.Context, string, bson.D) error { return nil }
func (view) LogChange(context.Context, string) error         { return nil }
