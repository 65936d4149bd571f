package members

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/sharding"
	"shardsh/balancer/mongoerr"
)

// The sharding state of a shard: its cache of the catalog, and the commands for it.

// chunksCachePrefix is the prefix of the collections in which a shard caches routing tables.
const chunksCachePrefix = "config.cache.chunks."

// cachedCollections returns the tracked collections that have chunks on a shard.
func cachedCollections(c *call.Call) []string {
	if c.Node.Member.Shard == catalog.ConfigServerID {
		return nil
	}
	local := c.Cluster.Statistics().MemberNamespaces(c.Node.Member.Shard)
	return slices.DeleteFunc(local, func(ns string) bool { return c.Cluster.ConfigDB().Table(ns) == nil })
}

func chunksCacheDocs(c *call.Call, ns string) []bson.D {
	table := c.Cluster.ConfigDB().Table(ns)
	var docs []bson.D
	for chunk := range table.All() {
		doc := bson.D{{Key: "_id", Value: table.Pattern().Bound(chunk.Min)}}
		for _, e := range chunk.Doc(table.Pattern(), bson.Binary{}) {
			switch e.Key {
			case "max", "shard", "lastmod", "onCurrentShardSince", "history":
				doc = append(doc, e)
			}
		}
		docs = append(docs, doc)
	}
	return docs
}

func collectionsCacheDocs(c *call.Call) ([]bson.D, error) {
	var docs []bson.D
	for _, ns := range cachedCollections(c) {
		coll, _, err := c.Cluster.ConfigDB().TrackedEntry(ns)
		if err != nil {
			return nil, err
		}
		docs = append(docs, bson.D{
			{Key: "_id", Value: ns}, {Key: "uuid", Value: coll.UUID}, {Key: "key", Value: coll.Pattern.Doc()},
			{Key: "unique", Value: coll.Unique}, {Key: "refreshing", Value: false}, {Key: "epoch", Value: coll.Epoch},
			{Key: "timestamp", Value: coll.Timestamp}, {Key: "unsplittable", Value: coll.Unsplittable},
			{Key: "lastRefreshedCollectionVersion", Value: c.Cluster.ConfigDB().Table(ns).Version().ChunkVersion.Timestamp()},
		})
	}
	return docs, nil
}

// databasesCacheDocs returns the databases that have collections on a shard.
func databasesCacheDocs(c *call.Call) ([]bson.D, error) {
	if c.Node.Member.Shard == catalog.ConfigServerID {
		return nil, nil
	}
	var docs []bson.D
	last := ""
	for _, ns := range c.Cluster.Statistics().MemberNamespaces(c.Node.Member.Shard) {
		db := catalog.DatabaseOf(ns)
		entry, known := c.Cluster.ConfigDB().DatabaseEntry(db)
		if !known || db == last {
			continue
		}
		last = db
		docs = append(docs, bson.D{
			{Key: "_id", Value: db}, {Key: "primary", Value: entry.Lookup("primary")},
			{Key: "version", Value: entry.Lookup("version")},
		})
	}
	return docs, nil
}

func rangeDeletions(c *call.Call) ([]bson.D, error) {
	var docs []bson.D
	for _, task := range c.Cluster.RangeDeleter().Tasks(c.Node.Member.Shard) {
		when := "delayed"
		if task.Immediate {
			when = "now"
		}
		donor := task.Donor
		if donor == "" { // stored by an older program
			donor = c.Node.Member.Shard
		}
		doc := bson.D{
			{Key: "_id", Value: memberUUID(c, "deletion", task.Namespace, string(task.Min), string(task.UUID.Data))},
			{Key: "nss", Value: task.Namespace}, {Key: "collectionUuid", Value: task.UUID},
			{Key: "donorShardId", Value: string(donor)},
			{Key: "range", Value: bson.D{{Key: "min", Value: task.Min}, {Key: "max", Value: task.Max}}},
		}
		if task.Pending {
			doc = append(doc, bson.E{Key: "pending", Value: true})
		}
		docs = append(docs, append(doc,
			bson.E{Key: "whenToClean", Value: when}, bson.E{Key: "timestamp", Value: task.MigrationStart},
			bson.E{Key: "numOrphanDocs", Value: task.Orphans}, bson.E{Key: "keyPattern", Value: task.Key}))
	}
	return docs, nil
}

func memberShardingHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"getShardVersion": memberShardVersion,
		"shardingState":   shardingState,
		"splitVector":     sharding.SplitVector,
		"splitChunk":      splitOnShard,
		"mergeChunks":     mergeOnShard,

		"_flushRoutingTableCacheUpdates": flushCache,
		"_flushDatabaseCacheUpdates":     call.OK,
	}
}

// memberShardVersion returns the version of the chunks that the shard owns, if it knows the collection.
func memberShardVersion(c *call.Call) (bson.D, error) {
	name, isText := c.Body.Lookup(c.InvokedAs).StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.BadValue, "getShardVersion takes a namespace")
	}
	if _, _, err := catalog.SplitNamespace(name); err != nil {
		return nil, err
	}
	var version any = "UNKNOWN"
	if slices.Contains(cachedCollections(c), name) {
		version = c.Cluster.ConfigDB().Table(name).ShardVersion(c.Node.Member.Shard).Timestamp()
	}
	return bson.D{{Key: "configServer", Value: c.Cluster.Addresses().ConfigServer()}, {Key: "global", Value: version}}, nil
}

func shardingState(c *call.Call) (bson.D, error) {
	versions := bson.D{}
	for _, ns := range cachedCollections(c) {
		table := c.Cluster.ConfigDB().Table(ns)
		versions = append(versions, bson.E{Key: ns, Value: bson.D{
			{Key: "placementVersion", Value: table.ShardVersion(c.Node.Member.Shard).Timestamp()},
			{Key: "timestamp", Value: table.Timestamp()},
		}})
	}
	return bson.D{
		{Key: "enabled", Value: true}, {Key: "configServer", Value: c.Cluster.Addresses().ConfigServer()},
		{Key: "shardName", Value: string(c.Node.Member.Shard)}, {Key: "clusterId", Value: clusterID(c)},
		{Key: "versions", Value: versions},
	}, nil
}

// splitOnShard implements the split command that a router or the config server sends to a shard, with
// explicit split keys.
func splitOnShard(c *call.Call) (bson.D, error) {
	coll, err := c.Cluster.ConfigDB().RequireSharded(c.Args.Text("splitChunk"))
	if err != nil {
		return nil, err
	}
	if epoch, _ := c.Args["epoch"].ObjectIDOK(); epoch != coll.Epoch {
		return nil, mongoerr.New(mongoerr.StaleEpoch, "splitChunk of %s knows epoch %s, the collection has %s",
			coll.Namespace, epoch.Hex(), coll.Epoch.Hex())
	}
	docs, err := args.Documents(c.Args["splitKeys"])
	if err != nil {
		return nil, err
	}
	keys := make([]catalog.Key, 0, len(docs)+2)
	for _, doc := range append([]bson.Raw{c.Args.Object("min"), c.Args.Object("max")}, docs...) {
		key, err := coll.Pattern.ParseKey(doc)
		if err != nil {
			return nil, mongoerr.New(mongoerr.BadValue, "%s is not a key of %s: %s", doc, coll.Namespace, err)
		}
		keys = append(keys, key)
	}
	if c.Cluster.Migrations().IsDonating(coll.Namespace, c.Node.Member.Shard) {
		return nil, mongoerr.New(mongoerr.ConflictingOperationInProgress, "%s is donating a chunk of %s", c.Node.Member.Shard,
			coll.Namespace)
	}
	chunk := catalog.Chunk{Min: keys[0], Max: keys[1], Shard: c.Node.Member.Shard}
	return bson.D{}, c.Cluster.Chunks().SplitOnShard(coll, chunk, keys[2:])
}

// mergeOnShard merges chunks as a router does, if they are on this shard.
func mergeOnShard(c *call.Call) (bson.D, error) {
	coll, err := c.Cluster.ConfigDB().RequireSharded(c.Args.Text("mergeChunks"))
	if err != nil {
		return nil, err
	}
	bounds, err := args.Documents(c.Body.Lookup("bounds"))
	if err != nil || len(bounds) != 2 {
		return sharding.MergeChunks(c) // returns the error
	}
	lower, errMin := coll.Pattern.ParseKey(bounds[0])
	upper, errMax := coll.Pattern.ParseKey(bounds[1])
	owners := c.Cluster.ConfigDB().Table(coll.Namespace).OwnersIn(lower, upper)
	if errMin == nil && errMax == nil && (len(owners) != 1 || owners[0] != c.Node.Member.Shard) {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "%s does not own all of the range [%s, %s)", c.Node.Member.Shard,
			bounds[0], bounds[1])
	}
	return sharding.MergeChunks(c)
}

// flushCache does nothing: the routing table cache of a shard is never stale in the mock.
func flushCache(c *call.Call) (bson.D, error) {
	_, _, err := catalog.SplitNamespace(c.Args.Text("_flushRoutingTableCacheUpdates"))
	return bson.D{}, err
}
