package action

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/placement"
)

// findConflicts searches other shards for documents that have the same value of a unique index as a
// lone document. A range that contains both can't be moved.
func (d *documentAudit) findConflicts(ctx context.Context, c placement.Copy) error {
	if len(d.enforcedIndexes) == 0 {
		return nil
	}
	docs, err := d.findByID(ctx, d.shards.ReadableShard(c.Shard), d.coll.Namespace, c.Doc.Lookup("_id"))
	if err != nil || len(docs) == 0 {
		return err
	}
	for _, spec := range d.enforcedIndexes {
		q, ok := d.uniqueKeyQuery(docs[0], spec)
		if !ok {
			continue
		}
		for _, other := range d.shards.ReadableShards() {
			if other.ID == c.Shard {
				continue
			}
			same, err := d.find(ctx, other, d.coll.Namespace, q)
			if err != nil {
				return err
			}
			for _, doc := range same {
				if keyorder.Compare(doc.Lookup("_id"), c.Doc.Lookup("_id")) != 0 {
					d.addDuplicateKey(spec, []placement.Copy{c, {Shard: other.ID, Doc: doc}})
				}
			}
		}
	}
	return nil
}

// collationOf is the collation of an index, as a request has to name it; nil is that of the collection.
func (d *documentAudit) collationOf(index bson.Raw) bson.Raw {
	if collation := placement.CollationOf(index); collation != nil || d.collation == nil {
		return collation
	}
	return simpleCollation
}

var simpleCollation = bsonOf(bson.D{{Key: "locale", Value: "simple"}})

// uniqueKeyQuery selects the documents that have the same values of an index as a document; false if one of the
// values is an array or lies in one.
func (d *documentAudit) uniqueKeyQuery(doc, spec bson.Raw) (q holdings.DocumentQuery, ok bool) {
	key, _ := spec.Lookup("key").DocumentOK()
	for _, f := range catalog.FieldNames(key) {
		if inArray(doc, f) {
			return q, false
		}
		v, err := doc.LookupErr(strings.Split(f, ".")...)
		if err != nil {
			v = bson.RawValue{Type: bson.TypeNull}
		}
		q.Filter = append(q.Filter, bson.E{Key: f, Value: bson.D{{Key: "$eq", Value: v}}})
	}
	q.Collation = d.collationOf(spec)
	return q, len(q.Filter) > 0
}

// inArray reports whether a field is an array or lies in an array.
func inArray(doc bson.Raw, field string) bool {
	path := strings.Split(field, ".")
	for i := range path {
		if v, err := doc.LookupErr(path[:i+1]...); err == nil && v.Type == bson.TypeArray {
			return true
		}
	}
	return false
}

// addDuplicateKey records two documents with the same value of a unique index. It records them once for
// each index.
func (d *documentAudit) addDuplicateKey(spec bson.Raw, copies []placement.Copy) {
	name, _ := spec.Lookup("name").StringValueOK()
	text := "documents have the same value of the unique index " + name
	var shards []catalog.ShardID
	var ids []bson.RawValue
	var docs []placement.Document
	for _, c := range copies {
		shards = append(shards, c.Shard)
		ids = append(ids, c.Doc.Lookup("_id"))
		docs = append(docs, placement.Document{ID: extJSON(c.Doc.Lookup("_id")), Shard: c.Shard})
	}
	slices.Sort(shards)
	for i := range d.result.Findings {
		f := &d.result.Findings[i]
		if f.Kind == placement.DuplicateKey && f.Namespace == d.coll.Namespace && f.Text == text {
			f.Count++
			if len(f.Documents) < maxNamedDocuments {
				f.Documents = append(f.Documents, docs...)
			}
			f.Shards = slices.Compact(slices.Sorted(slices.Values(append(f.Shards, shards...))))
			return
		}
	}
	d.addFindings(placement.Finding{
		Kind: placement.DuplicateKey, Namespace: d.coll.Namespace, Shards: slices.Compact(shards), Count: 1,
		Text: text, Documents: docs, RepairCommands: placement.CommandsForDuplicateKey(d.coll.Namespace, ids),
	})
}

// checkShardLocalIndexes compares the values of unique indexes across shards: each shard enforces such
// an index only for its own documents.
func (d *documentAudit) checkShardLocalIndexes(ctx context.Context, indexes []bson.Raw) error {
	for _, spec := range indexes {
		key, _ := spec.Lookup("key").DocumentOK()
		var having []*holdings.Shard
		for _, s := range d.shards.ReadableShards() {
			specs, err := s.ReadIndexes(ctx, d.coll.Namespace)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(specs, func(o bson.Raw) bool { return isSameIndex(o, spec) }) {
				having = append(having, s)
			}
		}
		if len(having) < 2 {
			continue
		}
		d.report.note(fmt.Sprintf("%s: each shard enforces the unique index %s only for its own documents: reads it as "+
			"well.", d.coll.Namespace, spec.Lookup("name")))
		m := d.newMergedReader(having, spec, nil)
		err := m.Each(ctx, func(copies []placement.Copy) error {
			if err := d.pace(ctx, m, int64(len(copies))); err != nil {
				return err
			}
			if len(copies) < 2 || inArrays(copies[0].Doc, key) || d.countOwned(copies) < 2 {
				return nil
			}
			return d.confirmCollision(ctx, m, spec, copies)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isSameIndex reports whether two shards have the same index: its name, key and collation.
func isSameIndex(a, b bson.Raw) bool {
	return a.Lookup("name").Equal(b.Lookup("name")) && a.Lookup("key").Equal(b.Lookup("key")) &&
		bytes.Equal(placement.CollationOf(a), placement.CollationOf(b))
}

func inArrays(doc, key bson.Raw) bool {
	return slices.ContainsFunc(catalog.FieldNames(key), func(f string) bool { return inArray(doc, f) })
}

// countOwned returns the number of copies that are on the shards that own their keys.
func (d *documentAudit) countOwned(copies []placement.Copy) (n int) {
	for _, c := range copies {
		n += d.table.judge.Classify([]placement.Copy{c}).OwnedCount()
	}
	return n
}

// confirmCollision reads documents with the same value of an index twice before it records them.
func (d *documentAudit) confirmCollision(
	ctx context.Context, m *holdings.MergedReader, spec bson.Raw, copies []placement.Copy,
) error {
	m.CloseCursors(ctx)
	q, _ := d.uniqueKeyQuery(copies[0].Doc, spec)
	for range 2 {
		if err := d.cluster.Clock.Sleep(ctx, d.RereadPause); err != nil {
			return err
		}
		t, err := d.readTable(ctx, d.coll.Namespace, d.table)
		if err != nil {
			return err
		}
		d.table = t
		var now []placement.Copy
		for _, s := range m.Shards {
			docs, err := d.find(ctx, s, d.coll.Namespace, q)
			if err != nil {
				return err
			}
			for _, doc := range docs {
				if c := (placement.Copy{Shard: s.ID, Doc: doc}); d.countOwned([]placement.Copy{c}) == 1 {
					now = append(now, c)
				}
			}
		}
		if copies = now; len(now) < 2 {
			return nil
		}
	}
	d.addDuplicateKey(spec, copies)
	return nil
}
