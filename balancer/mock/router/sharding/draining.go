package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// drainingHandlers returns the commands for the single steps of a shard removal, which servers have
// since 8.3, and the same steps for a config shard.
func drainingHandlers() map[string]call.Handler {
	start := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.ShardMembership().StartShardDraining(s)
	}
	stop := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.ShardMembership().StopDraining(s)
	}
	commit := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.ShardMembership().CommitRemoval(s)
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

// shardHandler returns a handler that runs a step on the shard that find returns. If find returns
// neither a shard nor an error, the command succeeds.
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

// findNonConfigShard returns a function that finds the shard in a command's value by id, connection
// string or host. It rejects the config server; the error names the impossible action (cannot) and the
// command to use (instead). For commitShardRemoval an unknown shard counts as removed.
func findNonConfigShard(cannot, instead string) func(*call.Call) (catalog.Shard, error) {
	return func(c *call.Call) (catalog.Shard, error) {
		name, _ := c.TargetArg().StringValueOK()
		shard, err := c.Cluster.ConfigDB().FindShard(name)
		switch {
		case mongoerr.Is(err, mongoerr.ShardNotFound) && c.InvokedAs == "commitShardRemoval":
			return catalog.Shard{}, nil
		case err == nil && shard.ID == catalog.ConfigServerID:
			err = mongoerr.New(mongoerr.IllegalOperation, "%s when transitioning to a dedicated config server. %s", cannot,
				instead)
		}
		return shard, err
	}
}

func findConfigShard(c *call.Call) (catalog.Shard, error) {
	return c.Cluster.ShardMembership().ConfigShardToDrain()
}

// The states of draining.
const (
	drainingOngoing  = "ongoing"
	drainingComplete = "drainingComplete"
)

func drainingStatus(c *call.Call, shard catalog.Shard) (bson.D, error) {
	if !shard.Draining {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "The shard %s isn't draining", shard.ID)
	}
	status := c.Cluster.ShardMembership().DrainingStatus(shard)
	if status.NotClean {
		return removalDoc(status), nil
	}
	collections := c.Cluster.ShardMembership().CollectionsToMove(shard.ID)
	if status.IsEmpty() && len(collections) == 0 {
		return bson.D{{Key: "msg", Value: "draining completed successfully"}, {Key: "state", Value: drainingComplete}}, nil
	}
	databases, shown, truncated := truncateLists(status.Databases, collections, maxDrainListBytes)
	doc := bson.D{}
	if len(status.Databases) > 0 || len(collections) > 0 {
		doc = append(doc, bson.E{Key: "note", Value: drainingNote})
	}
	remaining := bson.D{
		{Key: "chunks", Value: status.Chunks - int64(len(status.Collections))},
		{Key: "collectionsToMove", Value: int64(len(collections))},
		{Key: "dbs", Value: int64(len(status.Databases))},
		{Key: "jumboChunks", Value: status.JumboChunks},
		{Key: "estimatedRemainingBytes", Value: c.Cluster.ShardMembership().BytesOn(shard.ID)},
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
	// maxDrainListBytes is the maximum total size of the two arrays of a reply, so that the reply fits in a
	// document.
	maxDrainListBytes = 16<<20 - 4<<10
	// drainElementBytes is the size of an array element besides its string.
	drainElementBytes = 13
)

// truncateLists truncates two arrays to a total of at most maxBytes. It truncates the second array
// first.
func truncateLists(databases, collections []string, maxBytes int) (dbs, colls []string, truncated bool) {
	cut := func(list []string) []string {
		for i, name := range list {
			if maxBytes -= len(name) + drainElementBytes; maxBytes < 0 {
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
	removalNote  = "you need to drop or movePrimary these databases"
	drainingNote = "you need to call moveCollection for collectionsToMove and afterwards movePrimary for the dbsToMove"
)

// remainingDoc returns the numbers of chunks, collections and databases that remain on a shard.
func remainingDoc(status mock.Removal) bson.D {
	return bson.D{
		{Key: "chunks", Value: status.Chunks},
		{Key: "dbs", Value: int64(len(status.Databases))},
		{Key: "jumboChunks", Value: status.JumboChunks},
	}
}
