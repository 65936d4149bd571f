package pipeline

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/value"
)

// sbePrefixStages are the stages that may precede a $group in SBE.
var sbePrefixStages = []string{"$match", "$sort", "$limit", "$skip"}

// runsInSBE reports whether SBE runs a stage of a pipeline.
func runsInSBE(before []bson.Raw, name string, stage value.Value) bool {
	if name != "$group" && name != "$bucket" && name != "$sortByCount" {
		return false
	}
	for _, s := range before {
		if earlier, _, _ := document.FirstField(s); !slices.Contains(sbePrefixStages, earlier) {
			return false
		}
	}
	return expr.IsSBESupported(stage)
}
