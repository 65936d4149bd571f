package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func shardHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"listShards":               listShards,
		"addShard":                 addShard,
		"removeShard":              removeShard,
		"movePrimary":              movePrimary,
		"checkMetadataConsistency": checkMetadataConsistency,
	}
}

func addShard(c *call.Call) (bson.D, error) {
	address, isText := c.Body.Lookup(c.InvokedAs).StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.FailedToParse, "addShard takes a connection string")
	}
	set, err := mock.ParseShardAddress(address)
	if err != nil {
		return nil, err
	}
	name := ""
	if v := c.Body.Lookup("name"); !v.IsZero() {
		if name, err = c.RequiredText("name"); err != nil {
			return nil, err
		}
	}
	if !c.Body.Lookup("maxSize").IsZero() {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "maxSize is not supported any more")
	}
	if name == "" && !c.Body.Lookup("name").IsZero() {
		return nil, mongoerr.New(mongoerr.BadValue, "shard name cannot be empty")
	}
	id, err := c.Cluster.ShardMembership().Add(set, name)
	return bson.D{{Key: "shardAdded", Value: string(id)}}, err
}

// removeShard starts the removal of a shard or returns its progress.
func removeShard(c *call.Call) (bson.D, error) {
	removal, err := c.Cluster.ShardMembership().Remove(c.Args.Text("removeShard"))
	if err != nil {
		return nil, err
	}
	return removalDoc(removal), nil
}

// removalDoc returns the progress of a shard removal.
func removalDoc(removal mock.Removal) bson.D {
	shard := bson.E{Key: "shard", Value: string(removal.Shard)}
	left := bson.D{{Key: "note", Value: removalNote}, {Key: "dbsToMove", Value: removal.Databases}}
	switch {
	case removal.JustStarted:
		return append(bson.D{{Key: "msg", Value: "draining started successfully"}, {Key: "state", Value: "started"}, shard},
			left...)
	case removal.Completed:
		return bson.D{{Key: "msg", Value: "removeshard completed successfully"}, {Key: "state", Value: "completed"}, shard}
	case removal.NotClean:
		doc := bson.D{{Key: "msg", Value: "waiting for data to be cleaned up"}, {Key: "state", Value: "pendingDataCleanup"},
			{Key: "pendingRangeDeletions", Value: removal.PendingDeletions}}
		if removal.FirstNonEmptyCollection != "" {
			doc = append(doc, bson.E{Key: "firstNonEmptyCollection", Value: removal.FirstNonEmptyCollection})
		}
		return doc
	}
	return append(bson.D{{Key: "msg", Value: "draining ongoing"}, {Key: "state", Value: drainingOngoing},
		{Key: "remaining", Value: remainingDoc(removal)}}, left...)
}

func movePrimary(c *call.Call) (bson.D, error) {
	return bson.D{}, c.Cluster.Databases().MovePrimary(c.Args.Text("movePrimary"), c.Args.Text("to"))
}

// listShards returns the shards. The order of their fields is that of rules/03-commands §1.5.
func listShards(c *call.Call) (bson.D, error) {
	shards := bson.A{}
	for _, raw := range c.Cluster.ConfigDB().Collection("shards").Scan() {
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
