package policy

import "shardsh/balancer/catalog"

// Split asks the owner of one chunk to split the chunk at points in ascending order
// (rules/01-rounds-and-settings §5.1).
type Split struct {
	Namespace    string
	Shard        catalog.ShardID
	Version      catalog.Version // of the collection
	ChunkVersion catalog.ChunkVersion
	Min, Max     catalog.Key
	Points       []catalog.Key
	// Halve lets the shard choose the median as the split point, instead of Points.
	Halve bool
}

// ZoneSplits returns the splits of chunks at zone boundaries: one split per chunk, in key order; empty
// if all boundaries are aligned (rules/01-rounds-and-settings §5.1). The zones of
// config.system.sessions cause no splits.
func ZoneSplits(ns string, t *catalog.RoutingTable, z *catalog.ZoneSet) []Split {
	if ns == SessionsNamespace {
		return nil
	}
	var splits []Split
	for point := range misalignedBounds(t, z) {
		splits = addSplitPoint(splits, ns, t, t.Find(point), point)
	}
	return splits
}

// addSplitPoint adds a point to the split of a chunk; points come in ascending order.
func addSplitPoint(splits []Split, ns string, t *catalog.RoutingTable, c catalog.Chunk, point catalog.Key) []Split {
	last := len(splits) - 1
	if last < 0 || !splits[last].Min.Equal(c.Min) {
		return append(splits, Split{
			Namespace:    ns,
			Shard:        c.Shard,
			Version:      t.Version(),
			ChunkVersion: c.Version,
			Min:          c.Min,
			Max:          c.Max,
			Points:       []catalog.Key{point},
		})
	}
	// Adjacent zones both contain their common boundary.
	points := splits[last].Points
	if !points[len(points)-1].Equal(point) {
		splits[last].Points = append(points, point)
	}
	return splits
}
