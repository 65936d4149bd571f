package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
)

// SetIndexHidden hides or unhides an index and reports whether it was hidden before. It fails with
// IndexNotFound if the index does not exist.
func (c *Collection) SetIndexHidden(name string, hidden bool) (wasHidden bool, err error) {
	return c.setIndexFlag(name, "hidden", hidden, func(ix *Index) *bool { return &ix.hidden })
}

// setIndexFlag sets an option that is true or missing, and its field of the index.
func (c *Collection) setIndexFlag(name, option string, on bool, field func(*Index) *bool) (before bool, err error) {
	ix, err := c.findIndex(name)
	if err != nil {
		return false, err
	}
	flag := field(ix)
	before = *flag
	var v any
	if on {
		v = true
	}
	if _, err := c.SetIndexOption(name, option, v); err != nil {
		return before, err
	}
	*flag = on
	return before, nil
}

// SetIndexOption changes an option of an index without rebuilding it; nil removes the option. It returns
// the previous value.
func (c *Collection) SetIndexOption(name, option string, v any) (before bson.RawValue, err error) {
	ix, err := c.findIndex(name)
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

// IndexEntryCounts returns the number of entries of each index by name.
func (c *Collection) IndexEntryCounts() map[string]int64 {
	counts := map[string]int64{}
	for _, ix := range c.indexes {
		counts[ix.spec.Name] = int64(ix.entries.Len())
	}
	return counts
}
