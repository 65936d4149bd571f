package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
)

// HideIndex hides an index from queries, or shows it again, and reports whether
// it was hidden. It is IndexNotFound where there is none of that name.
func (c *Collection) HideIndex(name string, hidden bool) (was bool, err error) {
	ix, err := c.index(name)
	if err != nil {
		return false, err
	}
	was = ix.hidden
	var v any
	if hidden {
		v = true
	}
	if _, err := c.SetIndexOption(name, "hidden", v); err != nil {
		return was, err
	}
	ix.hidden = hidden
	return was, nil
}

// SetIndexOption changes what an index was made with, without building it
// again; nil takes the option away. It gives the value before.
func (c *Collection) SetIndexOption(name, option string, v any) (before bson.RawValue, err error) {
	ix, err := c.index(name)
	if err != nil {
		return before, err
	}
	before = document.Lookup(ix.spec.Options, option)
	var options bson.D
	for n, old := range document.Fields(ix.spec.Options) {
		if string(n) != option {
			options = append(options, bson.E{Key: string(n), Value: old})
		}
	}
	if v != nil {
		options = append(options, bson.E{Key: option, Value: v})
	}
	c.noteIndexes()
	ix.spec.Options = nil
	if len(options) > 0 {
		ix.spec.Options, err = bson.Marshal(options)
	}
	return before, err
}

// IndexEntries counts the keys of each index by its name.
func (c *Collection) IndexEntries() map[string]int64 {
	counts := map[string]int64{}
	for _, ix := range c.indexes {
		counts[ix.spec.Name] = int64(ix.entries.Len())
	}
	return counts
}
