package placement

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// maxRanges is how many ranges of a collection a finding names.
const maxRanges = 5

// Owners says which shard owns a key. Neighbours of one shard are one range.
type Owners struct {
	pattern catalog.KeyPattern
	ranges  []ownedRange
	shards  []catalog.ShardID
}

// ownedRange is a range of keys; shard is an index, -1 for none.
type ownedRange struct {
	min   catalog.Key
	shard int32
}

// Of returns the owner of a key; false where no chunk has it.
func (o *Owners) Of(k catalog.Key) (catalog.ShardID, bool) {
	i, found := slices.BinarySearchFunc(o.ranges, k, func(r ownedRange, k catalog.Key) int { return r.min.Compare(k) })
	if !found {
		i--
	}
	if i < 0 || o.ranges[i].shard < 0 {
		return "", false
	}
	return o.shards[o.ranges[i].shard], true
}

// Shards returns those that own something, in the order of their names.
func (o *Owners) Shards() []catalog.ShardID { return slices.Sorted(slices.Values(o.shards)) }

// ChunkReader makes Owners of the documents of config.chunks, and finds what is wrong with them.
type ChunkReader struct {
	coll   catalog.Collection
	known  []catalog.ShardID
	owners Owners
	at     catalog.Key // up to where keys are covered
	found  map[Kind]*Finding
}

// NewChunkReader returns one for a collection. Known are the shards of the cluster.
func NewChunkReader(coll catalog.Collection, known []catalog.ShardID) *ChunkReader {
	return &ChunkReader{
		coll: coll, known: known, owners: Owners{pattern: coll.Pattern}, at: coll.Pattern.GlobalMin(),
		found: map[Kind]*Finding{},
	}
}

// Put takes the next chunk, in the order of min.
func (r *ChunkReader) Put(doc bson.Raw) {
	c, err := catalog.ParseChunk(r.coll.Pattern, doc)
	if err != nil {
		r.add(ChunkInvalid, fmt.Sprintf("%s: %v", id(doc), err))
		return
	}
	if !slices.Contains(r.known, c.Shard) {
		r.add(ChunkInvalid, fmt.Sprintf("%s is on %q, which is not a shard", r.show(c.Min, c.Max), c.Shard))
	}
	if r.at.Less(c.Min) {
		r.gap(c.Min)
	}
	lower := c.Min
	if c.Min.Less(r.at) {
		r.add(ChunkOverlap, r.show(c.Min, least(r.at, c.Max)))
		lower = r.at
	}
	if r.at.Less(c.Max) {
		r.own(lower, r.index(c.Shard))
		r.at = c.Max
	}
}

// Finish returns the owners of all keys, and what is wrong.
func (r *ChunkReader) Finish() (*Owners, []Finding) {
	if end := r.coll.Pattern.GlobalMax(); r.at.Less(end) {
		r.gap(end)
	}
	var list []Finding
	for _, k := range []Kind{ChunkGap, ChunkOverlap, ChunkInvalid} {
		if f := r.found[k]; f != nil {
			list = append(list, *f)
		}
	}
	return &r.owners, list
}

func (r *ChunkReader) gap(to catalog.Key) {
	r.add(ChunkGap, r.show(r.at, to))
	r.own(r.at, -1)
	r.at = to
}

func (r *ChunkReader) own(from catalog.Key, shard int32) {
	if n := len(r.owners.ranges); n > 0 && r.owners.ranges[n-1].shard == shard {
		return
	}
	r.owners.ranges = append(r.owners.ranges, ownedRange{from, shard})
}

func (r *ChunkReader) index(id catalog.ShardID) int32 {
	i := slices.Index(r.owners.shards, id)
	if i < 0 {
		i = len(r.owners.shards)
		r.owners.shards = append(r.owners.shards, id)
	}
	return int32(i)
}

var chunkTexts = map[Kind]string{
	ChunkGap:     "no chunk has the keys ",
	ChunkOverlap: "two chunks have the keys ",
	ChunkInvalid: "invalid chunk: ",
}

func (r *ChunkReader) add(k Kind, what string) {
	f := r.found[k]
	if f == nil {
		f = &Finding{Kind: k, Namespace: r.coll.Namespace, Mend: mendChunks(r.coll)}
		r.found[k] = f
	}
	f.Count++
	switch {
	case f.Count == 1:
		f.Text = chunkTexts[k] + what
	case f.Count <= maxRanges:
		f.Text += "; " + what
	case f.Count == maxRanges+1:
		f.Text += "; and more"
	}
}

func (r *ChunkReader) show(from, to catalog.Key) string {
	return humanize.Literal(r.coll.Pattern.Bound(from)) + " to " + humanize.Literal(r.coll.Pattern.Bound(to))
}

func least(a, b catalog.Key) catalog.Key {
	if a.Less(b) {
		return a
	}
	return b
}

func id(doc bson.Raw) string { return "_id " + doc.Lookup("_id").String() }
