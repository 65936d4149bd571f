package store

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Changes are what was written to a collection since they were last taken.
type Changes struct {
	// Records were inserted, updated or deleted, in order.
	Records []RecordID
	// Indexes: one was made or dropped.
	Indexes bool
}

// changeNotes keeps notes of a collection's changes.
type changeNotes struct {
	first   func()
	records map[RecordID]struct{}
	indexes bool
}

// Watch lets a collection keep notes of its changes. first is called at the
// first change, and at the first one after each TakeChanges.
func (c *Collection) Watch(first func()) {
	c.watch = &changeNotes{first: first, records: map[RecordID]struct{}{}}
}

// TakeChanges returns the changes noted so far, and starts over.
func (c *Collection) TakeChanges() Changes {
	w := c.watch
	if w == nil {
		return Changes{}
	}
	taken := Changes{Records: slices.Sorted(maps.Keys(w.records)), Indexes: w.indexes}
	c.watch = &changeNotes{first: w.first, records: map[RecordID]struct{}{}}
	return taken
}

func (w *changeNotes) begin() {
	if len(w.records) == 0 && !w.indexes {
		w.first()
	}
}

// noteRecord is called at every write of a document.
func (c *Collection) noteRecord(id RecordID) {
	c.writes++
	c.shown = nil
	if c.watch != nil {
		c.watch.begin()
		c.watch.records[id] = struct{}{}
	}
}

// noteIndexes is called when the indexes have changed.
func (c *Collection) noteIndexes() {
	c.shown = nil
	if c.watch != nil {
		c.watch.begin()
		c.watch.indexes = true
	}
}

// Restore puts a document back at a record it had before. Records must come in
// ascending order.
func (c *Collection) Restore(id RecordID, doc bson.Raw) error {
	c.last = id - 1
	_, err := c.insert(doc, true)
	return err
}
