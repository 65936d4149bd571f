package placement

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// UniqueIndexes returns the unique indexes of a sharded collection but that on _id. Apart are
// those that do not begin with the shard key: each shard keeps them for itself alone.
// Untold are those of them that can't be compared between shards, by their names.
func UniqueIndexes(p catalog.KeyPattern, indexes []bson.Raw) (kept, apart []bson.Raw, untold []string) {
	for _, spec := range indexes {
		unique, _ := spec.Lookup("unique").BooleanOK()
		key, ok := spec.Lookup("key").DocumentOK()
		if !unique || !ok {
			continue
		}
		_, collated := spec.Lookup("collation").DocumentOK()
		collated = collated && !simple(spec)
		_, partial := spec.Lookup("partialFilterExpression").DocumentOK()
		sparse, _ := spec.Lookup("sparse").BooleanOK()
		switch {
		case beginsWith(key, p.Fields()):
			if !collated && !partial {
				kept = append(kept, spec)
			}
		case collated || partial || sparse:
			untold = append(untold, name(spec))
		default:
			apart = append(apart, spec)
		}
	}
	return kept, apart, untold
}

// beginsWith reports whether the fields of a shard key are the first ones of an index, in any
// order.
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

// simple reports whether an index is listed with the collation that is none.
func simple(spec bson.Raw) bool {
	locale, _ := spec.Lookup("collation", "locale").StringValueOK()
	return locale == "simple"
}

func name(spec bson.Raw) string {
	text, _ := spec.Lookup("name").StringValueOK()
	return text
}
