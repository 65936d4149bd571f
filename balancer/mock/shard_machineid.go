package mock

import (
	"cmp"
	"hash/fnv"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/ids"
)

// MachineIDs are the numbers that nodes put into the ObjectIds they make.
type MachineIDs struct {
	ids       *ids.Source
	config    *ConfigDB
	shards    shardSet
	addresses *addresses
}

// MachineIDs returns those of the cluster's nodes.
func (c *Cluster) MachineIDs() *MachineIDs { return c.machineIDs }

// Of returns the number that a node puts into the ObjectIds it makes; a
// balancer wants each shard to have its own (rules/01-rounds-and-settings §1.4).
func (m *MachineIDs) Of(id catalog.ShardID) int32 {
	if s := m.shards[id]; s != nil && s.machineID != 0 {
		return s.machineID
	}
	hash := fnv.New32a() // by its address
	hash.Write([]byte(cmp.Or(firstMember(m.addresses.hostOf(id)), string(id))))
	return int32(hash.Sum32() >> 8)
}

// Reset lets a shard draw another number.
func (m *MachineIDs) Reset(id catalog.ShardID) {
	if s := m.shards[id]; s != nil {
		m.set(s, m.ids.NewMachineID())
	}
}

// Share gives a shard the number of another one. They differ again
// after the balancer's next round, which fails.
func (m *MachineIDs) Share(from, to string) error {
	first, err := m.config.ShardByID(from)
	if err != nil {
		return err
	}
	second, err := m.config.ShardByID(to)
	if err != nil {
		return err
	}
	m.set(m.shards[second.ID], m.Of(first.ID))
	return nil
}

func (m *MachineIDs) set(s *shard, number int32) {
	s.machineID = number
	m.config.entries.shards.differ = false
}
