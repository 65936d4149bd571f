package balancer

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// checkMachineIDs fails the round when two shards put the same number into the ObjectIds they generate.
// Both shards get a new number, so that the next round passes (rules/01-rounds-and-settings §1.4).
// Release 9.0 has no such check.
func (l *Loop) checkMachineIDs(shards []catalog.Shard) error {
	if !l.cfg.Release.ChecksMachineIDs() {
		return nil
	}
	return callWithoutValue(&l.thread, "machineIds", func(ctx context.Context, c Cluster) error {
		nodes, tells := c.(MachineIDs)
		if !tells || nodes.MachineIDsKnownUnique(ctx) {
			return nil
		}
		owners := make(map[int64]catalog.ShardID, len(shards))
		for _, s := range shards {
			if l.isTerminating() {
				return errTerminated
			}
			number, known, err := nodes.MachineID(ctx, s.ID)
			if err != nil {
				return err
			}
			if !known {
				l.cfg.Logger.Info("a shard has no machine id", "id", 21869, "shard", s.ID)
				continue
			}
			if other, taken := owners[number]; taken {
				return l.resetMachineIDs(ctx, nodes, number, s.ID, other)
			}
			owners[number] = s.ID
		}
		return nil
	})
}

func (l *Loop) resetMachineIDs(ctx context.Context, nodes MachineIDs, number int64, shards ...catalog.ShardID) error {
	l.cfg.Logger.Error("two shards have the same machine id", "id", 21868, "oidMachine", number, "shards", shards)
	for _, id := range shards {
		if err := nodes.ResetMachineID(ctx, id); err != nil {
			return err
		}
	}
	return mongoerr.New(mongoerr.SameMachineIDs, "shards %s and %s have the same machine id %d",
		shards[0], shards[1], number)
}
