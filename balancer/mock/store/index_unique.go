package store

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mongoerr"
)

// SetPrepareUnique makes an index reject or accept new duplicate keys, and reports whether it rejected
// them before. Existing duplicates stay. It fails with IndexNotFound if the index does not exist.
func (c *Collection) SetPrepareUnique(name string, on bool) (wasPrepared bool, err error) {
	return c.setIndexFlag(name, "prepareUnique", on, func(ix *Index) *bool { return &ix.preparedUnique })
}

// DuplicateGroups returns, for each duplicate key of an index, the _ids of the documents that have the
// key.
func (c *Collection) DuplicateGroups(name string) ([]bson.A, error) {
	ix, err := c.findIndex(name)
	if err != nil {
		return nil, err
	}
	var groups []bson.A
	var group bson.A
	var last []byte
	flush := func() {
		if len(group) > 1 {
			groups = append(groups, group)
		}
		group = nil
	}
	for id, key := range ix.entries.All() {
		if !bytes.Equal(key, last) || group == nil {
			flush()
		}
		last = key
		doc, _ := c.Get(RecordID(id))
		group = append(group, doc.Lookup("_id"))
	}
	flush()
	return groups, nil
}

// MakeUnique converts a prepared index to a unique index. The index must have no duplicates.
func (c *Collection) MakeUnique(name string) error {
	if _, err := c.SetPrepareUnique(name, false); err != nil {
		return err
	}
	ix, err := c.findIndex(name)
	if err != nil {
		return err
	}
	ix.spec.Unique = true
	c.noteIndexes()
	return nil
}

func (c *Collection) findIndex(name string) (*Index, error) {
	at := slices.IndexFunc(c.indexes, func(ix *Index) bool { return ix.spec.Name == name })
	if at < 0 {
		return nil, servererr.New(mongoerr.IndexNotFound, "cannot find index %s", name)
	}
	return c.indexes[at], nil
}
