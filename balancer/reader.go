package balancer

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// SettingReader reads config.settings.
type SettingReader interface {
	// Setting reads one document. It returns nil without an error if the document does not exist
	// (rules/01-rounds-and-settings §2.1).
	Setting(ctx context.Context, id string) (bson.Raw, error)
}

// Reader is the engine's read access to the cluster.
type Reader interface {
	SettingReader

	// Shards lists config.shards in catalog order. The engine does not change the list; it shuffles a
	// copy. For releases with a size limit for shards, shards with a limit have SizeMB filled in.
	Shards(ctx context.Context) ([]catalog.Shard, error)

	// Collections lists the sharded collections by namespace, without unsplittable collections. The
	// engine does not change the list.
	Collections(ctx context.Context) ([]catalog.Collection, error)

	// Routing returns the current routing table and zones of a collection. It fails with
	// NamespaceNotFound if the collection does not exist any more.
	Routing(ctx context.Context, ns string) (Routing, error)

	// DataSizes asks every shard for the number of bytes of each collection that the shard owns,
	// without orphans (rules/01-rounds-and-settings §3.2). A shard that does not exist any more is
	// missing in the maps; any other failing shard fails the call.
	DataSizes(ctx context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error)

	// Unsharded lists the unsharded collections that may move: no views, and nothing of admin, config
	// and local. The engine calls it only while Parameters.RandomMigrations is on.
	Unsharded(ctx context.Context) ([]policy.Unsharded, error)

	// Mergeable lists, by shard in ascending order, the collections that the auto-merger may work on
	// and that have a chunk on the shard that is old enough (rules/02-defragmentation-and-merging
	// §3.3).
	Mergeable(ctx context.Context) ([]policy.MergeWork, error)
}

// Routing is a collection as the catalog has it at one point in time.
type Routing struct {
	Collection catalog.Collection
	// Table is nil for a collection without zones that is known to have nothing to move, in releases
	// that balance by size.
	Table *catalog.RoutingTable
	Zones *catalog.ZoneSet
}

// FCVReader is a SettingReader that also reads the current feature compatibility version.
type FCVReader interface {
	CompatibilityVersion(ctx context.Context) string
}

// LoadSettings reads config.settings over the settings that are known so far. It returns the settings
// that are in effect afterwards, even if it fails half way.
func LoadSettings(ctx context.Context, r SettingReader, known catalog.Settings) (catalog.Settings, error) {
	if c, tells := r.(FCVReader); tells {
		known.Release = known.Release.WithFCV(c.CompatibilityVersion(ctx))
	}
	err := known.Load(func(id string) (bson.Raw, error) { return r.Setting(ctx, id) })
	return known, err
}

// readShuffledShards reads and shuffles config.shards: each call draws a new order (rules/01-rounds-and-settings
// §3.1). The list is valid until the next call.
func (l *Loop) readShuffledShards() ([]catalog.Shard, error) {
	shards, err := readShards(&l.thread)
	if err != nil || l.cfg.Rand == nil {
		return shards, err
	}
	// Shards are large: their indexes are shuffled, and each is copied once.
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

// drawShardOrder reads config.shards and consumes the same random numbers as readShuffledShards, for
// callers that do not need the order.
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
