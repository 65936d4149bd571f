package mock

import (
	"cmp"
	"context"
	"hash/fnv"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
)

// MachineID is the number that a node puts into the ObjectIds it makes; a
// balancer wants each shard to have its own (spec 01 §1.4).
func (c *Cluster) MachineID(id catalog.ShardID) int32 {
	var number int32
	if s := c.shards[id]; s != nil {
		number = s.machineID
	}
	return cmp.Or(number, machineIDOf(cmp.Or(c.firstMember(id), string(id))))
}

func machineIDOf(name string) int32 {
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return int32(hash.Sum32() >> 8)
}

// ResetMachineID lets a shard draw another number.
func (c *Cluster) ResetMachineID(id catalog.ShardID) {
	if s := c.shards[id]; s != nil {
		s.machineID = int32(c.rand.Uint32() >> 8)
	}
}

// ShareMachineID gives a shard the number of another one. They differ again
// after the balancer's next round, which fails.
func (c *Cluster) ShareMachineID(from, to string) error {
	first, err := c.config.ShardByID(from)
	if err != nil {
		return err
	}
	second, err := c.config.ShardByID(to)
	if err != nil {
		return err
	}
	c.shards[second.ID].machineID = c.MachineID(first.ID)
	return nil
}

var _ balancer.MachineIDs = engine{}

func (e engine) MachineID(_ context.Context, id catalog.ShardID) (number int64, tells bool, err error) {
	if e.c.shards[id] == nil {
		return 0, false, nil
	}
	return int64(e.c.MachineID(id)), true, e.c.faults.reach(configShard, id)
}

func (e engine) ResetMachineID(_ context.Context, id catalog.ShardID) error {
	if err := e.c.faults.reach(configShard, id); err != nil {
		return err
	}
	e.c.ResetMachineID(id)
	return nil
}
