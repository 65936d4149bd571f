package heat_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
)

// byHand is a map with chunks of so much load on each shard, in the order of keys.
func byHand(t *testing.T, on map[catalog.ShardID][]float64) *heat.Map {
	p := pattern(t, bson.D{{Key: "k", Value: 1}})
	m := &heat.Map{Namespace: "shop.orders", Pattern: p}
	at := func(i int64) catalog.Key { return keyOf(t, p, bson.D{{Key: "k", Value: i}}) }
	for _, id := range []catalog.ShardID{"s0", "s1", "s2"} {
		shard := heat.ShardHeat{Shard: id}
		for _, load := range on[id] {
			n := int64(len(m.Chunks))
			m.Chunks = append(m.Chunks, heat.ChunkHeat{Min: at(n), Max: at(n + 1), Shard: id, Load: heat.Load{Reads: load}})
			shard.Load.Reads += load
			shard.Chunks++
		}
		m.Shards = append(m.Shards, shard)
		m.Total.Reads += shard.Load.Reads
	}
	return m
}

// No move alone helps: what s0 could give is too much for the others. Chunks change places, one for
// one, or one for two.
func TestChunksChangePlaces(t *testing.T) {
	for name, on := range map[string]map[catalog.ShardID][]float64{
		"one for one": {"s0": {65, 50}, "s1": {35, 25, 25}, "s2": {100}},
		"one for two": {"s0": {65, 50}, "s1": {18, 18, 18, 18, 13}, "s2": {100}},
	} {
		m := byHand(t, on)
		places := []heat.Recipient{{Shard: "s0", CanReceive: true, MaxBytes: -1}, {Shard: "s1", CanReceive: true, MaxBytes: -1},
			{Shard: "s2", CanReceive: true, MaxBytes: -1}}
		d := heat.Decide([]heat.Collection{{Map: m}}, places, heat.Options{LoadKind: heat.ByReads})
		if d.MaxLoadRatioAfter > 1.05 || len(d.Overloaded) > 0 || d.Moves() < 2 {
			t.Errorf("%s: %.2f after %d moves, stuck %v", name, d.MaxLoadRatioAfter, d.Moves(), d.Overloaded)
		}
		moved := map[string]bool{}
		for _, s := range d.Steps {
			if moved[s.Min.String()] {
				t.Errorf("%s: %s moves twice", name, s.Min)
			}
			moved[s.Min.String()] = true
		}
		places[0].CanReceive = false // it drains: nothing comes back
		d = heat.Decide([]heat.Collection{{Map: m}}, places, heat.Options{LoadKind: heat.ByReads})
		for _, s := range d.Steps {
			if s.To == "s0" {
				t.Errorf("%s: %s moves to a shard that drains", name, s.Min)
			}
		}
	}
}

// All figures are multiples of one mean, that of the shards that take load.
func TestMeanOfRecipients(t *testing.T) {
	m := byHand(t, map[catalog.ShardID][]float64{"s0": {90}, "s1": {30}, "s2": {0}})
	m.Chunks[0].Keys, m.HotKeys = nil, []heat.HotKey{{Key: m.Chunks[0].Min, Load: heat.Load{Reads: 90}}}
	places := []heat.Recipient{{Shard: "s0", CanReceive: true, MaxBytes: -1}, {Shard: "s1", CanReceive: true, MaxBytes: -1}, {Shard: "s2"}}
	d := heat.Decide([]heat.Collection{{Map: m}}, places, heat.Options{LoadKind: heat.ByReads})
	if len(d.Overloaded) != 1 || d.MaxLoadRatioBefore != 1.5 || d.MaxLoadRatioAfter != d.Overloaded[0].LoadOfMean {
		t.Errorf("%+v", d)
	}
}

// What a volume has no room for stays, and says why; volumes are the caller's, and as they were.
func TestVolumesLimitMoves(t *testing.T) {
	m := byHand(t, map[catalog.ShardID][]float64{"s0": {40, 40, 40}, "s1": {20}, "s2": {20}})
	snapshot := func(used int64) *catalog.Snapshot {
		parts := catalog.SnapshotParts{Collections: []*catalog.CollectionState{{
			Collection: catalog.Collection{Namespace: "shop.orders", Pattern: m.Pattern}}}}
		for _, id := range []catalog.ShardID{"s0", "s1", "s2"} {
			parts.Shards = append(parts.Shards, catalog.ShardState{Shard: catalog.Shard{ID: id},
				Disk: catalog.Disk{Used: used, Total: 1000 << 20}})
		}
		return catalog.NewSnapshot(parts)
	}
	places := []heat.Recipient{{Shard: "s0", CanReceive: true, MaxBytes: -1}, {Shard: "s1", CanReceive: true, MaxBytes: -1},
		{Shard: "s2", CanReceive: true, MaxBytes: -1}}
	colls := []heat.Collection{{Map: m, ChunkBytes: map[catalog.ShardID]int64{"s0": 100 << 20}}}
	for used, moves := range map[int64]int{500 << 20: 2, 850 << 20: 0} {
		volumes := catalog.NewVolumes(snapshot(used), 0.9)
		room := volumes.FreeBytes("s1")
		d := heat.Decide(colls, places, heat.Options{LoadKind: heat.ByReads, Volumes: volumes})
		if d.Moves() != moves || (moves == 0) != (len(d.Overloaded) == 1 && d.Overloaded[0].Why == heat.ObstacleNoChunk) {
			t.Errorf("%d MB used: %d moves, stuck %v", used>>20, d.Moves(), d.Overloaded)
		}
		if volumes.FreeBytes("s1") != room {
			t.Error("the caller's volumes changed")
		}
	}
}
