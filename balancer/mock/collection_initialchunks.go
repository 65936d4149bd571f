package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// initialTable returns the routing table with the initial chunks (rules/03-commands §1.4).
func (c *Collections) initialTable(pattern catalog.KeyPattern, zones *catalog.ZoneSet, epoch bson.ObjectID,
	at bson.Timestamp, primary catalog.ShardID, empty, presplit bool) (*catalog.RoutingTable, error) {
	chunks, err := c.initialChunks(pattern, zones, primary, empty, presplit)
	if err != nil {
		return nil, err
	}
	return c.config.newTable(pattern, chunks, epoch, at)
}

// newTable returns the routing table of a new collection. Versions begin at 1|0, and the chunks are on
// their shards since now.
func (c *ConfigDB) newTable(pattern catalog.KeyPattern, chunks []catalog.Chunk, epoch bson.ObjectID,
	at bson.Timestamp) (*catalog.RoutingTable, error) {
	for i := range chunks {
		chunks[i].ID = c.ids.NewObjectID()
		chunks[i].Version = catalog.ChunkVersion{Major: 1, Minor: uint32(i)}
		chunks[i].OnCurrentShardSince = at
		chunks[i].History = []catalog.ChunkHistory{{ValidAfter: at, Shard: chunks[i].Shard}}
	}
	return catalog.NewRoutingTable(pattern, epoch, at, slices.Values(chunks))
}

func (c *Collections) initialChunks(pattern catalog.KeyPattern, zones *catalog.ZoneSet, primary catalog.ShardID, empty,
	presplit bool) ([]catalog.Chunk, error) {
	whole := []catalog.Chunk{{Min: pattern.GlobalMin(), Max: pattern.GlobalMax(), Shard: primary}}
	if !empty {
		return whole, nil
	}
	shards, err := c.config.Shards()
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

// zonedChunks returns one chunk for each zone range and each gap. Each zone is distributed round-robin
// over its shards, gaps over all shards that are not draining.
func zonedChunks(pattern catalog.KeyPattern, zones *catalog.ZoneSet, shards,
	notDraining []catalog.Shard) ([]catalog.Chunk,
	error) {
	var chunks []catalog.Chunk
	gaps := 0
	turn := map[string]int{}
	at := pattern.GlobalMin()
	gap := func(max catalog.Key) {
		if at.Compare(max) < 0 {
			chunks = append(chunks, catalog.Chunk{Min: at, Max: max, Shard: notDraining[gaps%len(notDraining)].ID})
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

// hashedChunks returns n chunks that are evenly distributed over the hash range.
func hashedChunks(pattern catalog.KeyPattern, n int, notDraining []catalog.Shard) ([]catalog.Chunk, error) {
	var chunks []catalog.Chunk
	min := pattern.GlobalMin()
	for i, point := range catalog.HashedPoints(n) {
		max, err := pattern.HashedBound(min, point)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, catalog.Chunk{Min: min, Max: max, Shard: notDraining[i%len(notDraining)].ID})
		min = max
	}
	last := notDraining[len(chunks)%len(notDraining)].ID
	return append(chunks, catalog.Chunk{Min: min, Max: pattern.GlobalMax(), Shard: last}), nil
}

// The server's error codes for the requirements of presplitHashedZones (rules/03-commands §1.4).
const (
	presplitNeedsHashedZones mongoerr.Code = 31387
	presplitOpenPrefix       mongoerr.Code = 31388
	presplitHashNotMin       mongoerr.Code = 31389
	presplitSamePrefix       mongoerr.Code = 31390
	presplitRestNotMin       mongoerr.Code = 31391
	presplitOneWholeZone     mongoerr.Code = 31412
)

// checkPresplit checks the requirements of presplitHashedZones on the collection, the key and every
// zone.
func checkPresplit(pattern catalog.KeyPattern, zones *catalog.ZoneSet, empty bool) error {
	hashed := pattern.HashedField()
	if !empty || zones.Len() == 0 || hashed < 0 {
		return mongoerr.New(presplitNeedsHashedZones, "presplitHashedZones is only supported when the collection is "+
			"empty, has zones, and a hashed shard key")
	}
	if hashed == 0 {
		if r := zones.Ranges()[0]; zones.Len() != 1 || !r.Min.Equal(pattern.GlobalMin()) ||
			!r.Max.Equal(pattern.GlobalMax()) {
			return mongoerr.New(presplitOneWholeZone, "presplitHashedZones with the hashed field first needs one zone that "+
				"spans from MinKey to MaxKey")
		}
		return nil
	}
	for _, r := range zones.Ranges() {
		if err := checkPresplitZone(hashed, r); err != nil {
			return err
		}
	}
	return nil
}

func checkPresplitZone(hashed int, r catalog.ZoneRange) error {
	lower, upper := r.Min.Values(), r.Max.Values()
	same := true
	for i, v := range lower[:hashed] {
		if v.Type == bson.TypeMinKey || v.Type == bson.TypeMaxKey {
			return mongoerr.New(presplitOpenPrefix, "the fields before the hashed one must not be MinKey or MaxKey in the "+
				"lower bound of zone %s", r.Zone)
		}
		same = same && v.Equal(upper[i])
	}
	switch {
	case same:
		return mongoerr.New(presplitSamePrefix, "a field before the hashed one must differ between the bounds of zone %s",
			r.Zone)
	case lower[hashed].Type != bson.TypeMinKey:
		return mongoerr.New(presplitHashNotMin, "the hashed field must be MinKey in the lower bound of zone %s", r.Zone)
	}
	for _, v := range lower[hashed+1:] {
		if v.Type != bson.TypeMinKey {
			return mongoerr.New(presplitRestNotMin, "the fields after the hashed one must be MinKey in the lower bound of "+
				"zone %s", r.Zone)
		}
	}
	return nil
}

// presplitChunks splits every zone by the hash into as many chunks as the zone has shards. Each gap is
// one chunk.
func presplitChunks(pattern catalog.KeyPattern, zones *catalog.ZoneSet, shards,
	notDraining []catalog.Shard) ([]catalog.Chunk,
	error) {
	whole, err := zonedChunks(pattern, zones, shards, notDraining)
	if err != nil {
		return nil, err
	}
	var chunks []catalog.Chunk
	for _, chunk := range whole {
		zone := zones.ZoneOf(chunk.Min, chunk.Max)
		if zone == catalog.NoZone {
			chunks = append(chunks, chunk)
			continue
		}
		members := zoneShards(zone, shards)
		at := chunk.Min
		for i, point := range catalog.HashedPoints(len(members)) {
			bound, err := pattern.HashedBound(chunk.Min, point)
			if err != nil {
				return nil, err
			}
			chunks = append(chunks, catalog.Chunk{Min: at, Max: bound, Shard: members[i].ID})
			at = bound
		}
		chunks = append(chunks, catalog.Chunk{Min: at, Max: chunk.Max, Shard: members[len(members)-1].ID})
	}
	return chunks, nil
}

func zoneShards(zone string, shards []catalog.Shard) []catalog.Shard {
	var members []catalog.Shard
	for _, s := range shards {
		if s.HasZone(zone) {
			members = append(members, s)
		}
	}
	return members
}
