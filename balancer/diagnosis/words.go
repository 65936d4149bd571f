package diagnosis

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// shardNames converts ids to strings.
func shardNames(ids []catalog.ShardID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return list
}

// isTruthy reports whether a field of a log entry counts as true: it exists, and is neither false, null
// nor 0.
func isTruthy(v bson.RawValue) bool {
	switch v.Type {
	case 0, bson.TypeNull, bson.TypeUndefined:
		return false
	case bson.TypeBoolean:
		return v.Boolean()
	}
	n, isNumber := v.AsFloat64OK()
	return !isNumber || n != 0 && n == n
}
