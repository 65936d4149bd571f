package mock

import (
	"bytes"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mock/store"
)

type capturedCollection struct {
	number     uint64
	lastPass   uint64
	docs       *store.Collection
	definition disk.Collection
	stored     []byte
	// local is nil for collections of the config server.
	local  *localCollection
	ranges *rangeWatch
	// neverWritten reports whether no documents of the collection were written yet.
	neverWritten bool
}

func (t *changeCapture) captureCollections(c *Cluster) {
	n := 0
	c.config.pendingLogs.flushAll(c.config.collections, c.config.logger)
	for ns, docs := range c.config.collections {
		t.captureCollection(disk.Collection{Shard: disk.ConfigNumber, Namespace: ns}, docs, nil)
		n++
	}
	for s, known := range t.shards {
		for ns, local := range s.colls {
			t.captureCollection(disk.Collection{Shard: int64(known.number), Namespace: ns, UUID: local.uuid}, local.docs, local)
			n++
		}
	}
	if n == len(t.colls) {
		return
	}
	for docs, known := range t.colls {
		if known.lastPass == t.pass {
			continue
		}
		t.emitEntry(disk.BucketCollections, disk.NumberKey(known.number), nil)
		t.emitEntry(disk.NumberedBucket(disk.BucketDocuments, known.number), nil, nil)
		if known.ranges != nil {
			t.emitEntry(disk.NumberedBucket(disk.BucketVirtualRanges, known.number), nil, nil)
		}
		delete(t.colls, docs)
	}
}

// captureCollection writes the definition of a collection; captureDocuments writes its documents later.
func (t *changeCapture) captureCollection(form disk.Collection, docs *store.Collection, local *localCollection) {
	known := t.colls[docs]
	if known == nil {
		known = &capturedCollection{number: t.nextNumber(), docs: docs, neverWritten: true}
		t.colls[docs] = known
		t.dirty = append(t.dirty, known)
	}
	known.lastPass = t.pass
	same := known.stored != nil && known.local == local &&
		known.definition.Shard == form.Shard && known.definition.Namespace == form.Namespace
	known.local = local
	if same && (local == nil || len(local.options) == 0 && len(known.definition.Options) == 0) {
		return
	}
	known.definition = form
	t.captureDefinition(known)
}

// captureDefinition writes a collection's entry if it has changed.
func (t *changeCapture) captureDefinition(known *capturedCollection) {
	known.definition.Options = nil
	if known.local != nil && len(known.local.options) > 0 {
		known.definition.Options = mustEncode(known.local.options)
	}
	known.definition.Indexes = storedIndexes(known.docs)
	if stored := mustEncode(known.definition); !bytes.Equal(known.stored, stored) {
		known.stored = stored
		t.emitEntry(disk.BucketCollections, disk.NumberKey(known.number), stored)
	}
}

// captureDocuments writes the changed documents of the collections that have reported changes.
func (t *changeCapture) captureDocuments() {
	dirty := t.dirty
	t.dirty = nil
	for _, known := range dirty {
		if t.colls[known.docs] != known {
			continue // dropped meanwhile
		}
		bucket := disk.NumberedBucket(disk.BucketDocuments, known.number)
		if known.neverWritten {
			known.neverWritten = false
			t.watchDocuments(known)
			for record, doc := range known.docs.Scan() {
				t.emitEntry(bucket, disk.NumberKey(uint64(record)), doc)
			}
			continue
		}
		changes := known.docs.TakeChanges()
		for _, record := range changes.Records {
			doc, _ := known.docs.Get(record)
			t.emitEntry(bucket, disk.NumberKey(uint64(record)), doc)
		}
		if changes.IndexesChanged {
			t.captureDefinition(known)
		}
	}
}

func (t *changeCapture) watchDocuments(known *capturedCollection) {
	if !t.singleUse {
		known.docs.TrackChanges(func() { t.dirty = append(t.dirty, known) })
	}
}

// rangeWatch holds the lower bounds at which virtual data has changed.
type rangeWatch struct{ changed map[catalog.Key]struct{} }

func (w *rangeWatch) note(min catalog.Key) {
	if w != nil {
		w.changed[min] = struct{}{}
	}
}

// captureVirtualRanges writes the changed virtual data, or all virtual data if it was recreated.
func (t *changeCapture) captureVirtualRanges(c *Cluster) {
	for _, known := range t.colls {
		l := known.local
		if l == nil || l.virtual.watch == nil && l.virtual.ranges == nil && known.ranges == nil {
			continue
		}
		table := c.config.Table(known.definition.Namespace)
		if table == nil {
			continue // virtual data belongs to chunks
		}
		bucket, p := disk.NumberedBucket(disk.BucketVirtualRanges, known.number), table.Pattern()
		if l.virtual.watch == nil || l.virtual.watch != known.ranges {
			t.rewriteVirtualRanges(known, bucket, p)
			continue
		}
		if len(known.ranges.changed) == 0 {
			continue
		}
		for min := range known.ranges.changed {
			var value []byte
			if e, ok := l.virtual.ranges.Get(virtualRange{min: min}); ok {
				value = mustEncode(storedRange(p, e))
			}
			t.emitEntry(bucket, disk.BoundKey(min), value)
		}
		clear(known.ranges.changed)
	}
}

func (t *changeCapture) rewriteVirtualRanges(known *capturedCollection, bucket string, p catalog.KeyPattern) {
	if known.ranges != nil {
		t.emitEntry(bucket, nil, nil)
	}
	for e := range known.local.virtual.all() {
		t.emitEntry(bucket, disk.BoundKey(e.min), mustEncode(storedRange(p, e)))
	}
	known.ranges = &rangeWatch{changed: map[catalog.Key]struct{}{}}
	if !t.singleUse {
		known.local.virtual.watch = known.ranges
	}
}

// mustEncode encodes a value that always encodes.
func mustEncode(form any) []byte {
	raw, err := bson.Marshal(form)
	if err != nil {
		panic(fmt.Sprintf("state of the mock not encoded: %v", err)) // a bug
	}
	return raw
}

func storedIndexes(docs *store.Collection) []disk.Index {
	var stored []disk.Index
	for _, s := range docs.Indexes()[1:] { // without the one on _id, which every collection has
		stored = append(stored, disk.Index{Name: s.Name, Key: s.Key, Unique: s.Unique, Sparse: s.Sparse, Options: s.Options})
	}
	return stored
}

func indexSpec(s disk.Index) store.IndexSpec {
	return store.IndexSpec{Name: s.Name, Key: s.Key, Unique: s.Unique, Sparse: s.Sparse, Options: s.Options}
}

func storedRange(p catalog.KeyPattern, e virtualRange) disk.VirtualRange {
	return disk.VirtualRange{Min: p.Bound(e.min), Max: p.Bound(e.max), Docs: e.docs, Bytes: e.bytes}
}

func parseRange(p catalog.KeyPattern, s disk.VirtualRange) (e virtualRange, err error) {
	e.docs, e.bytes = s.Docs, s.Bytes
	if e.min, err = p.ParseKey(s.Min); err != nil {
		return e, err
	}
	e.max, err = p.ParseKey(s.Max)
	return e, err
}
