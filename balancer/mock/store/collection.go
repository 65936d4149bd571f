package store

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/tree"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// RecordID identifies a document while it is in its collection. Ids
// grow in the order of insertion and are not used again.
type RecordID uint64

// Collection holds documents and their indexes. It is not safe for concurrent
// use, but its Snapshots are. An iteration or a Plan, once created, sees what
// the collection held at that moment and may run beside changes.
type Collection struct {
	// Namespace is what duplicate key errors name; it may be empty.
	Namespace string
	// Language is that of partial indexes.
	Language expr.Language

	records tree.Records[bson.Raw]
	indexes []*Index
	keys    []indexKeys // of a document that is being written
	lastID  RecordID
	bytes   int64
	writes  uint64
	tracker *changeTracker // nil keeps no notes of changes
	// cachedSnapshot is the newest snapshot while nothing has changed since; for a
	// snapshot, the snapshot itself.
	cachedSnapshot *Collection
}

// New makes an empty collection with the index on _id.
func New() *Collection {
	id := document.New(document.Field{Name: "_id", Value: value.Int32(1)})
	ix, err := newIndex(IndexSpec{Name: "_id_", Key: id, Unique: true}, expr.Language{})
	if err != nil {
		panic(fmt.Sprintf("the _id index: %v", err)) // a constant key pattern
	}
	return &Collection{indexes: []*Index{ix}}
}

// NewLog makes an empty collection without any index, such as an oplog: its
// documents need no _id.
func NewLog() *Collection { return &Collection{} }

// Snapshot returns the collection as it is now, for reading only, by any number
// of goroutines and for as long as they want. It takes constant time: what is
// written later copies the nodes of the trees on its way.
func (c *Collection) Snapshot() *Collection {
	if c.cachedSnapshot != nil && c.cachedSnapshot.Namespace == c.Namespace {
		return c.cachedSnapshot
	}
	s := &Collection{
		Namespace: c.Namespace,
		Language:  c.Language,
		records:   c.records.Copy(),
		lastID:    c.lastID,
		bytes:     c.bytes,
		writes:    c.writes,
	}
	s.indexes = make([]*Index, len(c.indexes))
	for i, ix := range c.indexes {
		copied := *ix
		copied.entries = ix.entries.Copy()
		s.indexes[i] = &copied
	}
	s.cachedSnapshot = s
	c.cachedSnapshot = s
	return s
}

// Count returns the number of documents.
func (c *Collection) Count() int64 { return int64(c.records.Len()) }

// Bytes returns the sum of the sizes of all documents.
func (c *Collection) Bytes() int64 { return c.bytes }

// Writes counts the changes of documents so far: while it stays the same, so do
// they.
func (c *Collection) Writes() uint64 { return c.writes }

// Insert adds a document, which must have been prepared; it is kept as it is
// and must not be changed afterwards. An index that does not admit it fails the
// insert and leaves everything as it was.
func (c *Collection) Insert(doc bson.Raw) (RecordID, error) { return c.insert(doc, false) }

// insert adds a document. A restored one may share a key
// with another in an index that is only prepared to be unique.
func (c *Collection) insert(doc bson.Raw, restored bool) (RecordID, error) {
	id := c.lastID + 1
	c.keys = slices.Grow(c.keys[:0], len(c.indexes))[:len(c.indexes)]
	for i, ix := range c.indexes {
		k := &c.keys[i]
		err := ix.readKeys(k, doc)
		if err == nil && (ix.spec.Unique || !restored) {
			err = ix.checkUnique(c.Namespace, k, id, doc)
		}
		if err != nil {
			return 0, err
		}
	}
	for i, ix := range c.indexes {
		ix.addKeys(&c.keys[i], id)
	}
	c.lastID = id
	c.records.Set(uint64(id), doc)
	c.bytes += int64(len(doc))
	c.noteRecord(id)
	return id, nil
}

// Update replaces a document. It fails with NoSuchKey when there is none of
// that id, and as Insert does.
func (c *Collection) Update(id RecordID, doc bson.Raw) error {
	old, ok := c.records.Get(uint64(id))
	if !ok {
		return servererr.New(mongoerr.NoSuchKey, "no record %d", id)
	}
	type change struct {
		ix               *Index
		oldKeys, newKeys indexKeys
	}
	var changes []change
	for _, ix := range c.indexes {
		newKeys, err := ix.keysOf(doc)
		if err != nil {
			return err
		}
		oldKeys, err := ix.keysOf(old)
		if err == nil && oldKeys.equal(newKeys) {
			continue
		}
		if err := ix.checkUnique(c.Namespace, &newKeys, id, doc); err != nil {
			return err
		}
		changes = append(changes, change{ix, oldKeys, newKeys})
	}
	for _, ch := range changes {
		ch.ix.removeKeys(&ch.oldKeys, id)
		ch.ix.addKeys(&ch.newKeys, id)
	}
	c.records.Set(uint64(id), doc)
	c.bytes += int64(len(doc)) - int64(len(old))
	c.noteRecord(id)
	return nil
}

// Delete removes a document, and reports whether there was one.
func (c *Collection) Delete(id RecordID) bool {
	doc, ok := c.records.Delete(uint64(id))
	if !ok {
		return false
	}
	for _, ix := range c.indexes {
		if keys, err := ix.keysOf(doc); err == nil {
			ix.removeKeys(&keys, id)
		}
	}
	c.bytes -= int64(len(doc))
	c.noteRecord(id)
	return true
}

// Get finds a document by its record.
func (c *Collection) Get(id RecordID) (bson.Raw, bool) { return c.records.Get(uint64(id)) }

// FindByID finds a document by its _id.
func (c *Collection) FindByID(id bson.RawValue) (RecordID, bson.Raw, bool) {
	if len(c.indexes) == 0 {
		return 0, nil, false
	}
	var buf [64]byte
	record, ok := c.indexes[0].entries.FirstRecord(keyorder.Append(buf[:0], id))
	if !ok {
		return 0, nil, false
	}
	doc, ok := c.records.Get(record)
	return RecordID(record), doc, ok
}

// maxPointDocs is how many documents FindPoint finds at most.
const maxPointDocs = 16

// FindPoint appends the documents that match a filter which asks for one value of one
// field, by the only index there is on the field, in the order that a Plan would
// have. ok is false where the filter or the indexes are others, or there are more
// documents than a few: then it takes a plan.
func (c *Collection) FindPoint(f *filter.Filter, into []bson.Raw) (docs []bson.Raw, ok bool) {
	field, v, ok := f.PointEquality()
	if !ok {
		return into, false
	}
	ix := c.pointIndex(field)
	if ix == nil {
		return into, false
	}
	var buf [64]byte
	key := keyorder.Append(buf[:0], v)
	looked := 0
	for id, has := range ix.entries.From(key) {
		if !bytes.Equal(has, key) {
			break
		}
		if looked++; looked > maxPointDocs {
			return into, false
		}
		if doc, _ := c.records.Get(id); f.Match(doc) {
			into = append(into, doc)
		}
	}
	return into, true
}

// pointIndex returns the index on a field alone; nil where there is none, another one
// begins with the field, it is walked from its end, or it does not have every document
// once.
func (c *Collection) pointIndex(field string) (found *Index) {
	for _, ix := range c.indexes {
		switch {
		case ix.fields[0].name != field:
		case found != nil || len(ix.fields) > 1 || ix.fields[0].hashed || ix.isDescending(0) || ix.IsMultikey() ||
			ix.spec.Sparse || ix.partialFilter != nil || ix.hidden || ix.special:
			return nil
		default:
			found = ix
		}
	}
	return found
}

// Scan walks all documents in the order of insertion, as they are now: later
// changes do not show.
func (c *Collection) Scan() iter.Seq2[RecordID, bson.Raw] {
	return c.ScanAfter(0)
}

// First returns the document that was inserted before all others; false when
// there is none.
func (c *Collection) First() (RecordID, bson.Raw, bool) {
	for id, doc := range c.records.All() {
		return RecordID(id), doc, true
	}
	return 0, nil, false
}

// LastID returns the newest record there has ever been; 0 before the first.
func (c *Collection) LastID() RecordID { return c.lastID }

// ScanAfter walks the documents behind a record, in the order of insertion.
func (c *Collection) ScanAfter(id RecordID) iter.Seq2[RecordID, bson.Raw] {
	snapshot := c.Snapshot()
	return func(yield func(RecordID, bson.Raw) bool) {
		for id, doc := range snapshot.records.From(uint64(id) + 1) {
			if !yield(RecordID(id), doc) {
				return
			}
		}
	}
}

// Documents is Scan without the records.
func (c *Collection) Documents() iter.Seq[bson.Raw] {
	snapshot := c.Snapshot()
	return func(yield func(bson.Raw) bool) {
		for _, doc := range snapshot.records.All() {
			if !yield(doc) {
				return
			}
		}
	}
}

// Find walks the documents that match, with the records they lie in. A
// document on which the filter fails does not match it; a caller that needs the error
// tests the Candidates.
func (c *Collection) Find(f *filter.Filter) iter.Seq2[RecordID, bson.Raw] {
	candidates := c.Candidates(f)
	return func(yield func(RecordID, bson.Raw) bool) {
		for id, doc := range candidates {
			if f.Match(doc) && !yield(id, doc) {
				return
			}
		}
	}
}

// Candidates walks documents among which are all that match: those an index
// gives, otherwise all in the order of insertion. They are as they are now:
// later changes do not show.
func (c *Collection) Candidates(f *filter.Filter) iter.Seq2[RecordID, bson.Raw] {
	p := &Plan{coll: c.Snapshot(), query: Query{Filter: f}}
	if f != nil {
		p.clauses = f.Clauses
	}
	return p.chooseBest().candidates(&Counts{})
}
