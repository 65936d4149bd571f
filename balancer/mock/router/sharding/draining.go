package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// drainingCommands are the steps of a removal one by one, as servers since 8.3
// have them, and the same of a config server that is a shard (rules/03-commands §1.5). No
// reply of them was recorded: fields are named as removeShard's are.
func drainingHandlers() map[string]call.Handler {
	start := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.Membership().StartDraining(s)
	}
	stop := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.Membership().StopDraining(s)
	}
	commit := func(c *call.Call, s catalog.Shard) (bson.D, error) {
		return bson.D{}, c.Cluster.Membership().CommitRemoval(s)
	}
	return map[string]call.Handler{
		"startShardDraining":  onShard(namedShard, start),
		"stopShardDraining":   onShard(namedShard, stop),
		"commitShardRemoval":  onShard(namedShard, commit),
		"shardDrainingStatus": onShard(namedShard, drainingStatus),

		"startTransitionToDedicatedConfigServer":     onShard(configShard, start),
		"stopTransitionToDedicatedConfigServer":      onShard(configShard, stop),
		"commitTransitionToDedicatedConfigServer":    onShard(configShard, commit),
		"getTransitionToDedicatedConfigServerStatus": onShard(configShard, drainingStatus),
	}
}

// onShard runs a step on the shard that a command is about.
func onShard(
	find func(*call.Call, bson.RawValue) (catalog.Shard, error), run func(*call.Call, catalog.Shard) (bson.D, error),
) call.Handler {
	return func(c *call.Call) (bson.D, error) {
		shard, err := find(c, c.SubjectArg())
		if err != nil {
			return nil, err
		}
		return run(c, shard)
	}
}

// namedShard returns the shard that a command's value names. A shell asks with
// 1 for the status of all that are draining.
func namedShard(c *call.Call, value bson.RawValue) (catalog.Shard, error) {
	name, isText := value.StringValueOK()
	if !isText {
		return catalog.Shard{}, mongoerr.New(mongoerr.NotImplemented, "the mock does this for one shard: name it")
	}
	return c.Cluster.Membership().ShardToDrain(name)
}

func configShard(c *call.Call, _ bson.RawValue) (catalog.Shard, error) {
	return c.Cluster.Membership().ConfigShardToDrain()
}

// The states of a draining.
const (
	notDraining      = "notDraining"
	drainingOngoing  = "ongoing"
	drainingComplete = "drainingComplete"
)

func drainingStatus(c *call.Call, shard catalog.Shard) (bson.D, error) {
	if !shard.Draining {
		return bson.D{{Key: "state", Value: notDraining}}, nil
	}
	status := c.Cluster.Membership().DrainingStatus(shard)
	if status.Cleaning {
		return removalDoc(status), nil
	}
	state := drainingOngoing
	if status.Empty() {
		state = drainingComplete
	}
	return bson.D{
		{Key: "state", Value: state},
		{Key: "remaining", Value: append(remainingDoc(status),
			bson.E{Key: "collectionsToMove", Value: int64(len(status.Collections))})},
		{Key: "note", Value: noteToMove},
		{Key: "dbsToMove", Value: status.Databases},
		{Key: "collectionsToMove", Value: status.Collections},
	}, nil
}

const noteToMove = "you need to drop or movePrimary these databases"

// remainingDoc counts what a shard still has.
func remainingDoc(status mock.Removal) bson.D {
	return bson.D{
		{Key: "chunks", Value: status.Chunks},
		{Key: "dbs", Value: int64(len(status.Databases))},
		{Key: "jumboChunks", Value: status.JumboChunks},
	}
}
