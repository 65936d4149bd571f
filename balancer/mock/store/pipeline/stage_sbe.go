package pipeline

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/value"
)

// beforeOther are the stages after which a $group may still go to SBE.
var beforeOther = []string{"$match", "$sort", "$limit", "$skip"}

// inSBE reports whether SBE computes a stage of a pipeline.
func inSBE(before []bson.Raw, name string, stage value.Value) bool {
	if name != "$group" && name != "$bucket" && name != "$sortByCount" {
		return false
	}
	for _, s := range before {
		if earlier, _, _ := document.First(s); !slices.Contains(beforeOther, earlier) {
			return false
		}
	}
	return expr.SBESupports(stage)
}
