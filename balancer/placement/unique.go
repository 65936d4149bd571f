package placement

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// UniqueIndexes returns the unique indexes of a sharded collection except that on _id. enforced begin with the shard
// key: documents that are on their owners can't violate them. perShard are unique only on each shard: they do not
// begin with the shard key, or have a collation, by which equal values of the shard key may be on several
// shards. incomparable are the names of indexes that can't be compared between shards: partial and sparse ones.
func UniqueIndexes(p catalog.KeyPattern, indexes []bson.Raw) (enforced, perShard []bson.Raw, incomparable []string) {
	for _, spec := range indexes {
		unique, _ := spec.Lookup("unique").BooleanOK()
		key, ok := spec.Lookup("key").DocumentOK()
		if !unique || !ok {
			continue
		}
		_, partial := spec.Lookup("partialFilterExpression").DocumentOK()
		sparse, _ := spec.Lookup("sparse").BooleanOK()
		switch {
		case beginsWithInAnyOrder(key, p.Fields()) && CollationOf(spec) == nil:
			if !partial {
				enforced = append(enforced, spec)
			}
		case partial || sparse:
			incomparable = append(incomparable, indexName(spec))
		default:
			perShard = append(perShard, spec)
		}
	}
	return enforced, perShard, incomparable
}

// beginsWithInAnyOrder reports whether the fields of a shard key are the first fields of an index, in
// any order.
func beginsWithInAnyOrder(key bson.Raw, fields []string) bool {
	elements, err := key.Elements()
	if err != nil || len(elements) < len(fields) {
		return false
	}
	first := map[string]bool{}
	for _, e := range elements[:len(fields)] {
		first[e.Key()] = true
	}
	for _, f := range fields {
		if !first[f] {
			return false
		}
	}
	return true
}

// namesSimpleCollation reports whether an index has the simple collation.
func namesSimpleCollation(spec bson.Raw) bool {
	locale, _ := spec.Lookup("collation", "locale").StringValueOK()
	return locale == "simple"
}

// CollationOf returns the collation of an index, or of the options of a collection, as a request takes it; nil is
// the simple one. It is without its version, because a server refuses the version of another server.
func CollationOf(spec bson.Raw) bson.Raw {
	collation, given := spec.Lookup("collation").DocumentOK()
	if !given || namesSimpleCollation(spec) {
		return nil
	}
	return withoutFields(collation, "version")
}

func indexName(spec bson.Raw) string {
	text, _ := spec.Lookup("name").StringValueOK()
	return text
}
