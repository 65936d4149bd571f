package mock

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Slowness is how much slower a node is than the mock's network. Zero fields
// slow nothing down.
type Slowness struct {
	// Bandwidth in bytes a second.
	Bandwidth int64
	// Latency comes on top of every round trip.
	Latency time.Duration
}

// Slow makes a node slow; the zero Slowness gives it its speed back.
func (fs *Faults) Slow(name string, s Slowness) error {
	id, err := fs.node(name)
	if err != nil {
		return err
	}
	if s.Bandwidth < 0 || s.Latency < 0 {
		return mongoerr.New(mongoerr.BadValue, "bandwidth and latency can't be below zero")
	}
	if fs.slow == nil {
		fs.slow = map[catalog.ShardID]Slowness{}
	}
	fs.slow[id] = s
	if s == (Slowness{}) {
		delete(fs.slow, id)
	}
	return nil
}

// lag is what a round trip between nodes takes longer than usual.
func (fs *Faults) lag(ids ...catalog.ShardID) time.Duration {
	var sum time.Duration
	for _, id := range ids {
		sum += fs.slow[id].Latency
	}
	return sum
}

func (m *migration) lag() time.Duration { return m.c.faults.lag(m.donor.id, m.receiver.id) }

// transferTime is what bytes take that go through these nodes: the slowest
// counts.
func (fs *Faults) transferTime(bytes int64, ids ...catalog.ShardID) time.Duration {
	rate := float64(cloneRate)
	for _, id := range ids {
		if limit := fs.slow[id].Bandwidth; limit > 0 {
			rate = min(rate, float64(limit))
		}
	}
	return time.Duration(float64(bytes) / rate * float64(time.Second))
}

// delay is what a command takes longer because of slow nodes that it asked,
// all at the same time.
func (fs *Faults) delay(asked map[catalog.ShardID]error, bytes int64) time.Duration {
	slowest := fs.nodeDelay(routerNode, bytes)
	for id := range asked {
		slowest = max(slowest, fs.nodeDelay(routerNode, bytes)+fs.nodeDelay(id, bytes))
	}
	return slowest
}

func (fs *Faults) nodeDelay(id catalog.ShardID, bytes int64) time.Duration {
	s, slow := fs.slow[id]
	if !slow || s.Bandwidth == 0 {
		return s.Latency
	}
	return s.Latency + time.Duration(float64(bytes)/float64(s.Bandwidth)*float64(time.Second))
}
