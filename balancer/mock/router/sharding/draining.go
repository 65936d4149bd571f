package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// drainingHandlers are the steps of a removal one by one, as servers since 8.3 have them, and the
// same of a config server that is a shard.
func drainingHandlers() map[string]call.Handler {
	start := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.Membership().Drain(s)
	}
	stop := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.Membership().StopDraining(s)
	}
	commit := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.Membership().CommitRemoval(s)
	}
	return map[string]call.Handler{
		"startShardDraining": shardHandler(findNonConfigShard("Cannot start the transition to dedicated config server using "+
			"startShardDraining", "Please, use startTransitionToDedicatedConfigServer."), start),
		"stopShardDraining": shardHandler(findNonConfigShard("Cannot stop the transition to dedicated config server using "+
			"stopShardDraining", "Please, use stopTransitionToDedicatedConfigServer."), stop),
		"commitShardRemoval": shardHandler(findNonConfigShard(
			"Cannot remove the config server as a shard using commitShardRemoval",
			"Please, use commitTransitionToDedicatedConfigServer to complete the transition to dedicated config server."),
			commit),
		"shardDrainingStatus": shardHandler(findNonConfigShard("Cannot get the draining status for the config server using "+
			"shardDrainingStatus", "Please, use getTransitionToDedicatedConfigServerStatus."), drainingStatus),

		"startTransitionToDedicatedConfigServer":     shardHandler(findConfigShard, start),
		"stopTransitionToDedicatedConfigServer":      shardHandler(findConfigShard, stop),
		"commitTransitionToDedicatedConfigServer":    shardHandler(findConfigShard, commit),
		"getTransitionToDedicatedConfigServerStatus": shardHandler(findConfigShard, drainingStatus),
	}
}

// shardHandler runs a step on the shard that a command is about. Without an error there may be no
// shard: then the command succeeds.
func shardHandler(
	find func(*call.Call) (catalog.Shard, error), run func(*call.Call, catalog.Shard) (bson.D, error),
) call.Handler {
	return func(c *call.Call) (bson.D, error) {
		shard, err := find(c)
		if err != nil {
			return nil, err
		}
		if shard.ID == "" {
			return bson.D{}, nil
		}
		return run(c, shard)
	}
}

// findNonConfigShard finds the shard that a command's value names by its id, connection string or host. The
// config server is refused with what cannot be done, and the command to use. Only
// commitShardRemoval takes a shard that is unknown for one that was removed.
func findNonConfigShard(cannot, instead string) func(*call.Call) (catalog.Shard, error) {
	return func(c *call.Call) (catalog.Shard, error) {
		name, _ := c.TargetArg().StringValueOK()
		shard, err := c.Cluster.ConfigDB().FindShard(name)
		switch {
		case mongoerr.Is(err, mongoerr.ShardNotFound) && c.Invoked == "commitShardRemoval":
			return catalog.Shard{}, nil
		case err == nil && shard.ID == "config":
			err = mongoerr.New(mongoerr.IllegalOperation, "%s when transitioning to a dedicated config server. %s", cannot,
				instead)
		}
		return shard, err
	}
}

func findConfigShard(c *call.Call) (catalog.Shard, error) {
	return c.Cluster.Membership().ConfigShardToDrain()
}

// The states of a draining.
const (
	drainingOngoing  = "ongoing"
	drainingComplete = "drainingComplete"
)

func drainingStatus(c *call.Call, shard catalog.Shard) (bson.D, error) {
	if !shard.Draining {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "The shard %s isn't draining", shard.ID)
	}
	status := c.Cluster.Membership().DrainingStatus(shard)
	if status.Cleaning {
		return removalDoc(status), nil
	}
	collections := c.Cluster.Membership().CollectionsToMove(shard.ID)
	if status.Empty() && len(collections) == 0 {
		return bson.D{{Key: "msg", Value: "draining completed successfully"}, {Key: "state", Value: drainingComplete}}, nil
	}
	databases, shown, truncated := truncateLists(status.Databases, collections, drainListBytes)
	doc := bson.D{}
	if len(status.Databases) > 0 || len(collections) > 0 {
		doc = append(doc, bson.E{Key: "note", Value: noteOfVerbs})
	}
	remaining := bson.D{
		{Key: "chunks", Value: status.Chunks - int64(len(status.Collections))},
		{Key: "collectionsToMove", Value: int64(len(collections))},
		{Key: "dbs", Value: int64(len(status.Databases))},
		{Key: "jumboChunks", Value: status.JumboChunks},
		{Key: "estimatedRemainingBytes", Value: c.Cluster.Membership().BytesOn(shard.ID)},
	}
	doc = append(doc, bson.E{Key: "dbsToMove", Value: databases}, bson.E{Key: "collectionsToMove", Value: shown})
	if truncated {
		doc = append(doc, bson.E{Key: "truncated", Value: true})
	}
	return append(doc,
		bson.E{Key: "msg", Value: "draining ongoing"}, bson.E{Key: "state", Value: drainingOngoing},
		bson.E{Key: "remaining", Value: remaining}), nil
}

const (
	// drainListBytes is what the two lists of a reply may take, so that it fits in a document.
	drainListBytes = 16<<20 - 4<<10
	// drainElementBytes is what an element of an array takes beside its text.
	drainElementBytes = 13
)

// truncateLists truncates two lists so that together they take at most that many bytes, the second list first.
func truncateLists(databases, collections []string, most int) (dbs, colls []string, truncated bool) {
	cut := func(list []string) []string {
		for i, name := range list {
			if most -= len(name) + drainElementBytes; most < 0 {
				truncated = true
				return list[:i]
			}
		}
		return list
	}
	dbs = cut(databases)
	return dbs, cut(collections), truncated
}

const (
	noteToMove  = "you need to drop or movePrimary these databases"
	noteOfVerbs = "you need to call moveCollection for collectionsToMove and afterwards movePrimary for the dbsToMove"
)

// remainingDoc counts what a shard still has.
func remainingDoc(status mock.Removal) bson.D {
	return bson.D{
		{Key: "chunks", Value: status.Chunks},
		{Key: "dbs", Value: int64(len(status.Databases))},
		{Key: "jumboChunks", Value: status.JumboChunks},
	}
}
