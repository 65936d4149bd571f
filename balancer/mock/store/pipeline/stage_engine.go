package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// beforeOther are the stages after which a $group may still go to the other engine.
var beforeOther = []string{"$match", "$sort", "$limit", "$skip"}

// inOther reports whether the other engine computes a stage of a pipeline.
func inOther(before []bson.Raw, name string, stage value) bool {
	if name != "$group" && name != "$bucket" && name != "$sortByCount" {
		return false
	}
	for _, s := range before {
		if earlier, _, _ := first(s); !slices.Contains(beforeOther, earlier) {
			return false
		}
	}
	return otherKnows(stage)
}
