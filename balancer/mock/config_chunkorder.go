package mock

import (
	"bytes"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store"
)

// chunksFor are the chunks of a table that a filter can match, in key order: as
// an index would, it leaves out what a clause on shard, jumbo, lastmod or
// estimatedDataSizeBytes excludes.
func chunksFor(t *catalog.RoutingTable, filter *store.Filter) iter.Seq[catalog.Chunk] {
	shard, _ := filter.Equality("shard")
	if owner, ok := shard.StringValueOK(); ok {
		return t.Owned(catalog.ShardID(owner), catalog.Key{}, catalog.Key{})
	}
	jumbo, _ := filter.Equality("jumbo")
	if flagged, _ := jumbo.BooleanOK(); flagged {
		return t.Flagged()
	}
	if version, ok := leastVersion(filter); ok {
		return t.From(version)
	}
	if from, ok := leastValue(filter, "estimatedDataSizeBytes"); ok {
		missing := keyorder.Append(nil, bson.RawValue{Type: bson.TypeNull})
		if bytes.Compare(from, missing) > 0 {
			return t.Measured()
		}
	}
	return t.All()
}

// leastVersion is the version below which a filter matches no chunk.
func leastVersion(filter *store.Filter) (catalog.ChunkVersion, bool) {
	from, ok := leastValue(filter, "lastmod")
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

// leastValue is where the values of a field begin that a filter matches, as they
// are encoded in an index.
func leastValue(filter *store.Filter, name string) ([]byte, bool) {
	key, err := bson.Marshal(bson.D{{Key: name, Value: int32(1)}})
	if err != nil {
		return nil, false
	}
	ranges, narrow := filter.KeyRanges(key)
	if !narrow || len(ranges) == 0 || ranges[0].From == nil {
		return nil, false
	}
	return ranges[0].From, true
}

// byAge are the chunks of a table, newest version first. Those after the first
// are only put in order when somebody asks for them.
func byAge(t *catalog.RoutingTable) iter.Seq[catalog.Chunk] {
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

// chunkOrder tells whether the chunks of one collection, which a filter asks
// for, come in the order of a sort by themselves, so that a reader with a limit
// may stop early: by their lower bounds, or newest first.
func chunkOrder(filter *store.Filter, sort bson.Raw) (ordered, newestFirst bool) {
	if _, one := filter.Equality("uuid"); !one {
		return false, false
	}
	elems, err := sort.Elements()
	if err != nil || len(elems) != 1 {
		return false, false
	}
	direction, _ := elems[0].Value().AsFloat64OK()
	newestFirst = elems[0].Key() == "lastmod" && direction == -1
	return newestFirst || elems[0].Key() == "min" && direction == 1, newestFirst
}
