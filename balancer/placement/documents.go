package placement

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Deletion is a range of a shard that waits to be deleted, or that a migration fills.
type Deletion struct {
	UUID     bson.Binary
	Min, Max catalog.Key
	// Since is when its migration began; zero where that is unknown.
	Since bson.Timestamp
}

// Copy is a document as a shard has it: at least its _id and the fields of the shard key.
type Copy struct {
	Shard catalog.ShardID
	Doc   bson.Raw
}

// State is what a copy is.
type State string

// The states of copies.
const (
	// Owned: the shard owns its key.
	Owned State = "owned"
	// Waiting: a range deletion waits for it, and its owner has the document. LoneWaiting:
	// it waits, and no shard that owns the key has the document.
	Waiting     State = "waiting"
	LoneWaiting State = "lone, waiting"
	// Stray: nothing waits for it. LoneStray: nor has any shard that owns the key the document.
	Stray     State = "stray"
	LoneStray State = "lone"
	// Nowhere: no chunk has its key.
	Nowhere State = "nowhere"
)

// Judge classifies copies of documents.
type Judge struct {
	Pattern   catalog.KeyPattern
	UUID      bson.Binary
	Owners    *Owners
	Deletions map[catalog.ShardID][]Deletion
}

// Verdict is what the copies with one _id are.
type Verdict struct {
	States []State // of each copy
	// Since is when the earliest of the migrations began whose deletions wait for lone copies.
	Since bson.Timestamp
}

// Classify judges all copies with one _id that there are on all shards.
func (j *Judge) Classify(copies []Copy) Verdict {
	v := Verdict{States: make([]State, len(copies))}
	owned := false
	for i, c := range copies {
		state, since := j.classifyCopy(c)
		v.States[i] = state
		owned = owned || state == Owned
		if state == Waiting && (v.Since.IsZero() || since.Compare(v.Since) < 0) {
			v.Since = since
		}
	}
	if owned {
		v.Since = bson.Timestamp{}
		return v
	}
	for i, s := range v.States {
		switch s {
		case Waiting:
			v.States[i] = LoneWaiting
		case Stray:
			v.States[i] = LoneStray
		}
	}
	return v
}

// classifyCopy classifies a copy on the assumption that its owner has the document.
func (j *Judge) classifyCopy(c Copy) (State, bson.Timestamp) {
	var room [64]byte
	key, err := j.Pattern.AppendDocumentKey(room[:0], c.Doc)
	if err != nil {
		return Nowhere, bson.Timestamp{}
	}
	owner, placed := j.Owners.OwnerOf(key)
	switch {
	case placed && owner == c.Shard:
		return Owned, bson.Timestamp{}
	case !placed:
		return Nowhere, bson.Timestamp{}
	}
	end := j.Pattern.GlobalMax()
	for _, d := range j.Deletions[c.Shard] {
		if d.UUID.Equal(j.UUID) && d.Min.CompareBytes(key) <= 0 && (d.Max.CompareBytes(key) > 0 || d.Max.Equal(end)) {
			return Waiting, d.Since
		}
	}
	return Stray, bson.Timestamp{}
}

// IsSound reports whether there is nothing to find: one owner has the document, and range
// deletions wait for all else.
func (v Verdict) IsSound() bool {
	owned := 0
	for _, s := range v.States {
		switch s {
		case Owned:
			owned++
		case Waiting:
		default:
			return false
		}
	}
	return owned <= 1
}

// HasState reports whether some copy is in a state.
func (v Verdict) HasState(s State) bool { return slices.Contains(v.States, s) }

// OwnedCount is how many shards own their copies.
func (v Verdict) OwnedCount() (n int) {
	for _, s := range v.States {
		if s == Owned {
			n++
		}
	}
	return n
}

// Signature tells verdicts of the same copies apart.
func (v Verdict) Signature(copies []Copy) string {
	var b strings.Builder
	for i, c := range copies {
		b.WriteString(string(c.Shard) + "=" + string(v.States[i]) + ";")
	}
	return b.String()
}
