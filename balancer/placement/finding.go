package placement

import (
	"cmp"
	"encoding/json"
	"slices"

	"shardsh/balancer/catalog"
)

// FindingKind is the kind of an inconsistency.
type FindingKind string

// The kinds of findings.
const (
	// Lone: a document on a shard that does not own it, without a copy on any other shard.
	Lone FindingKind = "lone"
	// Orphan: a document on a shard that does not own it, without a range deletion.
	Orphan FindingKind = "orphan"
	// DuplicateID: two documents of a collection have the same _id.
	DuplicateID FindingKind = "duplicate-id"
	// DuplicateKey: two documents on different shards have the same value of a unique index.
	DuplicateKey FindingKind = "duplicate-key"
	// Unplaced: a document whose shard key is in no chunk, or that can't have a shard key.
	Unplaced FindingKind = "unplaced"
	// IndexMissing and IndexDiffers: an index is missing or different on a shard that owns chunks.
	IndexMissing FindingKind = "index-missing"
	IndexDiffers FindingKind = "index-differs"
	// OptionsDiffer: options of the collection, such as its validator, differ between shards.
	OptionsDiffer FindingKind = "options-differ"
	// UUIDDiffers: a shard has a collection of that name with another UUID than the config database.
	UUIDDiffers FindingKind = "uuid-differs"
	// CollectionMisplaced: a shard has a collection that belongs only on other shards.
	CollectionMisplaced FindingKind = "misplaced"
	// CollectionAbsent: a shard owns chunks of a collection that does not exist on the shard.
	CollectionAbsent FindingKind = "absent"
	// ChunkGap and ChunkOverlap: keys in no chunk, or in two chunks. ChunkInvalid: a chunk whose bounds
	// are no valid range of keys, or whose shard does not exist.
	ChunkGap     FindingKind = "chunk-gap"
	ChunkOverlap FindingKind = "chunk-overlap"
	ChunkInvalid FindingKind = "chunk-invalid"
	// ZoneEmpty: the range of a zone contains no key. ZoneEndsEarly: the range ends at MaxKey of the first
	// field, but before the end of the key space. ZoneInvalid: the bounds of the range are no valid
	// keys.
	ZoneEmpty     FindingKind = "zone-empty"
	ZoneEndsEarly FindingKind = "zone-end"
	ZoneOverlap   FindingKind = "zone-overlap"
	ZoneInvalid   FindingKind = "zone-invalid"
	// CountDiffers: the document count of a shard differs from its number of documents.
	CountDiffers FindingKind = "count-differs"
	// OtherInconsistency: checkMetadataConsistency reports another inconsistency.
	OtherInconsistency FindingKind = "metadata"
)

// Kinds returns all kinds, the most severe first.
func Kinds() []FindingKind {
	return []FindingKind{Lone, ChunkGap, ChunkOverlap, ChunkInvalid, UUIDDiffers, CollectionAbsent, DuplicateID,
		DuplicateKey, Unplaced,
		Orphan, CollectionMisplaced, IndexMissing, IndexDiffers, OptionsDiffer, ZoneInvalid, ZoneOverlap, ZoneEmpty,
		ZoneEndsEarly,
		CountDiffers, OtherInconsistency}
}

// Finding is an inconsistency.
type Finding struct {
	Kind      FindingKind       `json:"kind"`
	Namespace string            `json:"ns"`
	Shards    []catalog.ShardID `json:"shards,omitempty"`
	// Count is the number of affected documents or ranges.
	Count int64 `json:"count"`
	// Text describes the inconsistency, in a sentence without a full stop.
	Text string `json:"text"`
	// Documents are the first affected documents.
	Documents []Document `json:"documents,omitempty"`
	// RepairCommands holds the commands that repair the inconsistency, or instructions, one a line.
	RepairCommands []string `json:"mend"`
	// File is the file in which the documents were saved.
	File string `json:"file,omitzero"`
}

// Document is a document of a finding, as extended JSON.
type Document struct {
	ID    json.RawMessage `json:"_id"`
	Shard catalog.ShardID `json:"shard"`
	Key   json.RawMessage `json:"key,omitempty"`
}

// Sort sorts findings by severity, the most severe first, then by collection and shards.
func Sort(list []Finding) {
	order := Kinds()
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			cmp.Compare(a.Namespace, b.Namespace), slices.Compare(a.Shards, b.Shards))
	})
}
