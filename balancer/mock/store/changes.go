package store

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Changes are the changes of a collection since the last TakeChanges.
type Changes struct {
	// Records were inserted, updated or deleted; they are in order.
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

// TrackChanges starts to track the changes of a collection. onFirst is called at the first change, and at
// the first change after each TakeChanges.
func (c *Collection) TrackChanges(onFirst func()) {
	c.tracker = &changeTracker{onFirst: onFirst, records: map[RecordID]struct{}{}}
}

// TakeChanges returns the changes since the last call.
func (c *Collection) TakeChanges() Changes {
	w := c.tracker
	if w == nil {
		return Changes{}
	}
	taken := Changes{Records: slices.Sorted(maps.Keys(w.records)), IndexesChanged: w.indexesChanged}
	c.tracker = &changeTracker{onFirst: w.onFirst, records: map[RecordID]struct{}{}}
	return taken
}

func (c *changeTracker) reportFirst() {
	if len(c.records) == 0 && !c.indexesChanged {
		c.onFirst()
	}
}

// noteRecord records a write of a document.
func (c *Collection) noteRecord(id RecordID) {
	c.writes++
	c.cachedSnapshot = nil
	if c.tracker != nil {
		c.tracker.reportFirst()
		c.tracker.records[id] = struct{}{}
	}
}

// noteIndexes records a change of the indexes.
func (c *Collection) noteIndexes() {
	c.cachedSnapshot = nil
	if c.tracker != nil {
		c.tracker.reportFirst()
		c.tracker.indexesChanged = true
	}
}

// Restore inserts a document with its former record id. Record ids must be restored in ascending order.
func (c *Collection) Restore(id RecordID, doc bson.Raw) error {
	c.lastID = id - 1
	_, err := c.insert(doc, true)
	return err
}
