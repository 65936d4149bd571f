// Package ids generates the unique values of a cluster: ObjectIds, UUIDs and logical times.
package ids

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/clock"
)

// Source generates ids and logical times that are unique in a cluster. It is also the cluster's random
// generator.
type Source struct {
	clock *clock.Clock

	rand    *rand.Rand
	pcg     *rand.PCG // the state of rand
	process [5]byte
	counter uint32

	// LastStamp is the newest logical time.
	LastStamp   bson.Timestamp
	lastTurn    uint64        // the clock turn of LastStamp, which has a constant second within a turn
	clusterTime atomic.Uint64 // LastStamp for readers without the lock
}

// New returns a source with a random generator seeded by seed.
func New(k *clock.Clock, seed uint64) *Source {
	i := &Source{clock: k, pcg: rand.NewPCG(seed, 0x5ead)}
	i.rand = rand.New(i.pcg)
	binary.BigEndian.PutUint32(i.process[:4], i.rand.Uint32())
	return i
}

// NewObjectID returns an id with the cluster's time and counter, so that runs with the same seed
// generate the same ids.
func (i *Source) NewObjectID() bson.ObjectID {
	var id bson.ObjectID
	binary.BigEndian.PutUint32(id[:4], uint32(i.clock.Now().Unix()))
	copy(id[4:9], i.process[:])
	i.counter++
	id[9], id[10], id[11] = byte(i.counter>>16), byte(i.counter>>8), byte(i.counter)
	return id
}

// NewUUID returns a random UUID.
func (i *Source) NewUUID() bson.Binary {
	var data [16]byte
	binary.LittleEndian.PutUint64(data[:], i.rand.Uint64())
	binary.LittleEndian.PutUint64(data[8:], i.rand.Uint64())
	return UUID(data)
}

// UUID returns a UUID of version 4 from 16 bytes that are random or a hash.
func UUID(data [16]byte) bson.Binary {
	data[6], data[8] = data[6]&0x0f|0x40, data[8]&0x3f|0x80
	return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: data[:]}
}

// Tick advances the cluster's logical time and returns it. Logical time never goes back.
func (i *Source) Tick() bson.Timestamp {
	i.LastStamp.I++
	if i.lastTurn != i.clock.Turn() {
		i.lastTurn = i.clock.Turn()
		if seconds := uint32(i.clock.Now().Unix()); seconds > i.LastStamp.T {
			i.LastStamp = bson.Timestamp{T: seconds, I: 1}
		}
	}
	i.clusterTime.Store(uint64(i.LastStamp.T)<<32 | uint64(i.LastStamp.I))
	return i.LastStamp
}

// ClusterTime returns the newest logical time. It needs no lock.
func (i *Source) ClusterTime() bson.Timestamp {
	stamp := i.clusterTime.Load()
	return bson.Timestamp{T: uint32(stamp >> 32), I: uint32(stamp)}
}

// ObjectIDCount returns the number of generated ObjectIds.
func (i *Source) ObjectIDCount() uint32 { return i.counter }

// NewMachineID returns a random machine number of a node.
func (i *Source) NewMachineID() int32 { return int32(i.rand.Uint32() >> 8) }

// Chance returns true with a probability.
func (i *Source) Chance(probability float64) bool { return i.rand.Float64() < probability }

// State is the persisted state of a source: counters and random generator.
type State struct {
	Stamp   bson.Timestamp
	Counter uint32
	Process []byte
	PCG     []byte
}

// State returns the current state.
func (i *Source) State() State {
	chance, _ := i.pcg.MarshalBinary() // never fails
	return State{Stamp: i.LastStamp, Counter: i.counter, Process: i.process[:], PCG: chance}
}

// Restore restores a state. Logical time never goes back.
func (i *Source) Restore(s State) error {
	if err := i.pcg.UnmarshalBinary(s.PCG); err != nil {
		return err
	}
	copy(i.process[:], s.Process)
	i.counter = s.Counter
	if i.LastStamp.Before(s.Stamp) {
		i.LastStamp = s.Stamp
		i.clusterTime.Store(uint64(s.Stamp.T)<<32 | uint64(s.Stamp.I))
	}
	return nil
}
