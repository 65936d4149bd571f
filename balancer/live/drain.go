package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/mongoerr"
)

// Since 8.3 there are separate commands for draining. Before, removeShard does everything, step by step
// (rules/03-commands §1.5). For the config servers as a shard there are different commands.

// StartDrainCommand returns the command that marks a shard as draining.
func StartDrainCommand(r catalog.Release, id catalog.ShardID) bson.D {
	if r.HasDrainCommands() {
		return drainCommand(id, "startShardDraining", "startTransitionToDedicatedConfigServer")
	}
	return drainCommand(id, "removeShard", "transitionToDedicatedConfigServer")
}

// CommitDrainCommand returns the command that removes an empty shard.
func CommitDrainCommand(r catalog.Release, id catalog.ShardID) bson.D {
	if r.HasDrainCommands() {
		return drainCommand(id, "commitShardRemoval", "commitTransitionToDedicatedConfigServer")
	}
	return drainCommand(id, "removeShard", "transitionToDedicatedConfigServer")
}

// StopDrainCommand returns the command that cancels a drain, since 8.3.
func StopDrainCommand(id catalog.ShardID) bson.D {
	return drainCommand(id, "stopShardDraining", "stopTransitionToDedicatedConfigServer")
}

// DrainStatusCommand returns the command that reports the progress of draining a shard, since 8.3.
func DrainStatusCommand(id catalog.ShardID) bson.D {
	return drainCommand(id, "shardDrainingStatus", "getTransitionToDedicatedConfigServerStatus")
}

// IsNotDraining reports whether DrainStatusCommand failed because the shard is not draining.
func IsNotDraining(err error) bool { return mongoerr.Is(ServerError(err), mongoerr.IllegalOperation) }

func drainCommand(id catalog.ShardID, name, ofConfigShard string) bson.D {
	if id == catalog.ConfigServerID {
		return bson.D{{Key: ofConfigShard, Value: int32(1)}}
	}
	return bson.D{{Key: name, Value: string(id)}}
}

// ReadDrain returns the progress of draining a shard, and whether the shard exists. It reads the
// cluster with read.
func ReadDrain(read func(ReaderOptions) (*catalog.Snapshot, error), r catalog.Release, id catalog.ShardID) (
	d diagnosis.Drain, found bool, err error) {
	o := ReaderOptions{Parts: Shards | Drains, Shard: id, Release: r, Required: AllParts}
	s, err := read(o)
	if err != nil {
		return d, false, err
	}
	shard, found := s.Shard(id)
	if !found {
		return d, false, nil
	}
	if shard.Draining || shard.ReportedDrain != nil {
		o.Parts = Databases | Collections | Unsharded | ChunkCounts
		rest, err := read(o)
		if err != nil {
			return d, false, err
		}
		s = rest
	}
	return diagnosis.DrainOf(s, shard), true, nil
}

// ReadDrain returns the progress of draining a shard, and whether the shard exists.
func (l *LeasedCluster) ReadDrain(ctx context.Context, id catalog.ShardID) (diagnosis.Drain, bool, error) {
	return ReadDrain(func(o ReaderOptions) (*catalog.Snapshot, error) {
		s, err := NewCommandReader(l.executor.commands, o).Read(ctx)
		return s, ServerError(err)
	}, l.RouterRelease(), id)
}
