package mock

import (
	"cmp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// The kinds of inconsistencies that servers report since 8.1, as far as they can occur in the mock. The
// names are the server's; the details and descriptions are our own.

// checkHistory reports a chunk whose newest history entry is not that of its current shard, or has
// another time than onCurrentShardSince. Chunks of a cluster without migrations may have no history.
func (cc *consistencyCheck) checkHistory(chunk catalog.Chunk) {
	if !cc.cluster.release.ChecksChunkHistories() || len(chunk.History) == 0 {
		return
	}
	newest := chunk.History[0]
	if newest.Shard == chunk.Shard && newest.ValidAfter == cmp.Or(chunk.OnCurrentShardSince, newest.ValidAfter) {
		return
	}
	cc.report("CorruptedChunkHistory", "Found a chunk whose history does not begin with its shard",
		bson.E{Key: "collectionUUID", Value: cc.coll.UUID}, bson.E{Key: "chunk", Value: chunkDocument(cc.coll, chunk)})
}

// checkUniqueIndexes reports unique indexes that do not begin with the shard key. Shards cannot enforce
// them, because equal values may be on different shards. As for shardCollection, indexes that begin with
// _id are allowed.
func (cc *consistencyCheck) checkUniqueIndexes(id catalog.ShardID) {
	local := cc.cluster.shards[id].colls[cc.coll.Namespace]
	if local == nil || cc.coll.Unsplittable || !cc.cluster.installed.shardRelease(id).FindsIncompatibleUniqueIndexes() {
		return
	}
	for _, spec := range local.docs.Indexes() {
		if !spec.Unique || canKeepUnique(spec.Key, cc.coll.Pattern) {
			continue
		}
		cc.report("IncompatibleUniqueIndexOnShardedCollection", "Found a unique index that does not begin with the shard key",
			bson.E{Key: "shard", Value: string(id)}, bson.E{Key: "indexName", Value: spec.Name},
			bson.E{Key: "key", Value: spec.Key}, bson.E{Key: "shardKey", Value: cc.coll.Pattern.Doc()})
	}
}

// malformedBuckets reports collections that have the name of time series buckets but no time series
// options.
func (s shardScan) malformedBuckets() []Inconsistency {
	var found []Inconsistency
	for _, id := range s.ShardIDs() {
		if !s.installed.shardRelease(id).FindsMalformedBuckets() {
			continue
		}
		for ns, local := range s.shards[id].colls {
			_, name, _ := strings.Cut(ns, ".")
			isSeries := func(o bson.E) bool { return o.Key == "timeseries" }
			if !strings.HasPrefix(name, "system.buckets.") || !s.wanted(ns) || slices.ContainsFunc(local.options, isSeries) {
				continue
			}
			found = append(found, Inconsistency{"MalformedTimeseriesBucketsCollection",
				"Found a collection of buckets without options of a time series", bson.D{
					{Key: "namespace", Value: ns}, {Key: "shard", Value: string(id)}, {Key: "collectionUUID", Value: local.uuid},
				}})
		}
	}
	return found
}
