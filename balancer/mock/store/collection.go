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

// RecordID identifies a document in its collection. Record ids grow in insertion order and are never
// reused.
type RecordID uint64

// Collection stores documents and their indexes. It is not safe for concurrent use, but its Snapshots
// are. An iteration or a Plan reads the collection as it was when the iteration or Plan was created, and
// may run concurrently with changes.
type Collection struct {
	// Namespace is the namespace in duplicate key errors; it may be empty.
	Namespace string
	// Language is the expression language of partial indexes.
	Language expr.Language

	records tree.Records[bson.Raw]
	indexes []*Index
	keys    []indexKeys // buffer for the keys of a document that is being written
	lastID  RecordID
	bytes   int64
	writes  uint64
	tracker *changeTracker // nil if changes are not tracked
	// cachedSnapshot is the newest snapshot if nothing has changed since. A snapshot refers to itself.
	cachedSnapshot *Collection
}

// New returns an empty collection with the index on _id.
func New() *Collection {
	id := document.New(document.Field{Name: "_id", Value: value.Int32(1)})
	ix, err := newIndex(IndexSpec{Name: "_id_", Key: id, Unique: true}, expr.Language{})
	if err != nil {
		panic(fmt.Sprintf("the _id index: %v", err)) // cannot happen: the key pattern is constant
	}
	return &Collection{indexes: []*Index{ix}}
}

// NewLog returns an empty collection without indexes, such as an oplog. Its documents need no _id.
func NewLog() *Collection { return &Collection{} }

// Snapshot returns a read-only copy of the collection, which is safe for concurrent use and stays valid
// indefinitely. It takes constant time: later writes copy the nodes of the B-trees that they change.
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

// Bytes returns the total size of all documents.
func (c *Collection) Bytes() int64 { return c.bytes }

// Writes returns the number of document changes so far. If it is unchanged, so are the documents.
func (c *Collection) Writes() uint64 { return c.writes }

// Insert adds a prepared document. The document is stored without a copy and must not be changed
// afterwards. If an index rejects it, Insert fails and changes nothing.
func (c *Collection) Insert(doc bson.Raw) (RecordID, error) { return c.insert(doc, false) }

// insert adds a document. If restored is true, it may have a duplicate key in an index with
// prepareUnique.
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

// Update replaces a document. It fails with NoSuchKey if the record does not exist, and for the reasons
// of Insert.
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

// Delete removes a document and reports whether it existed.
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

// Get returns the document of a record id.
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

// maxEqualityDocs is the maximum number of documents that FindByEquality returns.
const maxEqualityDocs = 16

// FindByEquality appends the documents that match a filter which requires one value of one field. It uses the
// only index on that field and returns the documents in the order of a Plan. ok is false if the filter
// or the indexes have another form, or if more than maxEqualityDocs documents match. The caller then needs
// a Plan.
func (c *Collection) FindByEquality(f *filter.Filter, into []bson.Raw) (docs []bson.Raw, ok bool) {
	field, v, ok := f.PointEquality()
	if !ok {
		return into, false
	}
	ix := c.equalityIndex(field)
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
		if looked++; looked > maxEqualityDocs {
			return into, false
		}
		if doc, _ := c.records.Get(id); f.Match(doc) {
			into = append(into, doc)
		}
	}
	return into, true
}

// equalityIndex returns the single-field index on a field. It returns nil if there is none, if another
// index begins with the field, if the index is descending, or if it does not have exactly one entry for
// each document.
func (c *Collection) equalityIndex(field string) (found *Index) {
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

// Scan iterates over all documents in insertion order, as of the time of the call.
func (c *Collection) Scan() iter.Seq2[RecordID, bson.Raw] {
	return c.ScanAfter(0)
}

// First returns the oldest document; false if the collection is empty.
func (c *Collection) First() (RecordID, bson.Raw, bool) {
	for id, doc := range c.records.All() {
		return RecordID(id), doc, true
	}
	return 0, nil, false
}

// LastID returns the highest record id so far; 0 before the first insert.
func (c *Collection) LastID() RecordID { return c.lastID }

// ScanAfter iterates over the documents after a record id in insertion order.
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

// Documents is like Scan, without the record ids.
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

// Find iterates over the matching documents and their record ids. A document for which the filter fails
// does not match. Callers that need the error must test the Candidates.
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

// Candidates iterates over a superset of the matching documents: the documents that an index returns, or
// all in insertion order. It reads the collection as of the time of the call.
func (c *Collection) Candidates(f *filter.Filter) iter.Seq2[RecordID, bson.Raw] {
	p := &Plan{coll: c.Snapshot(), query: Query{Filter: f}}
	if f != nil {
		p.clauses = f.Clauses
	}
	return p.chooseBest().candidates(&Counts{})
}
