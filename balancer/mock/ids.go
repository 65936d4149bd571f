package mock

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ids gives out what no two things of a cluster may share: ids, and logical
// times. It is the cluster's source of chance.
type ids struct {
	clock *clock

	rand    *rand.Rand
	chance  *rand.PCG // what rand draws from
	process [5]byte
	counter uint32

	lastStamp bson.Timestamp
	gossip    atomic.Uint64 // lastStamp, for readers without the lock
}

// newIDs returns a source whose chance a seed decides.
func newIDs(k *clock, seed uint64) *ids {
	i := &ids{clock: k, chance: rand.NewPCG(seed, 0x5ead)}
	i.rand = rand.New(i.chance)
	binary.BigEndian.PutUint32(i.process[:4], i.rand.Uint32())
	return i
}

// NewObjectID makes an id from the cluster's time and counter, so that runs
// with one seed give one sequence of i.
func (i *ids) NewObjectID() bson.ObjectID {
	var id bson.ObjectID
	binary.BigEndian.PutUint32(id[:4], uint32(i.clock.now().Unix()))
	copy(id[4:9], i.process[:])
	i.counter++
	id[9], id[10], id[11] = byte(i.counter>>16), byte(i.counter>>8), byte(i.counter)
	return id
}

// NewUUID makes a random UUID (version 4) from the cluster's source.
func (i *ids) NewUUID() bson.Binary {
	data := make([]byte, 16)
	binary.LittleEndian.PutUint64(data, i.rand.Uint64())
	binary.LittleEndian.PutUint64(data[8:], i.rand.Uint64())
	data[6] = data[6]&0x0f | 0x40
	data[8] = data[8]&0x3f | 0x80
	return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: data}
}

// Tick moves the cluster's logical time on and gives it. It never goes back.
func (i *ids) Tick() bson.Timestamp {
	seconds := uint32(i.clock.now().Unix())
	if seconds > i.lastStamp.T {
		i.lastStamp = bson.Timestamp{T: seconds, I: 1}
	} else {
		i.lastStamp.I++
	}
	i.gossip.Store(uint64(i.lastStamp.T)<<32 | uint64(i.lastStamp.I))
	return i.lastStamp
}

// GossipTime is the newest logical time given out. It needs no lock.
func (i *ids) GossipTime() bson.Timestamp {
	stamp := i.gossip.Load()
	return bson.Timestamp{T: uint32(stamp >> 32), I: uint32(stamp)}
}
