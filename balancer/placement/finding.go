package placement

import (
	"cmp"
	"encoding/json"
	"slices"

	"shardsh/balancer/catalog"
)

// Kind is what is wrong.
type Kind string

// The kinds of findings.
const (
	// Lone: a document on a shard that does not own it, which exists nowhere else.
	Lone Kind = "lone"
	// Orphan: a document on a shard that does not own it, and no range deletion waits for it.
	Orphan Kind = "orphan"
	// DuplicateID: two documents of a collection have the same _id.
	DuplicateID Kind = "duplicate-id"
	// DuplicateKey: two documents on different shards have the same value of a unique index.
	DuplicateKey Kind = "duplicate-key"
	// Unplaced: a document whose shard key is in no chunk, or that can't have one.
	Unplaced Kind = "unplaced"
	// IndexMissing and IndexDiffers: of shards that own chunks.
	IndexMissing Kind = "index-missing"
	IndexDiffers Kind = "index-differs"
	// OptionsDiffer: options of the collection, such as its validator, differ between shards.
	OptionsDiffer Kind = "options-differ"
	// UUIDDiffers: a shard has another collection of that name than the config database.
	UUIDDiffers Kind = "uuid-differs"
	// Misplaced: a shard has a collection that belongs on other shards alone.
	Misplaced Kind = "misplaced"
	// Absent: a shard owns chunks of a collection that it does not have.
	Absent Kind = "absent"
	// ChunkGap, ChunkOverlap and ChunkInvalid: keys that no chunk has, or two have; chunks
	// whose bounds are not a range of keys, or whose shard is none.
	ChunkGap     Kind = "chunk-gap"
	ChunkOverlap Kind = "chunk-overlap"
	ChunkInvalid Kind = "chunk-invalid"
	// ZoneEmpty: a zone's range holds no key. ZoneEnd: it ends at MaxKey of the first field,
	// but before the end of the key space. ZoneInvalid: its bounds are not keys.
	ZoneEmpty   Kind = "zone-empty"
	ZoneEnd     Kind = "zone-end"
	ZoneOverlap Kind = "zone-overlap"
	ZoneInvalid Kind = "zone-invalid"
	// CountDiffers: a shard counts other than it has.
	CountDiffers Kind = "count-differs"
	// Metadata: checkMetadataConsistency reports something else.
	Metadata Kind = "metadata"
)

// Kinds returns all of them, the gravest first.
func Kinds() []Kind {
	return []Kind{Lone, ChunkGap, ChunkOverlap, ChunkInvalid, UUIDDiffers, Absent, DuplicateID, DuplicateKey, Unplaced,
		Orphan, Misplaced, IndexMissing, IndexDiffers, OptionsDiffer, ZoneInvalid, ZoneOverlap, ZoneEmpty, ZoneEnd,
		CountDiffers, Metadata}
}

// Finding is something that is wrong.
type Finding struct {
	Kind      Kind              `json:"kind"`
	Namespace string            `json:"ns"`
	Shards    []catalog.ShardID `json:"shards,omitempty"`
	// Count is how many documents or ranges it is about.
	Count int64 `json:"count"`
	// Text says what is wrong, in a sentence without its end.
	Text string `json:"text"`
	// Documents are the first of them.
	Documents []Document `json:"documents,omitempty"`
	// Mend are the commands that mend it, or what to do, a line each.
	Mend []string `json:"mend"`
	// File is where the documents were saved.
	File string `json:"file,omitzero"`
}

// Document is one that a finding is about, as extended JSON.
type Document struct {
	ID    json.RawMessage `json:"_id"`
	Shard catalog.ShardID `json:"shard"`
	Key   json.RawMessage `json:"key,omitempty"`
}

// Sort puts the gravest first, then by collection and shards.
func Sort(list []Finding) {
	order := Kinds()
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(a.Namespace, b.Namespace), slices.Compare(a.Shards, b.Shards))
	})
}
