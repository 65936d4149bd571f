package router

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func shardCommands() []command {
	return []command{
		{name: "listShards", aliases: []string{"listshards"}, adminOnly: true, run: (*Router).listShards},
	}
}

// listShards shows the documents in the field order of spec 03 §1.5.
func (r *Router) listShards(*call) (bson.D, error) {
	shards := bson.A{}
	for _, raw := range r.cluster.Config("shards").Scan() {
		doc := bson.D{}
		for _, name := range []string{"_id", "host", "draining", "tags", "state", "topologyTime", "replSetConfigVersion"} {
			if v := raw.Lookup(name); !v.IsZero() {
				doc = append(doc, bson.E{Key: name, Value: v})
			}
		}
		shards = append(shards, doc)
	}
	return bson.D{{Key: "shards", Value: shards}}, nil
}

func sortFields(doc bson.D) {
	slices.SortFunc(doc, func(a, b bson.E) int { return cmp.Compare(a.Key, b.Key) })
}
