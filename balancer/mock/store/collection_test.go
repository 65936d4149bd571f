package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

func insert(t testing.TB, c *Collection, docs ...string) []RecordID {
	t.Helper()
	var ids []RecordID
	for _, d := range docs {
		id, err := c.Insert(storetest.Raw(t, d))
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestCollectionCountsAndSizes(t *testing.T) {
	c := New()
	ids := insert(t, c, `{"_id": 1, "s": "a"}`, `{"_id": 2, "s": "bcd"}`)
	size := int64(len(storetest.Raw(t, `{"_id": 1, "s": "a"}`)) + len(storetest.Raw(t, `{"_id": 2, "s": "bcd"}`)))
	if c.Count() != 2 || c.Bytes() != size {
		t.Fatalf("count %d, bytes %d, want 2, %d", c.Count(), c.Bytes(), size)
	}
	if err := c.Update(ids[0], storetest.Raw(t, `{"_id": 1, "s": "aaaa"}`)); err != nil {
		t.Fatal(err)
	}
	if c.Bytes() != size+3 {
		t.Errorf("bytes %d after growing by 3, want %d", c.Bytes(), size+3)
	}
	if !c.Delete(ids[1]) || c.Delete(ids[1]) {
		t.Error("a document can be deleted once")
	}
	if c.Count() != 1 || c.Bytes() != int64(len(storetest.Raw(t, `{"_id": 1, "s": "aaaa"}`))) {
		t.Errorf("count %d, bytes %d", c.Count(), c.Bytes())
	}
	if err := c.Update(ids[1], storetest.Raw(t, `{"_id": 2}`)); err == nil {
		t.Error("updated a document that is gone")
	}
}

func TestCollectionFindsByID(t *testing.T) {
	c := New()
	ids := insert(t, c, `{"_id": 1}`, `{"_id": "a"}`, `{"_id": {"x": 1}}`)
	for i, id := range []bson.RawValue{value.Double(1), value.String("a"), value.Object(storetest.Raw(t, `{"x": 1}`))} {
		rid, doc, ok := c.FindByID(id)
		if !ok || rid != ids[i] || doc == nil {
			t.Errorf("%s: got %d, %v", id, rid, ok)
		}
	}
	if _, _, ok := c.FindByID(value.Int32(2)); ok {
		t.Error("found what is not there")
	}
}

func TestDuplicateKeys(t *testing.T) {
	c := New()
	c.Namespace = "d.c"
	insert(t, c, `{"_id": 1, "a": 5}`)
	if err := c.CreateIndex(IndexSpec{Name: "a_1", Key: storetest.Raw(t, `{"a": 1}`), Unique: true}); err != nil {
		t.Fatal(err)
	}
	for doc, want := range map[string]string{
		`{"_id": {"$numberLong": "1"}, "a": 6}`: `{"keyPattern": {"_id": 1}, "keyValue": {"_id": {"$numberLong": "1"}}}`,
		`{"_id": 2, "a": 5.0}`:                  `{"keyPattern": {"a": 1}, "keyValue": {"a": 5.0}}`,
		`{"_id": 2, "a": [7, 5]}`:               `{"keyPattern": {"a": 1}, "keyValue": {"a": 5}}`,
	} {
		_, err := c.Insert(storetest.Raw(t, doc))
		var e *mongoerr.ServerError
		if !errors.As(err, &e) || e.Code != mongoerr.DuplicateKey {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		extra, err := bson.Marshal(e.Extra)
		if err != nil {
			t.Fatal(err)
		}
		if want := storetest.Raw(t, want); !bytes.Equal(extra, want) {
			t.Errorf("%s: extra %s, want %s", doc, bson.Raw(extra), want)
		}
	}
	if c.Count() != 1 || indexLen(c, "a_1") != 1 {
		t.Error("a refused insert left something behind")
	}
	// Two missing fields are two nulls, and a document may keep its own key.
	ids := insert(t, c, `{"_id": 3}`)
	if _, err := c.Insert(storetest.Raw(t, `{"_id": 4, "a": null}`)); storetest.CodeOf(err) != 11000 {
		t.Errorf("second null: %v", err)
	}
	if err := c.Update(ids[0], storetest.Raw(t, `{"_id": 3, "b": 1}`)); err != nil {
		t.Error(err)
	}
}

func TestPrepareInsert(t *testing.T) {
	fixed := bson.ObjectID{1, 2, 3}
	newID := func() bson.ObjectID { return fixed }
	for _, tc := range []struct {
		doc, want string
		code      int32
	}{
		{doc: `{"a": 1}`, want: `{"_id": {"$oid": "010203000000000000000000"}, "a": 1}`},
		{doc: `{"a": 1, "_id": 5, "b": 2}`, want: `{"_id": 5, "a": 1, "b": 2}`},
		{doc: `{"_id": null}`, want: `{"_id": null}`},
		{doc: `{"_id": [1]}`, code: 53},
		{doc: `{"_id": {"$regularExpression": {"pattern": "a", "options": ""}}}`, code: 53},
		{doc: `{"_id": {"$undefined": true}}`, code: 53},
		{doc: `{"_id": {"$x": 1}}`, code: 52},
	} {
		got, err := update.PrepareInsert(storetest.Raw(t, tc.doc), newID)
		if storetest.CodeOf(err) != tc.code {
			t.Errorf("%s: code %d (%v), want %d", tc.doc, storetest.CodeOf(err), err, tc.code)
		} else if err == nil && !bytes.Equal(got, storetest.Raw(t, tc.want)) {
			t.Errorf("%s: got %s", tc.doc, got)
		}
	}
	big := document.New(document.Field{Name: "_id", Value: value.Int32(1)},
		document.Field{Name: "s", Value: value.String(string(make([]byte, document.MaxSize)))})
	if _, err := update.PrepareInsert(big, newID); storetest.CodeOf(err) != 10334 {
		t.Errorf("too large: %v", err)
	}
}

// A scan shows what was there when it began.
func TestScansAreSnapshots(t *testing.T) {
	c := New()
	for i := range 300 {
		insert(t, c, fmt.Sprintf(`{"_id": %d, "k": %d}`, i, i))
	}
	n := 0
	for id, doc := range c.Scan() {
		n++
		c.Delete(id)
		insert(t, c, fmt.Sprintf(`{"_id": %d}`, 1000+n))
		if document.Lookup(doc, "k").Type == 0 {
			t.Fatal("a scan came to a document inserted during it")
		}
	}
	if n != 300 || c.Count() != 300 {
		t.Errorf("scanned %d, left %d", n, c.Count())
	}
	ix, _ := c.IndexFor(storetest.Raw(t, `{"_id": 1}`))
	n = 0
	for id := range c.ScanIndex(ix, nil, nil) {
		n++
		c.Delete(id)
	}
	if n != 300 || c.Count() != 0 || c.Bytes() != 0 || ix.Len() != 0 {
		t.Errorf("scanned %d, left %d documents, %d bytes, %d entries", n, c.Count(), c.Bytes(), ix.Len())
	}
}

// After any sequence of changes the indexes hold the keys of the documents,
// finding by an index equals reading everything, and the sizes add up.
func TestCollectionInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New()
		for _, s := range []IndexSpec{
			{Name: "a", Key: document.New(document.Field{Name: "a", Value: value.Int32(1)})},
			{Name: "bc_a", Key: document.New(document.Field{Name: "b.c", Value: value.Int32(1)},
				document.Field{Name: "_id", Value: value.Int32(-1)})},
		} {
			if err := c.CreateIndex(s); err != nil {
				t.Fatal(err)
			}
		}
		model := map[RecordID]bson.Raw{}
		next := int32(0)
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				next++
				doc, _ := update.PrepareInsert(document.WithField(storetest.SmallDocuments.Draw(t, "doc"), "_id", value.Int32(next)),
					nil)
				id, err := c.Insert(doc)
				if err != nil {
					t.Fatal(err)
				}
				model[id] = doc
			},
			"update": func(t *rapid.T) {
				id, ok := anyRecord(t, model)
				if !ok {
					t.Skip()
				}
				doc, _ := update.PrepareInsert(document.WithField(storetest.SmallDocuments.Draw(t, "doc"), "_id",
					document.Lookup(model[id], "_id")), nil)
				if err := c.Update(id, doc); err != nil {
					t.Fatal(err)
				}
				model[id] = doc
			},
			"delete": func(t *rapid.T) {
				id, ok := anyRecord(t, model)
				if !ok {
					t.Skip()
				}
				c.Delete(id)
				delete(model, id)
			},
			"find": func(t *rapid.T) {
				path := rapid.SampledFrom([]string{"a", "b.c", "_id"}).Draw(t, "path")
				f, err := filter.Compile(document.New(document.Field{Name: path,
					Value: expr.OrNull(storetest.SmallValues.Draw(t, "value"))}))
				if err != nil {
					t.Fatal(err)
				}
				var got, want []RecordID
				for id := range c.Find(f) {
					got = append(got, id)
				}
				for id, doc := range model {
					if f.Match(doc) {
						want = append(want, id)
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Fatalf("found %v, want %v", got, want)
				}
			},
			"": func(t *rapid.T) { checkCollection(t, c, model) },
		})
	})
}

func anyRecord(t *rapid.T, model map[RecordID]bson.Raw) (RecordID, bool) {
	var ids []RecordID
	for id := range model {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return 0, false
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "record"), true
}

func checkCollection(t *rapid.T, c *Collection, model map[RecordID]bson.Raw) {
	size := int64(0)
	for _, doc := range model {
		size += int64(len(doc))
	}
	if c.Count() != int64(len(model)) || c.Bytes() != size {
		t.Fatalf("count %d, bytes %d, want %d, %d", c.Count(), c.Bytes(), len(model), size)
	}
	for _, ix := range c.indexes {
		type indexEntry struct {
			key []byte
			id  RecordID
		}
		var want []indexEntry
		for id, doc := range model {
			keys, err := ix.keysOf(doc)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range keys.keys {
				want = append(want, indexEntry{k, id})
			}
		}
		slices.SortFunc(want, func(a, b indexEntry) int {
			return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
		})
		i := 0
		for id, key := range c.ScanIndex(ix, nil, nil) {
			if i >= len(want) || want[i].id != id || !bytes.Equal(want[i].key, key) {
				t.Fatalf("%s: entry %d differs", ix.spec.Name, i)
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%s: %d entries, want %d", ix.spec.Name, i, len(want))
		}
	}
}

func BenchmarkInsert(b *testing.B) {
	c := New()
	if err := c.CreateIndex(IndexSpec{Name: "k", Key: document.New(document.Field{Name: "k",
		Value: value.Int32(1)})}); err != nil {
		b.Fatal(err)
	}
	i := int32(0)
	for b.Loop() {
		i++
		if _, err := c.Insert(document.New(document.Field{Name: "_id", Value: value.Int32(i)},
			document.Field{Name: "k", Value: value.Int32(i * 7919)})); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScanIndex(b *testing.B) {
	c := New()
	for i := range int32(100_000) {
		if _, err := c.Insert(document.New(document.Field{Name: "_id", Value: value.Int32(i)})); err != nil {
			b.Fatal(err)
		}
	}
	ix, _ := c.IndexFor(document.New(document.Field{Name: "_id", Value: value.Int32(1)}))
	for b.Loop() {
		n := 0
		for range c.ScanIndex(ix, nil, nil) {
			n++
		}
		if n != 100_000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	f, err := filter.Compile(storetest.Raw(b, `{"a": {"$gte": 5, "$lt": 9}, "s": {"$in": ["x", "y"]}}`))
	if err != nil {
		b.Fatal(err)
	}
	doc := storetest.Raw(b, `{"_id": 1, "a": 7, "b": {"c": [1, 2, 3]}, "s": "y"}`)
	b.ReportAllocs()
	for b.Loop() {
		if !f.Match(doc) {
			b.Fatal("no match")
		}
	}
}
