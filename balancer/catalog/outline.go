package catalog

import (
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Outline is the part of a routing table, besides the number of chunks, that a reader keeps if the
// balancer has nothing to do in the collection. It needs a few bytes per shard, however many chunks
// there are.
type Outline struct {
	Version Version
	// Oldest is the time at which each shard got the oldest of its current chunks. A shard whose chunks
	// have no such time is missing.
	Oldest map[ShardID]bson.Timestamp
}

// WithOutline returns a copy of the collection with the outline of its routing table instead of the
// table.
func (c *CollectionState) WithOutline() *CollectionState {
	next := *c
	next.Table = nil
	counts := map[ShardID]ChunkCount{}
	for _, id := range c.Table.Owners() {
		counts[id] = c.CountOn(id)
	}
	if !maps.Equal(counts, c.Counts) { // otherwise the copies share the counts
		next.Counts = counts
	}
	next.Outline = &Outline{Version: c.Table.Version(), Oldest: c.Table.oldest()}
	return &next
}

// HasReadChunks reports whether the chunks of the collection were read, and not only counted.
func (c *CollectionState) HasReadChunks() bool { return c.Table != nil || c.Outline != nil }

// Version returns the collection version; false if the chunks were not read.
func (c *CollectionState) Version() (Version, bool) {
	switch {
	case c.Table != nil:
		return c.Table.Version(), true
	case c.Outline != nil:
		return c.Outline.Version, true
	}
	return Version{}, false
}

// oldest returns the time at which each shard got its oldest chunk.
func (t *RoutingTable) oldest() map[ShardID]bson.Timestamp {
	first := make([]bson.Timestamp, len(t.shards.names))
	for b := range t.allBlocks() {
		for i := range b.rows {
			r := &b.rows[i]
			if known := first[r.shard]; !r.since.IsZero() && (known.IsZero() || r.since.Before(known)) {
				first[r.shard] = r.since
			}
		}
	}
	found := map[ShardID]bson.Timestamp{}
	for n, since := range first {
		if !since.IsZero() {
			found[t.shards.names[n]] = since
		}
	}
	return found
}
