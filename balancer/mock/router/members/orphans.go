package members

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// cleanupOrphaned waits until the shard has no range deletions left for a collection. startingFromKey is
// only checked (rules/03-commands §1.7).
func cleanupOrphaned(c *call.Call) (bson.D, error) {
	ns, err := c.RequiredText("cleanupOrphaned")
	if err != nil {
		return nil, err
	}
	if _, _, err := catalog.SplitNamespace(ns); err != nil {
		return nil, err
	}
	from, err := c.Document("startingFromKey")
	if err != nil {
		return nil, err
	}
	coll, sharded, err := c.Cluster.ConfigDB().ShardedEntry(ns)
	if err != nil || !sharded {
		return bson.D{}, err
	}
	if !document.IsEmpty(from) {
		if _, err := coll.Pattern.ParseKey(from); err != nil {
			return nil, mongoerr.New(mongoerr.OrphanedRangeCleanUpFailed,
				"could not cleanup orphaned data, start value %s does not match shard key pattern %s", from, coll.Pattern.Doc())
		}
	}
	return bson.D{}, c.Cluster.RangeDeleter().Await(c.Ctx, c.Deadline, c.Node.Member.Shard, ns)
}
