package live

import (
	"cmp"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Setting reads one document of config.settings.
func (d *Executor) Setting(ctx context.Context, id string) (bson.Raw, error) {
	docs, err := d.findInConfig(ctx, "settings", bson.D{{Key: "_id", Value: id}})
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	return docs[0], nil
}

// Shards lists config.shards in its order.
func (d *Executor) Shards(ctx context.Context) ([]catalog.Shard, error) {
	docs, err := d.findInConfig(ctx, "shards", bson.D{})
	if err != nil {
		return nil, err
	}
	shards := make([]catalog.Shard, 0, len(docs))
	for _, doc := range docs {
		s, err := catalog.ParseShard(doc)
		if err != nil {
			return nil, err
		}
		shards = append(shards, s)
	}
	limited := func(s catalog.Shard) bool { return s.MaxSizeMB > 0 }
	if !d.routerRelease.HasMaxShardSize() || !slices.ContainsFunc(shards, limited) {
		return shards, nil
	}
	bytes, err := readBytesByShard(ctx, d.runCommand)
	for i, s := range shards {
		if limited(s) {
			shards[i].SizeMB = bytes[s.ID] >> 20
		}
	}
	return shards, err
}

// Collections lists the sharded collections by namespace.
func (d *Executor) Collections(ctx context.Context) ([]catalog.Collection, error) {
	return d.listSharded(ctx)
}

// listSharded lists the sharded collections that match a filter, by namespace.
func (d *Executor) listSharded(ctx context.Context, filter ...bson.E) ([]catalog.Collection, error) {
	docs, err := d.findInConfig(ctx, "collections",
		append(filter, notDropped, bson.E{Key: "unsplittable", Value: bson.D{{Key: "$ne", Value: true}}}), sortBy("_id", 1))
	if err != nil {
		return nil, err
	}
	colls := make([]catalog.Collection, 0, len(docs))
	for _, doc := range docs {
		coll, err := catalog.ParseCollection(doc)
		if err != nil {
			return nil, err
		}
		colls = append(colls, coll)
	}
	return colls, nil
}

// readAttempts is the maximum number of times that chunks are read if they change during the read.
const readAttempts = 5

// Routing reads a collection, its chunks and its zones.
func (d *Executor) Routing(ctx context.Context, ns string) (balancer.Routing, error) {
	for attempt := 1; ; attempt++ {
		r, err := d.readRouting(ctx, ns)
		if attempt == readAttempts || !mongoerr.Is(err, mongoerr.ConflictingOperationInProgress) {
			return r, err
		}
	}
}

func (d *Executor) readRouting(ctx context.Context, ns string) (r balancer.Routing, err error) {
	if r.Collection, err = d.readCollection(ctx, ns); err != nil {
		return r, err
	}
	docs, err := d.listDocsWithTimeout(ctx, tableTimeout, "config", bson.D{
		{Key: "find", Value: "chunks"}, {Key: "filter", Value: bson.D{r.Collection.ChunkFilter()}}, sortBy("lastmod", 1),
		fullBatch, ReadConcernMajority,
	})
	if err != nil {
		return r, err
	}
	chunks, err := parseChunks(r.Collection, docs)
	if err != nil {
		return r, err
	}
	// A chunk that changes during the read is returned again, and the newer version is used.
	r.Table, err = catalog.NewRoutingTableUnsorted(r.Collection.Pattern, r.Collection.Epoch, r.Collection.Timestamp,
		chunks)
	if err != nil {
		return r, err
	}
	zones, err := d.readZonesByCollection(ctx, []catalog.Collection{r.Collection})
	r.Zones = zones[ns]
	return r, err
}

// DataSizes reads $shardedDataDistribution, which is available from 6.0.3 on.
func (d *Executor) DataSizes(ctx context.Context, colls []catalog.Collection) (
	map[string]map[catalog.ShardID]int64, error,
) {
	if !d.routerRelease.BalancesBySize() {
		return nil, &UnsupportedError{"sizes without orphans", "releases before 6.0 do not report them"}
	}
	shards, err := d.Shards(ctx)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]map[catalog.ShardID]int64, len(colls))
	names := make(bson.A, 0, len(colls))
	for _, coll := range colls {
		names = append(names, coll.Namespace)
		sizes[coll.Namespace] = make(map[catalog.ShardID]int64, len(shards))
		for _, s := range shards {
			sizes[coll.Namespace][s.ID] = 0 // a shard without data of the collection is not in the answer
		}
	}
	docs, err := d.listDocs(ctx, "admin", aggregateCommand(1,
		bson.D{{Key: "$shardedDataDistribution", Value: bson.D{}}},
		bson.D{{Key: "$match", Value: bson.D{{Key: "ns", Value: bson.D{{Key: "$in", Value: names}}}}}}))
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		parts, _ := doc.Lookup("shards").ArrayOK()
		values, _ := parts.Values()
		for _, v := range values {
			part, _ := v.DocumentOK()
			sizes[text(doc, "ns")][catalog.ShardID(text(part, "shardName"))] = integer(part, "ownedSizeBytes")
		}
	}
	return sizes, nil
}

func aggregateCommand(collection any, stages ...bson.D) bson.D {
	return bson.D{
		{Key: "aggregate", Value: collection}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{fullBatch}},
	}
}

// Unsharded returns an UnsupportedError: only the server's own tests need it.
func (d *Executor) Unsharded(context.Context) ([]policy.Unsharded, error) {
	return nil, &UnsupportedError{"moving collections at random", "only the server's own tests do that"}
}

// Mergeable lists the candidates of the auto-merger, with the default history window.
// Releases before 7.0 have no auto-merger.
func (d *Executor) Mergeable(ctx context.Context) ([]policy.MergeWork, error) {
	if !d.routerRelease.AutoMerges() {
		return nil, nil
	}
	colls, err := d.Collections(ctx)
	if err != nil {
		return nil, err
	}
	now, err := ReadRouterTime(ctx, d.commands)
	if err != nil {
		return nil, err
	}
	cutoff := policy.MergeCutoff(now, historyWindow)
	byUUID := make(map[string]string, len(colls))
	var uuids []bson.Binary
	for _, coll := range colls {
		if !coll.Defragment && coll.EnableAutoMerge {
			byUUID[string(coll.UUID.Data)] = coll.Namespace
			uuids = append(uuids, coll.UUID)
		}
	}
	var groups []bson.Raw
	for batch := range slices.Chunk(uuids, tablesPerUpdate) { // each UUID has its own bounds in an index
		some, err := d.listDocsWithTimeout(ctx, tableTimeout, "config", append(aggregateCommand("chunks",
			bson.D{{Key: "$match", Value: bson.D{{Key: "uuid", Value: bson.D{{Key: "$in", Value: batch}}},
				{Key: "onCurrentShardSince", Value: bson.D{{Key: "$lt", Value: cutoff}}}}}},
			bson.D{{Key: "$group", Value: bson.D{
				{Key: "_id", Value: bson.D{{Key: "shard", Value: "$shard"}, {Key: "uuid", Value: "$uuid"}}},
			}}}), ReadConcernMajority))
		if err != nil {
			return nil, err
		}
		groups = append(groups, some...)
	}
	return mergeWork(groups, byUUID), nil
}

// mergeWork returns the collections by shard, in the order of the auto-merger.
func mergeWork(groups []bson.Raw, byUUID map[string]string) []policy.MergeWork {
	byShard := map[string][]string{}
	for _, g := range groups {
		_, uuid, _ := g.Lookup("_id", "uuid").BinaryOK()
		if ns, ok := byUUID[string(uuid)]; ok {
			shard := text(g, "_id", "shard")
			byShard[shard] = append(byShard[shard], ns)
		}
	}
	var work []policy.MergeWork
	for shard, namespaces := range byShard {
		slices.Sort(namespaces)
		work = append(work, policy.MergeWork{Shard: catalog.ShardID(shard), Namespaces: namespaces})
	}
	slices.SortFunc(work, func(a, b policy.MergeWork) int { return cmp.Compare(a.Shard, b.Shard) })
	return work
}
