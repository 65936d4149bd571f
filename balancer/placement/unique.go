package placement

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// UniqueIndexes returns the unique indexes of a sharded collection except that on _id. perShard are the
// indexes that do not begin with the shard key: each shard enforces those only on its own documents.
// incomparable are the names of those perShard indexes that can't be compared between shards.
func UniqueIndexes(p catalog.KeyPattern, indexes []bson.Raw) (enforced, perShard []bson.Raw, incomparable []string) {
	for _, spec := range indexes {
		unique, _ := spec.Lookup("unique").BooleanOK()
		key, ok := spec.Lookup("key").DocumentOK()
		if !unique || !ok {
			continue
		}
		_, collated := spec.Lookup("collation").DocumentOK()
		collated = collated && !hasSimpleCollation(spec)
		_, partial := spec.Lookup("partialFilterExpression").DocumentOK()
		sparse, _ := spec.Lookup("sparse").BooleanOK()
		switch {
		case beginsWith(key, p.Fields()):
			if !collated && !partial {
				enforced = append(enforced, spec)
			}
		case collated || partial || sparse:
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

func indexName(spec bson.Raw) string {
	text, _ := spec.Lookup("name").StringValueOK()
	return text
}
