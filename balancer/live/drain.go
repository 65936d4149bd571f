package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Since 8.3 draining has commands of its own; before, removeShard does all of it,
// step by step (rules/03-commands §1.5). The config servers, if they are a shard, leave by
// commands of their own.

// StartDrainCommand returns what marks a shard as draining.
func StartDrainCommand(r catalog.Release, id catalog.ShardID) bson.D {
	if r.AtLeast(catalog.Release83) {
		return drainCommand(id, "startShardDraining", "startTransitionToDedicatedConfigServer")
	}
	return drainCommand(id, "removeShard", "transitionToDedicatedConfigServer")
}

// CommitDrainCommand returns what removes a shard that is empty.
func CommitDrainCommand(r catalog.Release, id catalog.ShardID) bson.D {
	if r.AtLeast(catalog.Release83) {
		return drainCommand(id, "commitShardRemoval", "commitTransitionToDedicatedConfigServer")
	}
	return drainCommand(id, "removeShard", "transitionToDedicatedConfigServer")
}

// StopDrainCommand returns what lets a shard stay, since 8.3.
func StopDrainCommand(id catalog.ShardID) bson.D {
	return drainCommand(id, "stopShardDraining", "stopTransitionToDedicatedConfigServer")
}

// DrainStatusCommand returns what tells how far the draining of a shard is, since
// 8.3.
func DrainStatusCommand(id catalog.ShardID) bson.D {
	return drainCommand(id, "shardDrainingStatus", "getTransitionToDedicatedConfigServerStatus")
}

func drainCommand(id catalog.ShardID, name, ofConfigShard string) bson.D {
	if id == configShard {
		return bson.D{{Key: ofConfigShard, Value: int32(1)}}
	}
	return bson.D{{Key: name, Value: string(id)}}
}

// DrainOf returns how far a shard's draining is, by what look reads; false when
// there is no such shard.
func DrainOf(look func(Look) (*catalog.Snapshot, error), r catalog.Release, id catalog.ShardID) (
	d diagnosis.Drain, found bool, err error) {
	l := Look{Parts: Shards | Drains, Shard: id, Release: r}
	s, err := look(l)
	if err != nil {
		return d, false, err
	}
	shard, found := s.Shard(id)
	if !found {
		return d, false, nil
	}
	if shard.Draining || shard.Reported != nil {
		l.Parts = Databases | Collections | Unsharded | Counts
		rest, err := look(l)
		if err != nil {
			return d, false, err
		}
		s = rest
	}
	return diagnosis.DrainOf(s, shard), true, nil
}

// Drain returns how far a shard's draining is; false when there is no such shard.
func (t *LeasedCluster) Drain(ctx context.Context, id catalog.ShardID) (diagnosis.Drain, bool, error) {
	return DrainOf(func(l Look) (*catalog.Snapshot, error) {
		seen, err := l.Read(ctx, t.executor.commands)
		if err != nil {
			return nil, ServerError(err)
		}
		return seen.Snapshot, nil
	}, t.Release(), id)
}
