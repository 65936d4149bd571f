package placement

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// maxNamedRanges is the maximum number of ranges that a finding names.
const maxNamedRanges = 5

// Owners maps keys to the shards that own them. Adjacent chunks of one shard form one range.
type Owners struct {
	pattern catalog.KeyPattern
	ranges  []ownedRange
	shards  []catalog.ShardID
}

// ownedRange is a range of keys; shard is the index of its owner, -1 for none.
type ownedRange struct {
	min   catalog.Key
	shard int32
}

// NewOwnersOnOneShard returns the Owners of a collection that is on one shard.
func NewOwnersOnOneShard(p catalog.KeyPattern, id catalog.ShardID) *Owners {
	return &Owners{pattern: p, ranges: []ownedRange{{p.GlobalMin(), 0}}, shards: []catalog.ShardID{id}}
}

// OwnerOf returns the owner of a key, by its comparable bytes; false where no chunk has it.
func (o *Owners) OwnerOf(key []byte) (catalog.ShardID, bool) {
	i, found := slices.BinarySearchFunc(o.ranges, key, func(r ownedRange, k []byte) int { return r.min.CompareBytes(k) })
	if !found {
		i--
	}
	if i < 0 || o.ranges[i].shard < 0 {
		return "", false
	}
	return o.shards[o.ranges[i].shard], true
}

// Shards returns the shards that own keys, sorted by id.
func (o *Owners) Shards() []catalog.ShardID { return slices.Sorted(slices.Values(o.shards)) }

// OwnersBuilder builds Owners from the documents of config.chunks, and finds inconsistencies in them.
type OwnersBuilder struct {
	coll      catalog.Collection
	shards    []catalog.ShardID
	owners    Owners
	coveredTo catalog.Key // keys below are covered by chunks
	found     map[FindingKind]*Finding
}

// NewOwnersBuilder returns an OwnersBuilder for a collection; known are the shards of the cluster.
func NewOwnersBuilder(coll catalog.Collection, known []catalog.ShardID) *OwnersBuilder {
	return &OwnersBuilder{
		coll: coll, shards: known, owners: Owners{pattern: coll.Pattern}, coveredTo: coll.Pattern.GlobalMin(),
		found: map[FindingKind]*Finding{},
	}
}

// Add adds the next chunk; chunks have to be sorted by min.
func (r *OwnersBuilder) Add(doc bson.Raw) {
	c, err := catalog.ParseChunk(r.coll.Pattern, doc)
	if err != nil {
		r.addFinding(ChunkInvalid, fmt.Sprintf("%s: %v", idText(doc), err))
		return
	}
	if !slices.Contains(r.shards, c.Shard) {
		r.addFinding(ChunkInvalid, fmt.Sprintf("%s is on %q, which is not a shard", r.rangeText(c.Min, c.Max), c.Shard))
	}
	if r.coveredTo.Less(c.Min) {
		r.addGap(c.Min)
	}
	lower := c.Min
	if c.Min.Less(r.coveredTo) {
		r.addFinding(ChunkOverlap, r.rangeText(c.Min, lesserKey(r.coveredTo, c.Max)))
		lower = r.coveredTo
	}
	if r.coveredTo.Less(c.Max) {
		r.addRange(lower, r.shardIndex(c.Shard))
		r.coveredTo = c.Max
	}
}

// Finish returns the owners of all keys, and the inconsistencies.
func (r *OwnersBuilder) Finish() (*Owners, []Finding) {
	if end := r.coll.Pattern.GlobalMax(); r.coveredTo.Less(end) {
		r.addGap(end)
	}
	var list []Finding
	for _, k := range []FindingKind{ChunkGap, ChunkOverlap, ChunkInvalid} {
		if f := r.found[k]; f != nil {
			list = append(list, *f)
		}
	}
	return &r.owners, list
}

func (r *OwnersBuilder) addGap(to catalog.Key) {
	r.addFinding(ChunkGap, r.rangeText(r.coveredTo, to))
	r.addRange(r.coveredTo, -1)
	r.coveredTo = to
}

func (r *OwnersBuilder) addRange(from catalog.Key, shard int32) {
	if n := len(r.owners.ranges); n > 0 && r.owners.ranges[n-1].shard == shard {
		return
	}
	r.owners.ranges = append(r.owners.ranges, ownedRange{from, shard})
}

func (r *OwnersBuilder) shardIndex(id catalog.ShardID) int32 {
	i := slices.Index(r.owners.shards, id)
	if i < 0 {
		i = len(r.owners.shards)
		r.owners.shards = append(r.owners.shards, id)
	}
	return int32(i)
}

var chunkTexts = map[FindingKind]string{
	ChunkGap:     "no chunk has the keys ",
	ChunkOverlap: "two chunks have the keys ",
	ChunkInvalid: "invalid chunk: ",
}

func (r *OwnersBuilder) addFinding(k FindingKind, what string) {
	f := r.found[k]
	if f == nil {
		f = &Finding{Kind: k, Namespace: r.coll.Namespace, RepairCommands: commandsForChunks(r.coll)}
		r.found[k] = f
	}
	f.Count++
	switch {
	case f.Count == 1:
		f.Text = chunkTexts[k] + what
	case f.Count <= maxNamedRanges:
		f.Text += "; " + what
	case f.Count == maxNamedRanges+1:
		f.Text += "; and more"
	}
}

func (r *OwnersBuilder) rangeText(from, to catalog.Key) string {
	return humanize.Literal(r.coll.Pattern.Bound(from)) + " to " + humanize.Literal(r.coll.Pattern.Bound(to))
}

func lesserKey(a, b catalog.Key) catalog.Key {
	if a.Less(b) {
		return a
	}
	return b
}

func idText(doc bson.Raw) string { return "_id " + doc.Lookup("_id").String() }
