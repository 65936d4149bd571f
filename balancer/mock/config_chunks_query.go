package mock

import (
	"bytes"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
)

// chunkOrder is an order in which the routing table can return the chunks of one collection without a
// sort. A reader with a limit then stops early.
type chunkOrder int

const (
	noOrder chunkOrder = iota
	byMin
	byMinDescending
	newestFirst
)

// orderOf returns the order of a sort, if the query selects the chunks of a single collection.
func (f chunkFormat) orderOf(filter *filter.Filter, sort bson.Raw) chunkOrder {
	if _, ok := filter.Equality(f.ownerField()); !ok {
		return noOrder
	}
	elems, err := sort.Elements()
	if err != nil || len(elems) != 1 {
		return noOrder
	}
	direction, _ := elems[0].Value().AsFloat64OK()
	switch field := elems[0].Key(); {
	case field == "min" && direction == 1:
		return byMin
	case field == "min" && direction == -1:
		return byMinDescending
	case field == "lastmod" && direction == -1:
		return newestFirst
	}
	return noOrder
}

// matchingChunks returns, in the given order, the chunks of a table that a filter can match.
func matchingChunks(t *catalog.RoutingTable, filter *filter.Filter, order chunkOrder) iter.Seq[catalog.Chunk] {
	first, last := minBoundRange(t, filter)
	switch {
	case order == newestFirst:
		return chunksNewestFirst(t)
	case order == byMinDescending, first == last:
		return chunksDescending(t, last, first)
	}
	return indexedChunks(t, filter)
}

// chunksDescending returns chunks by their indexes in a table, from last down to first.
func chunksDescending(t *catalog.RoutingTable, last, first int) iter.Seq[catalog.Chunk] {
	return func(yield func(catalog.Chunk) bool) {
		for i := last; i >= first; i-- {
			if !yield(t.At(i)) {
				return
			}
		}
	}
}

// minBoundRange returns the range of indexes in a table that contains all chunks whose lower bound can
// match a filter.
func minBoundRange(t *catalog.RoutingTable, filter *filter.Filter) (first, last int) {
	last = t.Len() - 1
	if filter == nil {
		return first, last
	}
	for _, c := range filter.Clauses {
		if c.Path != "min" || c.Op != "$eq" && c.Op != "$lt" && c.Op != "$lte" {
			continue
		}
		key, ok := boundKey(t.Pattern(), c.Arg)
		if !ok {
			continue
		}
		at := t.IndexOf(key)
		last = min(last, at)
		if c.Op == "$eq" {
			first = max(first, at)
		}
	}
	return first, last
}

// boundKey converts a value that is compared with chunk bounds to a key. It returns false for a value
// that is not ordered like keys.
func boundKey(p catalog.KeyPattern, v bson.RawValue) (catalog.Key, bool) {
	doc, ok := v.DocumentOK()
	if !ok {
		return catalog.Key{}, false
	}
	var names []string
	for name := range document.Fields(doc) {
		names = append(names, string(name))
	}
	if !slices.Equal(names, p.Fields()) {
		return catalog.Key{}, false
	}
	key, err := p.ParseKey(doc)
	return key, err == nil
}

// indexedChunks returns the chunks of a table that a filter can match, in key order. Like an index, it
// excludes chunks by a clause on shard, jumbo, lastmod or estimatedDataSizeBytes.
func indexedChunks(t *catalog.RoutingTable, filter *filter.Filter) iter.Seq[catalog.Chunk] {
	shard, _ := filter.Equality("shard")
	if owner, ok := shard.StringValueOK(); ok {
		return t.OwnedChunks(catalog.ShardID(owner), catalog.Key{}, catalog.Key{})
	}
	jumbo, _ := filter.Equality("jumbo")
	if flagged, _ := jumbo.BooleanOK(); flagged {
		return t.JumboChunks()
	}
	if version, ok := minVersion(filter); ok {
		return t.ChunksFromVersion(version)
	}
	if from, ok := minEncodedValue(filter, "estimatedDataSizeBytes"); ok {
		missing := keyorder.Append(nil, bson.RawValue{Type: bson.TypeNull})
		if bytes.Compare(from, missing) > 0 {
			return t.ChunksWithEstimate()
		}
	}
	return t.All()
}

// minVersion returns the lowest chunk version that a filter can match.
func minVersion(filter *filter.Filter) (catalog.ChunkVersion, bool) {
	from, ok := minEncodedValue(filter, "lastmod")
	if !ok {
		return catalog.ChunkVersion{}, false
	}
	value, _, ok := keyorder.Restore(nil, from, bson.TypeTimestamp)
	if !ok {
		return catalog.ChunkVersion{}, false
	}
	t, i, ok := bson.RawValue{Type: bson.TypeTimestamp, Value: value}.TimestampOK()
	return catalog.ChunkVersion{Major: t, Minor: i}, ok
}

// minEncodedValue returns the lowest value of a field that a filter can match, in the encoding of index
// keys.
func minEncodedValue(filter *filter.Filter, name string) ([]byte, bool) {
	key, err := bson.Marshal(bson.D{{Key: name, Value: int32(1)}})
	if err != nil {
		return nil, false
	}
	ranges, narrow := store.ShardKeyRanges(filter, key)
	if !narrow || len(ranges) == 0 || ranges[0].From == nil {
		return nil, false
	}
	return ranges[0].From, true
}

// chunksNewestFirst returns the chunks of a table, newest version first. It sorts only if more than the
// first chunk is read.
func chunksNewestFirst(t *catalog.RoutingTable) iter.Seq[catalog.Chunk] {
	return func(yield func(catalog.Chunk) bool) {
		newest := t.Newest()
		if !yield(newest) {
			return
		}
		rest := slices.Collect(t.All())
		slices.SortStableFunc(rest, func(a, b catalog.Chunk) int { return b.Version.Compare(a.Version) })
		for _, chunk := range rest {
			if chunk.Min != newest.Min && !yield(chunk) {
				return
			}
		}
	}
}
