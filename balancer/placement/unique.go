package placement

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// UniqueIndexes returns the unique indexes of a sharded collection but that on _id. Those that begin with the
// shard key can't be broken by documents that are where they belong. Those that do not each shard keeps for itself
// alone, and so it does one with a collation: the values of a shard key that are equal by it may lie on several
// shards. Incomparable are those of them that can't be compared between shards, by their names.
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
		case beginsWith(key, p.Fields()) && CollationOf(spec) == nil:
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

// beginsWith reports whether the fields of a shard key are the first fields of an index, in any order.
func beginsWith(key bson.Raw, fields []string) bool {
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

// hasSimpleCollation reports whether an index has the simple collation.
func hasSimpleCollation(spec bson.Raw) bool {
	locale, _ := spec.Lookup("collation", "locale").StringValueOK()
	return locale == "simple"
}

// CollationOf returns the collation of an index, or of the options of a collection, as a request takes it; nil is
// the simple one. The version is left out: servers refuse that of another.
func CollationOf(spec bson.Raw) bson.Raw {
	collation, given := spec.Lookup("collation").DocumentOK()
	if !given || hasSimpleCollation(spec) {
		return nil
	}
	return withoutFields(collation, "version")
}

func indexName(spec bson.Raw) string {
	text, _ := spec.Lookup("name").StringValueOK()
	return text
}
