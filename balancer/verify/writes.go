package verify

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// MaxWrites is how many documents are remembered that were written.
const MaxWrites = 1_000_000

// ErrTooManyWrites says that more documents were written than are remembered.
var ErrTooManyWrites = errors.New("more than a million documents were written")

// Writes are the documents of a range that somebody wrote since before it was read.
type Writes struct{ firstWrites map[string]write }

// write describes the first write of a document.
type write struct{ isNew, early bool }

// Add takes the next write to a document, in the order of time. Early are those from before
// the range was read to the end: what they did may be in its digest or not.
func (w *Writes) Add(id bson.RawValue, isNew, early bool) {
	key := string(keyorder.Append(nil, id))
	if w.firstWrites == nil {
		w.firstWrites = map[string]write{}
	}
	if _, known := w.firstWrites[key]; !known {
		w.firstWrites[key] = write{isNew, early}
	}
}

// Len is how many documents were written.
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

// existed returns how many of the documents a digest has, at least and at most. A document
// that moves to another shard while the digest is made may be in it twice.
func (w *Writes) existed() (least, most int64, certain bool) {
	if w == nil {
		return 0, 0, true
	}
	certain = true
	for _, first := range w.firstWrites {
		switch {
		case first.early:
			most += 2
			certain = false
		case !first.isNew:
			least++
			most++
		}
	}
	return least, most, certain
}
