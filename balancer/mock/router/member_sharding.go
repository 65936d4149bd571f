package router

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// What a shard knows of the cluster: its copy of the catalog, and the commands
// about it.

// cachedChunks begins the names of the collections that a shard keeps its copies
// of routing tables in.
const cachedChunks = "config.cache.chunks."

// cachedCollections lists the tracked collections that a shard has a part of.
func cachedCollections(c *call) []string {
	if c.node.member.ID == mock.ConfigServerID {
		return nil
	}
	local := c.cluster.Statistics().MemberNamespaces(c.node.member.ID)
	return slices.DeleteFunc(local, func(ns string) bool { return c.cluster.ConfigDB().Table(ns) == nil })
}

func cacheChunks(c *call, ns string) []bson.D {
	table := c.cluster.ConfigDB().Table(ns)
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

func cacheCollections(c *call) ([]bson.D, error) {
	var docs []bson.D
	for _, ns := range cachedCollections(c) {
		coll, _, err := c.cluster.ConfigDB().Tracked(ns)
		if err != nil {
			return nil, err
		}
		docs = append(docs, bson.D{
			{Key: "_id", Value: ns}, {Key: "uuid", Value: coll.UUID}, {Key: "key", Value: coll.Pattern.Doc()},
			{Key: "unique", Value: coll.Unique}, {Key: "refreshing", Value: false}, {Key: "epoch", Value: coll.Epoch},
			{Key: "timestamp", Value: coll.Timestamp}, {Key: "unsplittable", Value: coll.Unsplittable},
			{Key: "lastRefreshedCollectionVersion", Value: c.cluster.ConfigDB().Table(ns).Version().ChunkVersion.Timestamp()},
		})
	}
	return docs, nil
}

// cacheDatabases lists the databases that a shard has collections of.
func cacheDatabases(c *call) ([]bson.D, error) {
	if c.node.member.ID == mock.ConfigServerID {
		return nil, nil
	}
	var docs []bson.D
	last := ""
	for _, ns := range c.cluster.Statistics().MemberNamespaces(c.node.member.ID) {
		db, _, _ := strings.Cut(ns, ".")
		entry, known := c.cluster.ConfigDB().DatabaseEntry(db)
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

func rangeDeletions(c *call) ([]bson.D, error) {
	var docs []bson.D
	for _, task := range c.cluster.RangeDeleter().Tasks(c.node.member.ID) {
		when := "delayed"
		if task.Now {
			when = "now"
		}
		donor := task.Donor
		if donor == "" { // of a file of before
			donor = c.node.member.ID
		}
		doc := bson.D{
			{Key: "_id", Value: c.identity("deletion", task.Namespace, string(task.Min), string(task.UUID.Data))},
			{Key: "nss", Value: task.Namespace}, {Key: "collectionUuid", Value: task.UUID},
			{Key: "donorShardId", Value: string(donor)},
			{Key: "range", Value: bson.D{{Key: "min", Value: task.Min}, {Key: "max", Value: task.Max}}},
		}
		if task.Pending {
			doc = append(doc, bson.E{Key: "pending", Value: true})
		}
		docs = append(docs, append(doc,
			bson.E{Key: "whenToClean", Value: when}, bson.E{Key: "timestamp", Value: task.At},
			bson.E{Key: "numOrphanDocs", Value: task.Orphans}, bson.E{Key: "keyPattern", Value: task.Key}))
	}
	return docs, nil
}

func memberShardingHandlers() map[string]handler {
	return map[string]handler{
		"getShardVersion": memberShardVersion,
		"shardingState":   shardingState,
		"splitVector":     splitVector,
		"splitChunk":      splitOnShard,
		"mergeChunks":     mergeOnShard,

		"_flushRoutingTableCacheUpdates": flushCache,
		"_flushDatabaseCacheUpdates":     ok,
	}
}

// memberShardVersion tells the version of the chunks that the shard owns, as far
// as it knows the collection.
func memberShardVersion(c *call) (bson.D, error) {
	name, isText := c.body.Lookup(c.invoked).StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.BadValue, "getShardVersion takes a namespace")
	}
	if _, _, err := catalog.SplitNamespace(name); err != nil {
		return nil, err
	}
	var version any = "UNKNOWN"
	if slices.Contains(cachedCollections(c), name) {
		version = c.cluster.ConfigDB().Table(name).ShardVersion(c.node.member.ID).Timestamp()
	}
	return bson.D{{Key: "configServer", Value: c.cluster.ConfigServer()}, {Key: "global", Value: version}}, nil
}

func shardingState(c *call) (bson.D, error) {
	versions := bson.D{}
	for _, ns := range cachedCollections(c) {
		table := c.cluster.ConfigDB().Table(ns)
		versions = append(versions, bson.E{Key: ns, Value: bson.D{
			{Key: "placementVersion", Value: table.ShardVersion(c.node.member.ID).Timestamp()},
			{Key: "timestamp", Value: table.Timestamp()},
		}})
	}
	return bson.D{
		{Key: "enabled", Value: true}, {Key: "configServer", Value: c.cluster.ConfigServer()},
		{Key: "shardName", Value: string(c.node.member.ID)}, {Key: "clusterId", Value: clusterID(c)},
		{Key: "versions", Value: versions},
	}, nil
}

// splitOnShard is the split as a router or the config server asks a shard for it:
// at the given keys.
func splitOnShard(c *call) (bson.D, error) {
	coll, err := c.cluster.ConfigDB().Sharded(c.args.Text("splitChunk"))
	if err != nil {
		return nil, err
	}
	if epoch, _ := c.args["epoch"].ObjectIDOK(); epoch != coll.Epoch {
		return nil, mongoerr.New(mongoerr.StaleEpoch, "splitChunk of %s knows epoch %s, the collection has %s",
			coll.Namespace, epoch.Hex(), coll.Epoch.Hex())
	}
	docs, err := args.Documents(c.args["splitKeys"])
	if err != nil {
		return nil, err
	}
	keys := make([]catalog.Key, 0, len(docs)+2)
	for _, doc := range append([]bson.Raw{c.args.Object("min"), c.args.Object("max")}, docs...) {
		key, err := coll.Pattern.Key(doc)
		if err != nil {
			return nil, mongoerr.New(mongoerr.BadValue, "%s is no key of %s: %s", doc, coll.Namespace, err)
		}
		keys = append(keys, key)
	}
	if c.cluster.Migrations().Donating(coll.Namespace, c.node.member.ID) {
		return nil, mongoerr.New(mongoerr.ConflictingOperationInProgress, "%s is donating a chunk of %s", c.node.member.ID,
			coll.Namespace)
	}
	chunk := catalog.Chunk{Min: keys[0], Max: keys[1], Shard: c.node.member.ID}
	return bson.D{}, c.cluster.Chunks().SplitOnShard(coll, chunk, keys[2:])
}

// mergeOnShard merges as a router does, what lies on this shard.
func mergeOnShard(c *call) (bson.D, error) {
	coll, err := c.cluster.ConfigDB().Sharded(c.args.Text("mergeChunks"))
	if err != nil {
		return nil, err
	}
	bounds, err := args.Documents(c.body.Lookup("bounds"))
	if err != nil || len(bounds) != 2 {
		return mergeChunks(c) // which says what is wrong
	}
	lower, errMin := coll.Pattern.Key(bounds[0])
	upper, errMax := coll.Pattern.Key(bounds[1])
	owners := c.cluster.ConfigDB().Table(coll.Namespace).OwnersIn(lower, upper)
	if errMin == nil && errMax == nil && (len(owners) != 1 || owners[0] != c.node.member.ID) {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "%s does not own all of the range [%s, %s)", c.node.member.ID,
			bounds[0], bounds[1])
	}
	return mergeChunks(c)
}

// flushCache: what a shard knows of the catalog is never old here.
func flushCache(c *call) (bson.D, error) {
	_, _, err := catalog.SplitNamespace(c.args.Text("_flushRoutingTableCacheUpdates"))
	return bson.D{}, err
}
