package mock

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mock/store"
)

// encode returns the document of what always encodes.
func encode(form any) []byte {
	raw, err := bson.Marshal(form)
	if err != nil {
		panic(fmt.Sprintf("state of the mock not encoded: %v", err)) // a bug
	}
	return raw
}

func storedIndexes(docs *store.Collection) []disk.Index {
	var stored []disk.Index
	for _, s := range docs.Indexes()[1:] { // every collection has the one on _id
		stored = append(stored, disk.Index{Name: s.Name, Key: s.Key, Unique: s.Unique, Sparse: s.Sparse, Options: s.Options})
	}
	return stored
}

func indexSpec(s disk.Index) store.IndexSpec {
	return store.IndexSpec{Name: s.Name, Key: s.Key, Unique: s.Unique, Sparse: s.Sparse, Options: s.Options}
}

func storeExtent(p catalog.KeyPattern, e extent) disk.Extent {
	return disk.Extent{Min: p.Bound(e.min), Max: p.Bound(e.max), Docs: e.docs, Bytes: e.bytes}
}

func extentOf(p catalog.KeyPattern, s disk.Extent) (e extent, err error) {
	e.docs, e.bytes = s.Docs, s.Bytes
	if e.min, err = p.Key(s.Min); err != nil {
		return e, err
	}
	e.max, err = p.Key(s.Max)
	return e, err
}
