package verify

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// MaxWrites is the maximum number of recorded documents.
const MaxWrites = 1_000_000

// ErrTooManyWrites says that more than MaxWrites documents were written.
var ErrTooManyWrites = errors.New("more than a million documents were written")

// Writes records the documents of a range that were written since before the range was read.
type Writes struct{ firstWrites map[string]write }

// write describes the first write of a document.
type write struct{ isNew, maybeInDigest bool }

// Add records a write, in the order of time. Early writes happened before the range was read
// completely; they may or may not be in its digest.
func (w *Writes) Add(id bson.RawValue, isNew, early bool) {
	key := string(keyorder.Append(nil, id))
	if w.firstWrites == nil {
		w.firstWrites = map[string]write{}
	}
	if _, known := w.firstWrites[key]; !known {
		w.firstWrites[key] = write{isNew, early}
	}
}

// Len returns the number of written documents.
func (w *Writes) Len() int {
	if w == nil {
		return 0
	}
	return len(w.firstWrites)
}

func (w *Writes) isEmpty() bool { return w.Len() == 0 }

func (w *Writes) contains(id bson.RawValue) bool {
	if w.isEmpty() {
		return false
	}
	_, known := w.firstWrites[string(keyorder.Append(nil, id))]
	return known
}

// countExisting returns how many of the written documents a digest has, at least and at most. A document that
// moves to another shard during the scan may be in the digest twice.
func (w *Writes) countExisting() (least, most int64, certain bool) {
	if w == nil {
		return 0, 0, true
	}
	certain = true
	for _, first := range w.firstWrites {
		switch {
		case first.maybeInDigest:
			most += 2
			certain = false
		case !first.isNew:
			least++
			most++
		}
	}
	return least, most, certain
}
