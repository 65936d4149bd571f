package salvage

import (
	"cmp"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/disk"
)

// fillGaps makes chunks where some are lost: a table has to cover all keys. A
// new one belongs to the shard that has most documents there; what others have
// there is not visible any more.
func (w *wreck) fillGaps(lose func(string, ...any)) {
	for _, e := range w.Memory[disk.BucketTables] {
		var form disk.Table
		if bson.Unmarshal(e.Value, &form) != nil {
			continue // whoever loads it will say so
		}
		pattern, err := catalog.ParseKeyPattern(form.Key)
		if err != nil {
			continue
		}
		bucket := disk.Numbered(disk.BucketChunks, uint64(form.Number))
		(&torn{wreck: w, ns: string(e.Key), pattern: pattern, bucket: bucket}).fill(lose)
	}
}

// torn is a table that may have gaps.
type torn struct {
	*wreck
	ns      string
	pattern catalog.KeyPattern
	bucket  string
	version catalog.ChunkVersion
}

// span is a range of keys.
type span struct{ min, max catalog.Key }

func (t *torn) fill(lose func(string, ...any)) {
	var chunks []catalog.Chunk
	for _, e := range t.Memory[t.bucket] {
		chunk, err := catalog.ParseChunk(t.pattern, e.Value)
		if err != nil {
			continue
		}
		chunks = append(chunks, chunk)
		t.version.Major = max(t.version.Major, chunk.Version.Major)
	}
	slices.SortFunc(chunks, func(a, b catalog.Chunk) int { return a.Min.Compare(b.Min) })
	var gaps []span
	at := t.pattern.GlobalMin()
	for _, chunk := range chunks {
		if at.Less(chunk.Min) {
			gaps = append(gaps, span{at, chunk.Min})
		}
		at = chunk.Max
	}
	if end := t.pattern.GlobalMax(); at.Less(end) {
		gaps = append(gaps, span{at, end})
	}
	for _, gap := range gaps {
		shard := t.owner(gap, chunks)
		t.Memory[t.bucket] = append(t.Memory[t.bucket], t.chunk(gap, shard))
		lose("a chunk of %s from %s to %s: it is said to be on %s, which has most documents there",
			t.ns, t.pattern.Bound(gap.min), t.pattern.Bound(gap.max), shard)
	}
	if len(gaps) > 0 {
		t.Memory.Sort()
	}
}

// owner is the shard with most documents in a range.
func (t *torn) owner(gap span, chunks []catalog.Chunk) string {
	counts := map[string]int{}
	for number, at := range t.places {
		if at.form.Namespace != t.ns || !t.members[at.on] {
			continue
		}
		counts[at.on] += 0
		for _, e := range t.Memory[disk.Numbered(disk.BucketDocuments, number)] {
			if key, err := t.pattern.DocumentKey(e.Value); err == nil && !key.Less(gap.min) && key.Less(gap.max) {
				counts[at.on]++
			}
		}
	}
	if len(counts) == 0 && len(chunks) > 0 { // nobody has any
		return string(chunks[0].Shard)
	}
	if len(counts) == 0 {
		return slices.Min(slices.Collect(maps.Keys(t.members)))
	}
	return most(counts)
}

// most returns the name with the highest count, the first of several.
func most(counts map[string]int) string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int {
		return cmp.Compare(counts[a], counts[b])
	})
}

// chunk makes a chunk with a version of its own.
func (t *torn) chunk(gap span, shard string) disk.Entry {
	t.version.Major++
	since := bson.Timestamp{T: 1}
	raw, err := bson.Marshal(bson.D{
		{Key: "_id", Value: bson.NewObjectID()}, {Key: "uuid", Value: t.uuid(t.ns)},
		{Key: "min", Value: t.pattern.Bound(gap.min)}, {Key: "max", Value: t.pattern.Bound(gap.max)},
		{Key: "shard", Value: shard}, {Key: "lastmod", Value: bson.Timestamp{T: t.version.Major}},
		{Key: "onCurrentShardSince", Value: since},
		{Key: "history", Value: bson.A{bson.D{{Key: "validAfter", Value: since}, {Key: "shard", Value: shard}}}},
	})
	if err != nil {
		return disk.Entry{} // can't be: all of it are documents
	}
	return disk.Entry{Bucket: t.bucket, Key: disk.BoundKey(gap.min), Value: raw}
}
