package placement

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// RangeDeletion is a range on a shard that is to be deleted, or that a migration is filling.
type RangeDeletion struct {
	UUID     bson.Binary
	Min, Max catalog.Key
	// MigrationBegan is when the migration of the range began; zero if the time is unknown.
	MigrationBegan bson.Timestamp
}

// Copy is a document on a shard: at least its _id and the fields of the shard key.
type Copy struct {
	Shard catalog.ShardID
	Doc   bson.Raw
}

// CopyState is the state of a copy.
type CopyState string

// The states of copies.
const (
	// Owned: the shard owns the key of the copy.
	Owned CopyState = "owned"
	// AwaitingDeletion: a range deletion covers the copy, and the owner has the document. LoneAwaitingDeletion: a range
	// deletion covers the copy, and no shard that owns the key has the document.
	AwaitingDeletion     CopyState = "waiting"
	LoneAwaitingDeletion CopyState = "lone, waiting"
	// Stray: no range deletion covers the copy, and the owner has the document. LoneStray: no range
	// deletion covers the copy, and no shard that owns the key has the document.
	Stray     CopyState = "stray"
	LoneStray CopyState = "lone"
	// NoChunk: no chunk contains the key of the copy.
	NoChunk CopyState = "nowhere"
)

// Classifier classifies copies of documents.
type Classifier struct {
	Pattern   catalog.KeyPattern
	UUID      bson.Binary
	Owners    *Owners
	Deletions map[catalog.ShardID][]RangeDeletion
}

// Classification describes the copies with one _id.
type Classification struct {
	States []CopyState // of each copy
	// MigrationBegan is when the earliest migration began whose range deletion covers a lone copy.
	MigrationBegan bson.Timestamp
}

// Classify classifies all copies with one _id on all shards.
func (j *Classifier) Classify(copies []Copy) Classification {
	v := Classification{States: make([]CopyState, len(copies))}
	owned := false
	for i, c := range copies {
		state, since := j.classifyCopy(c)
		v.States[i] = state
		owned = owned || state == Owned
		if state == AwaitingDeletion && (v.MigrationBegan.IsZero() || since.Compare(v.MigrationBegan) < 0) {
			v.MigrationBegan = since
		}
	}
	if owned {
		v.MigrationBegan = bson.Timestamp{}
		return v
	}
	for i, s := range v.States {
		switch s {
		case AwaitingDeletion:
			v.States[i] = LoneAwaitingDeletion
		case Stray:
			v.States[i] = LoneStray
		}
	}
	return v
}

// classifyCopy classifies a copy, assuming that the owner has the document.
func (j *Classifier) classifyCopy(c Copy) (CopyState, bson.Timestamp) {
	var room [64]byte
	key, err := j.Pattern.AppendDocumentKey(room[:0], c.Doc)
	if err != nil {
		return NoChunk, bson.Timestamp{}
	}
	owner, placed := j.Owners.OwnerOf(key)
	switch {
	case placed && owner == c.Shard:
		return Owned, bson.Timestamp{}
	case !placed:
		return NoChunk, bson.Timestamp{}
	}
	end := j.Pattern.GlobalMax()
	for _, d := range j.Deletions[c.Shard] {
		if d.UUID.Equal(j.UUID) && d.Min.CompareBytes(key) <= 0 && (d.Max.CompareBytes(key) > 0 || d.Max.Equal(end)) {
			return AwaitingDeletion, d.MigrationBegan
		}
	}
	return Stray, bson.Timestamp{}
}

// IsSound reports whether the copies are correct: one owner has the document, and range deletions cover
// all other copies.
func (v Classification) IsSound() bool {
	owned := 0
	for _, s := range v.States {
		switch s {
		case Owned:
			owned++
		case AwaitingDeletion:
		default:
			return false
		}
	}
	return owned <= 1
}

// HasState reports whether some copy is in a state.
func (v Classification) HasState(s CopyState) bool { return slices.Contains(v.States, s) }

// OwnedCount returns how many shards own their copies.
func (v Classification) OwnedCount() (n int) {
	for _, s := range v.States {
		if s == Owned {
			n++
		}
	}
	return n
}

// Signature returns a string that differs for different verdicts on the same copies.
func (v Classification) Signature(copies []Copy) string {
	var b strings.Builder
	for i, c := range copies {
		b.WriteString(string(c.Shard) + "=" + string(v.States[i]) + ";")
	}
	return b.String()
}
