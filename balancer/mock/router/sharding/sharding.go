package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func shardingHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"enableSharding":  enableSharding,
		"shardCollection": shardCollection,
	}
}

func enableSharding(c *call.Call) (bson.D, error) {
	name, primary := c.Args.Text("enableSharding"), c.Args.Text("primaryShard")
	if primary != "" || !c.Args.Has("primaryShard") {
		return bson.D{}, c.Request.EnableSharding(name, primary)
	}
	there, err := c.Cluster.Databases().CheckName(name)
	if err == nil && !there {
		err = mongoerr.New(mongoerr.BadValue, "invalid shard name: it is empty")
	}
	return bson.D{}, mongoerr.Wrap(err, "Database "+name+" could not be created")
}

func shardCollection(c *call.Call) (bson.D, error) {
	ns := c.Args.Text("shardCollection")
	other := checkSimpleCollation(c, "shardCollection")
	if other != nil && !mongoerr.Is(other, mongoerr.BadValue) {
		return nil, other
	}
	create, allow := c.Args["implicitlyCreateIndex"], c.Args["enforceUniquenessCheck"]
	err := c.Request.ShardCollection(mock.ShardRequest{
		Namespace:       ns,
		Key:             c.Args.Object("key"),
		Unique:          c.Args.Bool("unique"),
		NoIndex:         !create.IsZero() && !args.IsTrueOrNonzero(create),
		UUID:            c.Args.Binary("collectionUUID"),
		AcceptNonUnique: !allow.IsZero() && !args.IsTrueOrNonzero(allow),
		PresplitZones:   c.Args.Bool("presplitHashedZones"),
		OtherCollation:  other != nil,
		TimeSeries:      c.Args.Object("timeseries"),
	})
	return bson.D{{Key: "collectionsharded", Value: ns}}, err
}
