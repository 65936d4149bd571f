package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

func shardingHandlers() map[string]handler {
	return map[string]handler{
		"enableSharding":  enableSharding,
		"shardCollection": shardCollection,
	}
}

func enableSharding(c *call) (bson.D, error) {
	name, primary := c.args.Text("enableSharding"), c.args.Text("primaryShard")
	if primary != "" || !c.args.Has("primaryShard") {
		return bson.D{}, c.request.EnableSharding(name, primary)
	}
	there, err := c.cluster.Databases().CheckName(name)
	if err == nil && !there {
		err = mongoerr.New(mongoerr.BadValue, "invalid shard name: it is empty")
	}
	return bson.D{}, mongoerr.Wrap(err, "Database "+name+" could not be created")
}

func shardCollection(c *call) (bson.D, error) {
	ns := c.args.Text("shardCollection")
	if c.args.Has("timeseries") {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the mock has no time-series collections")
	}
	create, allow := c.args["implicitlyCreateIndex"], c.args["enforceUniquenessCheck"]
	err := c.request.ShardCollection(mock.ShardRequest{
		Namespace:       ns,
		Key:             c.args.Object("key"),
		Unique:          c.args.Truth("unique"),
		NoIndex:         !create.IsZero() && !args.Truth(create),
		UUID:            c.args.Binary("collectionUUID"),
		AcceptNonUnique: !allow.IsZero() && !args.Truth(allow),
		PresplitZones:   c.args.Truth("presplitHashedZones"),
		OtherCollation:  simpleCollation(c, "shardCollection") != nil,
	})
	return bson.D{{Key: "collectionsharded", Value: ns}}, err
}
