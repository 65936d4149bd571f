package balancer

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// SettingReader reads config.settings.
type SettingReader interface {
	// Setting reads one document; nil without an error when there is none
	// (rules/01-rounds-and-settings §2.1).
	Setting(ctx context.Context, id string) (bson.Raw, error)
}

// Reader is the engine's read access to the cluster.
type Reader interface {
	SettingReader

	// Shards lists config.shards in catalog order. The engine shuffles a copy, and does
	// not change the list.
	// For releases that limit shards, those with a limit have SizeMB filled in.
	Shards(ctx context.Context) ([]catalog.Shard, error)

	// Collections lists the sharded collections by namespace; unsplittable
	// ones are left out. The engine does not change the list.
	Collections(ctx context.Context) ([]catalog.Collection, error)

	// Routing returns the current routing table and zones of a collection.
	// NamespaceNotFound when it is gone.
	Routing(ctx context.Context, ns string) (Routing, error)

	// DataSizes asks every shard for the bytes it owns of each collection,
	// orphans excluded (rules/01-rounds-and-settings §3.2). A shard that does not exist any more is
	// left out of the maps; any other failing shard fails the call.
	DataSizes(ctx context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error)

	// Unsharded lists the collections that are not sharded and may move: no
	// views, nothing of admin, config and local. It is asked only while
	// Parameters.RandomMigrations is on.
	Unsharded(ctx context.Context) ([]policy.Unsharded, error)

	// Mergeable lists, by shard in ascending order, the collections the auto-merger may work on that
	// have a chunk old enough there (rules/02-defragmentation-and-merging §3.3).
	Mergeable(ctx context.Context) ([]policy.MergeWork, error)
}

// Routing is a collection as the catalog has it at one moment.
type Routing struct {
	Collection catalog.Collection
	// Table is nil for a collection without zones of which it is known that there is nothing
	// to move, where the release balances by size.
	Table *catalog.RoutingTable
	Zones *catalog.ZoneSet
}

// FCVReader is a SettingReader that knows the feature compatibility version as it is now.
type FCVReader interface {
	CompatibilityVersion(ctx context.Context) string
}

// LoadSettings reads config.settings over the settings known so far and returns
// what is in effect afterwards, also when it fails half way.
func LoadSettings(ctx context.Context, r SettingReader, known catalog.Settings) (catalog.Settings, error) {
	if c, tells := r.(FCVReader); tells {
		known.Release = known.Release.WithFCV(c.CompatibilityVersion(ctx))
	}
	err := known.Load(func(id string) (bson.Raw, error) { return r.Setting(ctx, id) })
	return known, err
}

// shards reads and shuffles config.shards: each call draws a new order
// (rules/01-rounds-and-settings §3.1). The list is good until the next call.
func (l *Loop) shards() ([]catalog.Shard, error) {
	shards, err := readShards(&l.thread)
	if err != nil || l.cfg.Rand == nil {
		return shards, err
	}
	// Shards are large: their places are shuffled, and each is copied once.
	places := l.shardShuffle.places[:0]
	for i := range shards {
		places = append(places, i)
	}
	l.rand.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	list := l.shardShuffle.list[:0]
	for _, i := range places {
		list = append(list, shards[i])
	}
	l.shardShuffle.places, l.shardShuffle.list = places, list
	return list, nil
}

// drawShardOrder reads config.shards and consumes the same random numbers as shards, for callers that
// need neither result.
func (l *Loop) drawShardOrder() error {
	shards, err := readShards(&l.thread)
	if err == nil {
		l.rand.Shuffle(len(shards), func(int, int) {})
	}
	return err
}

func readShards(t *thread) ([]catalog.Shard, error) {
	return call(t, "shards", func(ctx context.Context, c Cluster) ([]catalog.Shard, error) { return c.Shards(ctx) })
}

func readSizes(t *thread, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	return call(t, "sizes", func(ctx context.Context, c Cluster) (map[string]map[catalog.ShardID]int64, error) {
		return c.DataSizes(ctx, colls)
	})
}

func (l *Loop) collections() ([]catalog.Collection, error) {
	return call(&l.thread, "collections", func(ctx context.Context, c Cluster) ([]catalog.Collection, error) {
		return c.Collections(ctx)
	})
}

func (l *Loop) routing(ns string) (Routing, error) { return readRouting(&l.thread, ns) }

func readRouting(t *thread, ns string) (Routing, error) {
	return call(t, "routing", func(ctx context.Context, c Cluster) (Routing, error) {
		return c.Routing(ctx, ns)
	})
}
