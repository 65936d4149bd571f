package verify

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// MostWrites is how many documents are remembered that were written.
const MostWrites = 1_000_000

// ErrWrites says that more documents were written than are remembered.
var ErrWrites = errors.New("more than a million documents were written")

// Writes are the documents of a range that somebody wrote since before it was read.
type Writes struct{ first map[string]write }

// write is the first one of a document.
type write struct{ isNew, early bool }

// Add takes the next write to a document, in the order of time. Early are those from before
// the range was read to the end: what they did may be in its digest or not.
func (w *Writes) Add(id bson.RawValue, isNew, early bool) {
	key := string(keyorder.Append(nil, id))
	if w.first == nil {
		w.first = map[string]write{}
	}
	if _, known := w.first[key]; !known {
		w.first[key] = write{isNew, early}
	}
}

// Len is how many documents were written.
func (w *Writes) Len() int {
	if w == nil {
		return 0
	}
	return len(w.first)
}

func (w *Writes) none() bool { return w.Len() == 0 }

func (w *Writes) has(id bson.RawValue) bool {
	if w.none() {
		return false
	}
	_, known := w.first[string(keyorder.Append(nil, id))]
	return known
}

// existed returns how many of the documents a digest has, at least and at most. A document
// that moves to another shard while the digest is made may be in it twice.
func (w *Writes) existed() (least, most int64, certain bool) {
	if w == nil {
		return 0, 0, true
	}
	certain = true
	for _, first := range w.first {
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
