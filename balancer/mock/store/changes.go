package store

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Changes are the changes of a collection since the last TakeChanges.
type Changes struct {
	// Records were inserted, updated or deleted, in order.
	Records []RecordID
	// IndexesChanged reports that an index was created or dropped.
	IndexesChanged bool
}

// changeTracker records which parts of a collection have changed.
type changeTracker struct {
	onFirst        func()
	records        map[RecordID]struct{}
	indexesChanged bool
}

// TrackChanges lets a collection keep notes of its changes. first is called at the
// first change, and at the first one after each TakeChanges.
func (c *Collection) TrackChanges(first func()) {
	c.tracker = &changeTracker{onFirst: first, records: map[RecordID]struct{}{}}
}

// TakeChanges returns the changes noted so far, and starts over.
func (c *Collection) TakeChanges() Changes {
	w := c.tracker
	if w == nil {
		return Changes{}
	}
	taken := Changes{Records: slices.Sorted(maps.Keys(w.records)), IndexesChanged: w.indexesChanged}
	c.tracker = &changeTracker{onFirst: w.onFirst, records: map[RecordID]struct{}{}}
	return taken
}

func (w *changeTracker) reportFirst() {
	if len(w.records) == 0 && !w.indexesChanged {
		w.onFirst()
	}
}

// noteRecord is called at every write of a document.
func (c *Collection) noteRecord(id RecordID) {
	c.writes++
	c.cachedSnapshot = nil
	if c.tracker != nil {
		c.tracker.reportFirst()
		c.tracker.records[id] = struct{}{}
	}
}

// noteIndexes is called when the indexes have changed.
func (c *Collection) noteIndexes() {
	c.cachedSnapshot = nil
	if c.tracker != nil {
		c.tracker.reportFirst()
		c.tracker.indexesChanged = true
	}
}

// Restore puts a document back at a record it had before. Records must come in
// ascending order.
func (c *Collection) Restore(id RecordID, doc bson.Raw) error {
	c.lastID = id - 1
	_, err := c.insert(doc, true)
	return err
}
