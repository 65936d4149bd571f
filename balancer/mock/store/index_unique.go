package store

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mongoerr"
)

// PrepareUnique makes an index refuse new duplicate keys, or admit them again,
// and reports whether it refused them. Duplicates that it has stay. It is
// IndexNotFound where there is none of that name.
func (c *Collection) PrepareUnique(name string, on bool) (was bool, err error) {
	ix, err := c.index(name)
	if err != nil {
		return false, err
	}
	was = ix.prepared
	var v any
	if on {
		v = true
	}
	if _, err := c.SetIndexOption(name, "prepareUnique", v); err != nil {
		return was, err
	}
	ix.prepared = on
	return was, nil
}

// Duplicates returns the _ids of documents that have a key of an index in
// common, group by group.
func (c *Collection) Duplicates(name string) ([]bson.A, error) {
	ix, err := c.index(name)
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

// MakeUnique makes a prepared index a unique one. There must be no duplicates.
func (c *Collection) MakeUnique(name string) error {
	if _, err := c.PrepareUnique(name, false); err != nil {
		return err
	}
	ix, err := c.index(name)
	if err != nil {
		return err
	}
	ix.spec.Unique = true
	c.noteIndexes()
	return nil
}

func (c *Collection) index(name string) (*Index, error) {
	at := slices.IndexFunc(c.indexes, func(ix *Index) bool { return ix.spec.Name == name })
	if at < 0 {
		return nil, servererr.New(mongoerr.IndexNotFound, "cannot find index %s", name)
	}
	return c.indexes[at], nil
}
