package placement

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// Holding is the state of a collection on a shard.
type Holding struct {
	Shard   catalog.ShardID
	Host    string // its connection string
	UUID    bson.Binary
	Options bson.Raw
	Indexes []bson.Raw
	// Docs is the shard's document count.
	Docs int64
}

// Collection is a collection, with its state on the shards.
type Collection struct {
	catalog.Collection // its entry; only Namespace is set if the collection is not Tracked
	Tracked            bool
	// Primary is the primary shard of its database.
	Primary catalog.ShardID
	// Owners own chunks. Unreadable are the shards whose state could not be read.
	Owners, Unreadable []catalog.ShardID
	Holdings           []Holding
}

// FindDifferences finds differences between the state of the shards and the expected state.
func (c *Collection) FindDifferences() (list []Finding) {
	if !c.Tracked {
		return c.findMisplaced(c.Primary)
	}
	if c.Unsplittable {
		list = c.findMisplaced(c.Owners...)
	}
	owning := c.owningHoldings()
	list = append(list, c.compareUUIDs()...)
	list = append(list, c.findAbsent(owning)...)
	list = append(list, c.compareOptions(owning)...)
	return append(list, c.compareIndexes(owning)...)
}

// Collation is the default collation of the collection; nil is the simple one.
func (c *Collection) Collation() bson.Raw {
	for _, h := range c.Holdings {
		if collation := CollationOf(h.Options); collation != nil {
			return collation
		}
	}
	return nil
}

// IsTimeSeries reports whether it is a time series, or the buckets of one.
func (c *Collection) IsTimeSeries() bool {
	return slices.ContainsFunc(c.Holdings, func(h Holding) bool {
		_, ok := h.Options.Lookup("timeseries").DocumentOK()
		return ok
	})
}

func (c *Collection) newFinding(k FindingKind, shards []catalog.ShardID, text string, mend []string) Finding {
	n := int64(max(1, len(shards)))
	return Finding{Kind: k, Namespace: c.Namespace, Shards: shards, Count: n, Text: text, RepairCommands: mend}
}

// findMisplaced finds shards that have the collection but should not.
func (c *Collection) findMisplaced(expected ...catalog.ShardID) (list []Finding) {
	for _, h := range c.Holdings {
		if slices.Contains(expected, h.Shard) || len(expected) == 0 || expected[0] == "" {
			continue
		}
		f := c.newFinding(CollectionMisplaced, []catalog.ShardID{h.Shard},
			fmt.Sprintf("%s has it, with %s, but it belongs only on %s",
				h.Shard, humanize.Count(h.Docs, "document"), expected[0]), commandsForMisplaced(c.Namespace, h))
		f.Count = max(1, h.Docs)
		list = append(list, f)
	}
	return list
}

// owningHoldings returns the holdings of the shards that own chunks.
func (c *Collection) owningHoldings() (list []Holding) {
	for _, h := range c.Holdings {
		if slices.Contains(c.Owners, h.Shard) {
			list = append(list, h)
		}
	}
	return list
}

func (c *Collection) compareUUIDs() (list []Finding) {
	for _, h := range c.Holdings {
		if !h.UUID.Equal(c.UUID) {
			list = append(list, c.newFinding(UUIDDiffers, []catalog.ShardID{h.Shard}, fmt.Sprintf(
				"%s has it with the UUID %x, the config database has %x", h.Shard, h.UUID.Data, c.UUID.Data),
				commandsForMisplaced(c.Namespace, h)))
		}
	}
	return list
}

func (c *Collection) findAbsent(owning []Holding) (list []Finding) {
	for _, id := range c.Owners {
		has := slices.ContainsFunc(owning, func(h Holding) bool { return h.Shard == id })
		if !has && !slices.Contains(c.Unreadable, id) {
			list = append(list, c.newFinding(CollectionAbsent, []catalog.ShardID{id},
				fmt.Sprintf("%s owns chunks of it and has no such collection", id), commandsForAbsent(c.Namespace)))
		}
	}
	return list
}

// variant is a value that some shards have.
type variant struct {
	value  bson.Raw
	shards []catalog.ShardID
}

// variants groups holdings by a value, the most common value first. Of equally common values, that of
// the primary shard comes first.
func (c *Collection) variants(list []Holding, value func(Holding) bson.Raw) (all []variant) {
	for _, h := range list {
		v := value(h)
		i := slices.IndexFunc(all, func(o variant) bool { return bytes.Equal(o.value, v) })
		if i < 0 {
			i, all = len(all), append(all, variant{value: v})
		}
		all[i].shards = append(all[i].shards, h.Shard)
	}
	primary := func(v variant) int {
		if slices.Contains(v.shards, c.Primary) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b variant) int {
		return cmp.Or(cmp.Compare(len(b.shards), len(a.shards)), cmp.Compare(primary(a), primary(b)))
	})
	return all
}

func (c *Collection) compareOptions(owning []Holding) (list []Finding) {
	all := c.variants(owning, func(h Holding) bson.Raw { return withoutFields(h.Options, "uuid") })
	if len(all) < 2 {
		return nil
	}
	var parts []string
	var differ []catalog.ShardID
	for i, v := range all {
		parts = append(parts, fmt.Sprintf("%s on %s", humanize.Literal(v.value), humanize.Join(v.shards, ", ")))
		if i > 0 {
			differ = append(differ, v.shards...)
		}
	}
	return []Finding{c.newFinding(OptionsDiffer, differ, "options differ: "+strings.Join(parts, ", "),
		commandsForOptions(c.Namespace, all[0].value, all[1:]))}
}

// compareIndexes compares indexes by their names.
func (c *Collection) compareIndexes(owning []Holding) (list []Finding) {
	var names []string
	for _, h := range owning {
		for _, spec := range h.Indexes {
			if n := indexName(spec); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	for _, n := range names {
		specOf := func(h Holding) bson.Raw {
			i := slices.IndexFunc(h.Indexes, func(spec bson.Raw) bool { return indexName(spec) == n })
			if i < 0 {
				return nil
			}
			if namesSimpleCollation(h.Indexes[i]) { // listed from 9.0 on, but not by shards of older releases
				return withoutFields(h.Indexes[i], "v", "ns", "background", "collation")
			}
			return withoutFields(h.Indexes[i], "v", "ns", "background")
		}
		all := c.variants(owning, specOf)
		missing := slices.IndexFunc(all, func(v variant) bool { return v.value == nil })
		var absent variant
		if missing >= 0 {
			absent = all[missing]
			all = slices.Delete(all, missing, missing+1)
			list = append(list,
				c.newFinding(IndexMissing, absent.shards, fmt.Sprintf("the index %s is missing on %s, and is on %s",
					n, humanize.Join(absent.shards, ", "), humanize.Join(all[0].shards, ", ")),
					commandsForIndex(c.Namespace, all[0].value)))
		}
		for _, v := range all[1:] {
			list = append(list, c.newFinding(IndexDiffers, v.shards, fmt.Sprintf("the index %s is %s on %s, and %s on %s", n,
				humanize.Literal(v.value), humanize.Join(v.shards, ", "), humanize.Literal(all[0].value),
				humanize.Join(all[0].shards, ", ")),
				commandsForReplacedIndex(c.Namespace, n, all[0].value)))
		}
	}
	return list
}

// withoutFields returns a document with its fields sorted by name, without some of them.
func withoutFields(doc bson.Raw, names ...string) bson.Raw {
	elements, err := doc.Elements()
	if err != nil {
		return doc
	}
	d := bson.D{}
	for _, e := range elements {
		if !slices.Contains(names, e.Key()) {
			d = append(d, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	slices.SortStableFunc(d, func(a, b bson.E) int { return cmp.Compare(a.Key, b.Key) })
	raw, err := bson.Marshal(d)
	if err != nil {
		return doc
	}
	return raw
}
