package balancer_test

import (
	"context"
	"encoding/binary"
	"iter"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// simulated is a cluster of one collection with nothing behind its routing
// table but the bytes of each chunk, kept as estimates of it. Migrations move
// whole chunks.
type simulated struct {
	*fakeCluster
	coll     *fakeCollection
	moveTime time.Duration
	pending  []catalog.Chunk // moved since the table was last asked for
	major    uint32
	moved    int
	onMove   func(bytes int64) // nil = nobody counts
	onMinute func()            // after each minute of rest; nil = nobody looks
	actions  int
	bytes    map[string]int64 // of chunks, by comparable lower bound
}

// simulate makes a cluster whose chunk i has the owner and size that chunk
// tells; bounds are 1, 2, 3, …
func simulate(t testing.TB, shards []catalog.Shard, n int, chunk func(i int) (catalog.ShardID, int64)) *simulated {
	t.Helper()
	f := newFake()
	f.shards = shards
	pattern, err := catalog.ParseKeyPattern(document(t, bson.D{{Key: "x", Value: int32(1)}}))
	if err != nil {
		t.Fatal(err)
	}
	s := &simulated{fakeCluster: f, moveTime: 2 * time.Second, major: 1, bytes: make(map[string]int64, n)}
	s.coll = &fakeCollection{
		entry: catalog.Collection{Namespace: "db.c", UUID: bson.Binary{Subtype: 4, Data: make([]byte, 16)}, Pattern: pattern, AllowMigrations: true, PermitMigrations: true},
		zones: catalog.NewZoneSet(pattern),
		sizes: map[catalog.ShardID]int64{},
	}
	f.machineIDs = map[catalog.ShardID]int64{}
	for i, shard := range shards {
		s.coll.sizes[shard.ID] = 0
		f.machineIDs[shard.ID] = int64(i)
	}
	f.colls = []*fakeCollection{s.coll}
	s.coll.table, err = catalog.NewRoutingTable(pattern, bson.ObjectID{1}, bson.Timestamp{T: 1}, s.chunks(t, n, chunk))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *simulated) chunks(t testing.TB, n int, chunk func(i int) (catalog.ShardID, int64)) iter.Seq[catalog.Chunk] {
	return func(yield func(catalog.Chunk) bool) {
		min := s.coll.entry.Pattern.GlobalMin()
		for i := range n {
			max := s.coll.entry.Pattern.GlobalMax()
			if i < n-1 {
				max = s.bound(t, i+1)
			}
			c := catalog.Chunk{Min: min, Max: max, Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)}}
			var size int64
			c.Shard, size = chunk(i)
			s.bytes[string(c.Min.Bytes())] = size
			s.coll.sizes[c.Shard] += size
			if !yield(c) {
				return
			}
			min = max
		}
	}
}

// bound is the key {x: i}, made by hand: a million of them are needed.
func (s *simulated) bound(t testing.TB, i int) catalog.Key {
	raw := binary.LittleEndian.AppendUint32([]byte{12, 0, 0, 0, 0x10, 'x', 0}, uint32(i))
	k, err := s.coll.entry.Pattern.ParseKey(append(raw, 0))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *simulated) Routing(context.Context, string) (balancer.Routing, error) {
	if err := s.commit(); err != nil {
		return balancer.Routing{}, err
	}
	return balancer.Routing{Collection: s.coll.entry, Table: s.coll.table, Zones: s.coll.zones}, nil
}

// commit brings the table up to date: the migrations of a round cost one new
// table together.
func (s *simulated) commit() error {
	if len(s.pending) == 0 {
		return nil
	}
	err := s.coll.apply(s.pending...)
	s.pending = s.pending[:0]
	return err
}

func (s *simulated) DataSizes(_ context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	sizes := map[string]map[catalog.ShardID]int64{}
	for _, c := range colls {
		sizes[c.Namespace] = s.coll.sizes
	}
	return sizes, nil
}

func (s *simulated) StartMove(m policy.Migration, done func(error)) {
	s.queue.After(s.moveTime, func() {
		chunk := s.coll.table.Find(m.Min)
		size := s.bytes[string(m.Min.Bytes())]
		s.coll.sizes[m.From] -= size
		s.coll.sizes[m.To] += size
		s.major++
		chunk.Shard, chunk.Version = m.To, catalog.ChunkVersion{Major: s.major}
		s.pending = append(s.pending, chunk)
		s.moved++
		if s.onMove != nil {
			s.onMove(size)
		}
		done(nil)
	})
}

func (s *simulated) LogAction(context.Context, string, bson.D) error { return nil }

// StartAction merges and measures at once.
func (s *simulated) StartAction(a policy.StreamAction, done func(policy.StreamActionResult)) {
	s.actions++
	s.queue.After(5*time.Millisecond, func() { done(s.act(a)) })
}

func (s *simulated) act(a policy.StreamAction) policy.StreamActionResult {
	if err := s.commit(); err != nil {
		return policy.StreamActionResult{Err: err}
	}
	switch a.Kind {
	case policy.MergeRange:
		return policy.StreamActionResult{Err: s.merge(a)}
	case policy.MeasureRange:
		size := s.bytes[string(a.Min.Bytes())]
		return policy.StreamActionResult{MeasuredBytes: min(size, a.MaxBytes+1), MaxReached: size > a.MaxBytes}
	}
	return policy.StreamActionResult{}
}

func (s *simulated) merge(a policy.StreamAction) error {
	merged, size := catalog.Chunk{}, int64(0)
	for c := range s.coll.table.Overlapping(a.Min, a.Max) {
		if size == 0 && merged.Shard == "" {
			merged = c
		}
		merged.Max = c.Max
		size += s.bytes[string(c.Min.Bytes())]
		delete(s.bytes, string(c.Min.Bytes()))
	}
	s.major++
	merged.Version, merged.Estimate = catalog.ChunkVersion{Major: s.major}, 0
	s.bytes[string(merged.Min.Bytes())] = size
	return s.coll.apply(merged)
}

// SetEstimate and the end of a defragmentation are those of the fake.
func (s *simulated) SetEstimate(ctx context.Context, ns string, uuid bson.Binary, m policy.Measurement) error {
	if err := s.commit(); err != nil {
		return err
	}
	return s.fakeCluster.SetEstimate(ctx, ns, uuid, m)
}

func (s *simulated) EndDefragmentation(ctx context.Context, ns string, uuid bson.Binary) error {
	if err := s.commit(); err != nil {
		return err
	}
	s.coll.table = s.coll.table.WithoutEstimates()
	return s.fakeCluster.EndDefragmentation(ctx, ns, uuid)
}

// start turns a loop on the cluster's queue.
func (s *simulated) start(t testing.TB, cfg balancer.Config) *balancer.Loop {
	t.Helper()
	cfg.Location = time.Local
	loop := balancer.NewLoop(cfg)
	driver := balancer.NewEventDriver(s.queue, loop, s)
	driver.Start()
	t.Cleanup(driver.Stop)
	return loop
}

// rest runs until so many rounds in a row have moved nothing, and tells
// whether that came to be in the time given.
func (s *simulated) rest(limit time.Duration) bool {
	end := s.queue.Now().Add(limit)
	for s.queue.Now().Before(end) {
		before := s.moved + s.actions
		s.advance(time.Minute)
		if s.onMinute != nil {
			s.onMinute()
		}
		if s.moved+s.actions == before && !s.coll.entry.Defragment {
			return true
		}
	}
	return false
}
