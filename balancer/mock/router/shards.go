package router

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

func shardHandlers() map[string]handler {
	return map[string]handler{
		"listShards":               listShards,
		"addShard":                 addShard,
		"removeShard":              removeShard,
		"movePrimary":              movePrimary,
		"checkMetadataConsistency": checkMetadataConsistency,
	}
}

func addShard(c *call) (bson.D, error) {
	address, isText := c.body.Lookup(c.invoked).StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.FailedToParse, "addShard takes a connection string")
	}
	set, err := mock.ParseShardAddress(address)
	if err != nil {
		return nil, err
	}
	name := ""
	if v := c.body.Lookup("name"); !v.IsZero() {
		if name, err = c.text("name"); err != nil {
			return nil, err
		}
	}
	if !c.body.Lookup("maxSize").IsZero() {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "maxSize is not supported any more")
	}
	if name == "" && !c.body.Lookup("name").IsZero() {
		return nil, mongoerr.New(mongoerr.BadValue, "shard name cannot be empty")
	}
	id, err := c.cluster.Membership().Add(set, name)
	return bson.D{{Key: "shardAdded", Value: string(id)}}, err
}

// removeShard tells how far the removal is.
func removeShard(c *call) (bson.D, error) {
	removal, err := c.cluster.Membership().Remove(c.args.Text("removeShard"))
	if err != nil {
		return nil, err
	}
	return removalDoc(removal), nil
}

// removalDoc tells how far the removal of a shard is.
func removalDoc(removal mock.Removal) bson.D {
	shard := bson.E{Key: "shard", Value: string(removal.Shard)}
	left := bson.D{{Key: "note", Value: noteToMove}, {Key: "dbsToMove", Value: removal.Databases}}
	switch {
	case removal.Started:
		return append(bson.D{{Key: "msg", Value: "draining started successfully"}, {Key: "state", Value: "started"}, shard},
			left...)
	case removal.Completed:
		return bson.D{{Key: "msg", Value: "removeshard completed successfully"}, {Key: "state", Value: "completed"}, shard}
	case removal.Cleaning:
		doc := bson.D{{Key: "msg", Value: "waiting for data to be cleaned up"}, {Key: "state", Value: "pendingDataCleanup"},
			{Key: "pendingRangeDeletions", Value: removal.PendingDeletions}}
		if removal.FirstNonEmpty != "" {
			doc = append(doc, bson.E{Key: "firstNonEmptyCollection", Value: removal.FirstNonEmpty})
		}
		return doc
	}
	return append(bson.D{{Key: "msg", Value: "draining ongoing"}, {Key: "state", Value: drainingOngoing},
		{Key: "remaining", Value: remainingDoc(removal)}}, left...)
}

func movePrimary(c *call) (bson.D, error) {
	return bson.D{}, c.cluster.Databases().MovePrimary(c.args.Text("movePrimary"), c.args.Text("to"))
}

// listShards shows the documents in the field order of spec 03 §1.5.
func listShards(c *call) (bson.D, error) {
	shards := bson.A{}
	for _, raw := range c.cluster.ConfigDB().Collection("shards").Scan() {
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
