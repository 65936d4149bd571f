package store

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/storetest"
)

func indexLen(c *Collection, name string) int {
	for _, ix := range c.indexes {
		if ix.spec.Name == name {
			return ix.Len()
		}
	}
	return -1
}

func TestIndexKeys(t *testing.T) {
	for _, tc := range []struct {
		key, doc string
		sparse   bool
		want     []string // each a document of the values in the key
		code     int32
	}{
		{key: `{"a": 1}`, doc: `{"a": 5}`, want: []string{`[5]`}},
		{key: `{"a": 1}`, doc: `{}`, want: []string{`[null]`}},
		{key: `{"a": 1}`, doc: `{}`, sparse: true},
		{key: `{"a": 1, "b": 1}`, doc: `{"b": 1}`, sparse: true, want: []string{`[null, 1]`}},
		{key: `{"a.b": 1}`, doc: `{"a": {"b": 1}}`, want: []string{`[1]`}},
		{key: `{"a": 1}`, doc: `{"a": [3, 1, 3]}`, want: []string{`[1]`, `[3]`}},
		{key: `{"a": 1, "b": 1}`, doc: `{"a": [1, 2], "b": 7}`, want: []string{`[1, 7]`, `[2, 7]`}},
		{key: `{"a.b": 1, "a.c": 1}`, doc: `{"a": [{"b": 1, "c": 2}, {"b": 3}]}`, want: []string{`[1, 2]`, `[3, null]`}},
		{key: `{"a.b": 1}`, doc: `{"a": [1, {"b": 2}]}`, want: []string{`[null]`, `[2]`}},
		{key: `{"a": 1}`, doc: `{"a": []}`, want: []string{`[{"$undefined": true}]`}},
		{key: `{"a": 1}`, doc: `{"a": [[1, 2]]}`, want: []string{`[[1, 2]]`}},
		{key: `{"a.0": 1}`, doc: `{"a": [7, 8]}`, want: []string{`[7]`}},
		{key: `{"a": 1, "b": 1}`, doc: `{"a": [1], "b": [2]}`, code: 171},
		{key: `{"a": "hashed"}`, doc: `{"a": [1]}`, code: 16766},
	} {
		t.Run(tc.key+tc.doc, func(t *testing.T) {
			ix, err := newIndex(IndexSpec{Key: storetest.Raw(t, tc.key), Sparse: tc.sparse}, expr.Language{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := ix.keysOf(storetest.Raw(t, tc.doc))
			if storetest.CodeOf(err) != tc.code {
				t.Fatalf("code %d (%v), want %d", storetest.CodeOf(err), err, tc.code)
			}
			var want [][]byte
			for _, w := range tc.want {
				var key []byte
				for _, v := range document.Fields(document.Lookup(storetest.Raw(t, `{"v":`+w+`}`), "v").Value) {
					key = keyorder.Append(key, v)
				}
				want = append(want, key)
			}
			if !slices.EqualFunc(got.keys, want, bytes.Equal) {
				t.Errorf("got %x, want %x", got.keys, want)
			}
		})
	}
}

func TestHashedIndexScan(t *testing.T) {
	c := New()
	if err := c.CreateIndex(IndexSpec{Name: "h", Key: storetest.Raw(t, `{"k": "hashed", "z": 1}`)}); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		insert(t, c, fmt.Sprintf(`{"_id": %d, "k": %d}`, i, i))
	}
	ix, ok := c.IndexFor(storetest.Raw(t, `{"k": "hashed"}`))
	if !ok {
		t.Fatal("no index for the shard key")
	}
	var last []byte
	n := 0
	for id, key := range c.ScanIndex(ix, keyorder.AppendInt64(nil, 0), nil) {
		doc, _ := c.Get(id)
		if h := keyorder.Hash(document.Lookup(doc, "k")); h < 0 || !bytes.HasPrefix(key, keyorder.AppendInt64(nil, h)) {
			t.Errorf("%s has hash %d", doc, h)
		}
		if bytes.Compare(last, key) >= 0 {
			t.Error("keys out of order")
		}
		last = key
		n++
	}
	if n == 0 || n == 50 {
		t.Errorf("%d of 50 hashes are positive", n)
	}
}

func TestIndexAdministration(t *testing.T) {
	c := New()
	create := func(name, key string, unique bool) int32 {
		return storetest.CodeOf(c.CreateIndex(IndexSpec{Name: name, Key: storetest.Raw(t, key), Unique: unique}))
	}
	for _, tc := range []struct {
		name, key string
		unique    bool
		code      int32
	}{
		{"a_1", `{"a": 1}`, false, 0},
		{"a_1", `{"a": 1}`, false, 0},
		{"other", `{"a": 1}`, false, 85},
		{"a_1", `{"a": 1}`, true, 86},
		{"a_1", `{"b": 1}`, false, 86},
		{"x", `{}`, false, 67},
		{"x", `{"a": 0}`, false, 67},
		{"x", `{"a": true}`, false, 67},
		{"x", `{"a..b": 1}`, false, 67},
		{"x", `{"a": "nope"}`, false, 67},
		{"x", `{"a": "hashed", "b": "hashed"}`, false, 31303},
		{"_id_", `{"_id": 1}`, false, 0},
	} {
		if got := create(tc.name, tc.key, tc.unique); got != tc.code {
			t.Errorf("%s %s: code %d, want %d", tc.name, tc.key, got, tc.code)
		}
	}
	if names := indexNames(c); !slices.Equal(names, []string{"_id_", "a_1"}) {
		t.Errorf("indexes %v", names)
	}
	if storetest.CodeOf(c.DropIndex("_id_")) != 72 || storetest.CodeOf(c.DropIndex("nope")) != 27 ||
		c.DropIndex("a_1") != nil {
		t.Error("dropping indexes")
	}
	if _, ok := c.IndexFor(storetest.Raw(t, `{"a": 1}`)); ok {
		t.Error("found an index that was dropped")
	}
}

func indexNames(c *Collection) (names []string) {
	for _, s := range c.Indexes() {
		names = append(names, s.Name)
	}
	return names
}

func TestIndexFor(t *testing.T) {
	c := New()
	for _, s := range []IndexSpec{
		{Name: "sparse", Key: storetest.Raw(t, `{"a": 1}`), Sparse: true},
		{Name: "partial", Key: storetest.Raw(t, `{"a": 1, "x": 1}`),
			Options: storetest.Raw(t, `{"partialFilterExpression": {"z": 1}}`)},
		{Name: "descending", Key: storetest.Raw(t, `{"a": -1, "b": 1}`)},
		{Name: "good", Key: storetest.Raw(t, `{"a": 1.0, "b": -1}`)},
	} {
		if err := c.CreateIndex(s); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{
		`{"a": 1}`: "good", `{"a": 1, "b": -1}`: "good", `{"a": -1}`: "descending",
		`{"b": 1}`: "", `{"a": 1, "b": 1}`: "", `{"a": "hashed"}`: "", `{"_id": 1}`: "_id_",
	} {
		ix, ok := c.IndexFor(storetest.Raw(t, prefix))
		if ok != (want != "") || ok && ix.Spec().Name != want {
			t.Errorf("%s: found %v", prefix, ok)
		}
	}
}

func TestPartialIndexLeavesOthersOut(t *testing.T) {
	c := New()
	spec := IndexSpec{Name: "p", Key: storetest.Raw(t, `{"a": 1}`), Unique: true,
		Options: storetest.Raw(t, `{"partialFilterExpression": {"z": 1}}`)}
	if err := c.CreateIndex(spec); err != nil {
		t.Fatal(err)
	}
	insert(t, c, `{"_id": 1, "a": 1}`, `{"_id": 2, "a": 1}`, `{"_id": 3, "a": 1, "z": 1}`)
	if _, err := c.Insert(storetest.Raw(t, `{"_id": 4, "a": 1, "z": 1}`)); storetest.CodeOf(err) != 11000 {
		t.Errorf("got %v", err)
	}
	if n := indexLen(c, "p"); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}
