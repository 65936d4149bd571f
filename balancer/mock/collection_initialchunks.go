package mock

import (
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// initialTable makes the first chunks (spec 03 §1.4, initial chunks).
func (cs *Collections) initialTable(pattern catalog.KeyPattern, zones *catalog.ZoneSet, epoch bson.ObjectID, at bson.Timestamp, primary catalog.ShardID, empty, presplit bool) (*catalog.RoutingTable, error) {
	chunks, err := cs.initialChunks(pattern, zones, primary, empty, presplit)
	if err != nil {
		return nil, err
	}
	return cs.c.config.tableOf(pattern, chunks, epoch, at)
}

// tableOf is a new collection's routing table: versions from 1|0, on their
// shards since now.
func (cfg *ConfigDB) tableOf(pattern catalog.KeyPattern, chunks []catalog.Chunk, epoch bson.ObjectID, at bson.Timestamp) (*catalog.RoutingTable, error) {
	for i := range chunks {
		chunks[i].ID = cfg.ids.NewObjectID()
		chunks[i].Version = catalog.ChunkVersion{Major: 1, Minor: uint32(i)}
		chunks[i].OnCurrentShardSince = at
		chunks[i].History = []catalog.ChunkHistory{{ValidAfter: at, Shard: chunks[i].Shard}}
	}
	return catalog.NewRoutingTable(pattern, epoch, at, slices.Values(chunks))
}

func (cs *Collections) initialChunks(pattern catalog.KeyPattern, zones *catalog.ZoneSet, primary catalog.ShardID, empty, presplit bool) ([]catalog.Chunk, error) {
	whole := []catalog.Chunk{{Min: pattern.GlobalMin(), Max: pattern.GlobalMax(), Shard: primary}}
	if !empty {
		return whole, nil
	}
	shards, err := cs.c.config.Shards()
	if err != nil {
		return nil, err
	}
	open := slices.DeleteFunc(slices.Clone(shards), func(s catalog.Shard) bool { return s.Draining })
	if len(open) == 0 {
		return nil, mongoerr.New(mongoerr.ShardNotFound, "no shard can take chunks: all are draining")
	}
	switch {
	case presplit:
		return presplitChunks(pattern, zones, shards, open)
	case zones.Len() > 0:
		return zonedChunks(pattern, zones, shards, open)
	case pattern.HashedField() == 0:
		return hashedChunks(pattern, len(shards), open)
	}
	return whole, nil
}

// zonedChunks: one chunk a zone range, one a gap; zones go round-robin among
// their shards, gaps among all that are not draining.
func zonedChunks(pattern catalog.KeyPattern, zones *catalog.ZoneSet, shards, open []catalog.Shard) ([]catalog.Chunk, error) {
	var chunks []catalog.Chunk
	gaps := 0
	turn := map[string]int{}
	at := pattern.GlobalMin()
	gap := func(max catalog.Key) {
		if at.Compare(max) < 0 {
			chunks = append(chunks, catalog.Chunk{Min: at, Max: max, Shard: open[gaps%len(open)].ID})
			gaps++
		}
	}
	for _, r := range zones.Ranges() {
		gap(r.Min)
		members := zoneShards(r.Zone, shards)
		if len(members) == 0 {
			return nil, mongoerr.New(mongoerr.CannotCreateChunkDistribution, "zone %s has no shard", r.Zone)
		}
		chunks = append(chunks, catalog.Chunk{Min: r.Min, Max: r.Max, Shard: members[turn[r.Zone]%len(members)].ID})
		turn[r.Zone]++
		at = r.Max
	}
	gap(pattern.GlobalMax())
	return chunks, nil
}

// hashedChunks: as many chunks as shards, evenly over the hash.
func hashedChunks(pattern catalog.KeyPattern, n int, open []catalog.Shard) ([]catalog.Chunk, error) {
	var chunks []catalog.Chunk
	min := pattern.GlobalMin()
	for i, point := range hashedPoints(n) {
		max, err := hashedInside(pattern, min, point)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, catalog.Chunk{Min: min, Max: max, Shard: open[i%len(open)].ID})
		min = max
	}
	last := open[len(chunks)%len(open)].ID
	return append(chunks, catalog.Chunk{Min: min, Max: pattern.GlobalMax(), Shard: last}), nil
}

// hashedPoints are the split points for n chunks, ascending.
func hashedPoints(n int) []int64 {
	if n < 2 {
		return nil
	}
	step := 2 * (math.MaxInt64 / int64(n))
	var points []int64
	if n%2 == 0 {
		points = append(points, 0)
		for at := step; len(points) < n-1; at += step {
			points = append(points, at, -at)
		}
	} else {
		for at := step / 2; len(points) < n-1; at += step {
			points = append(points, at, -at)
		}
	}
	slices.Sort(points)
	return points
}
