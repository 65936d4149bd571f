package writes

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// checkUpdateForm rejects updates of sharded collections that a router rejects before it targets shards.
func checkUpdateForm(c *call.Call, ns string, u bson.RawValue, multi bool) error {
	doc, isDoc := u.DocumentOK()
	if !isDoc {
		return nil // a pipeline
	}
	elems, err := doc.Elements()
	if err != nil {
		return err
	}
	operators := 0
	for _, e := range elems {
		if strings.HasPrefix(e.Key(), "$") {
			operators++
		}
	}
	var wrong error
	switch {
	case operators > 0 && operators < len(elems):
		wrong = mongoerr.New(mongoerr.UnsupportedFormat,
			"update document %s has mixed $operator and non-$operator style fields", doc)
	case operators == 0 && multi:
		wrong = mongoerr.New(mongoerr.InvalidOptions, "Replacement-style updates cannot be {multi:true}")
	}
	if wrong == nil {
		return nil
	}
	if _, sharded, err := c.Cluster.ConfigDB().ShardedEntry(ns); err != nil || !sharded {
		return err
	}
	return wrong
}

// checkUpsert rejects a multi-document upsert that does not target a single shard.
func checkUpsert(c *call.Call, ns string, req mock.UpdateRequest) error {
	if !req.Upsert || !req.Multi {
		return nil
	}
	coll, sharded, err := c.Cluster.ConfigDB().ShardedEntry(ns)
	if err != nil || !sharded {
		return err
	}
	for _, field := range coll.Pattern.Fields() {
		if v, ok := req.Filter.Equality(field); !ok || v.Type == bson.TypeArray {
			return mongoerr.New(mongoerr.ShardKeyNotFound,
				"Failed to target upsert by query :: could not extract exact shard key")
		}
	}
	return nil
}
