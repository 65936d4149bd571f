package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// HideIndex hides an index from queries, or shows it again, and tells whether
// it was hidden. It is IndexNotFound where there is none of that name.
func (c *Collection) HideIndex(name string, hidden bool) (was bool, err error) {
	at := slices.IndexFunc(c.indexes, func(ix *Index) bool { return ix.spec.Name == name })
	if at < 0 {
		return false, serverError(mongoerr.IndexNotFound, "cannot find index %s", name)
	}
	ix := c.indexes[at]
	was = ix.hidden
	var options bson.D
	if ix.spec.Options != nil {
		if err := bson.Unmarshal(ix.spec.Options, &options); err != nil {
			return was, err
		}
	}
	options = slices.DeleteFunc(options, func(e bson.E) bool { return e.Key == "hidden" })
	if hidden {
		options = append(options, bson.E{Key: "hidden", Value: true})
	}
	c.noteIndexes()
	ix.hidden, ix.spec.Options = hidden, nil
	if len(options) > 0 {
		ix.spec.Options, err = bson.Marshal(options)
	}
	return was, err
}

// IndexEntries counts the keys of each index by its name.
func (c *Collection) IndexEntries() map[string]int64 {
	counts := map[string]int64{}
	for _, ix := range c.indexes {
		counts[ix.spec.Name] = int64(ix.entries.Len())
	}
	return counts
}
