package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

func shardingCommands() []command {
	return []command{
		{name: "enableSharding", aliases: []string{"enablesharding"}, adminOnly: true, takesWriteConcern: true,
			declared: []field{{"enableSharding", stringValue, true}, {"primaryShard", stringValue, false}},
			run:      enableSharding},
		{name: "shardCollection", aliases: []string{"shardcollection"}, adminOnly: true, takesWriteConcern: true,
			declared: []field{{"shardCollection", namespaceToShard, true}, {"key", objectValue, true}, {"unique", boolValue, false},
				{"numInitialChunks", safeInt, false}, {"presplitHashedZones", boolValue, false},
				{"implicitlyCreateIndex", optionalBool, false}, {"enforceUniquenessCheck", optionalBool, false},
				{"collation", objectValue, false}, {"timeseries", objectValue, false}, {"collectionUUID", uuidValue, false}},
			run: shardCollection},
	}
}

func enableSharding(c *call) (bson.D, error) {
	name, primary := c.args.text("enableSharding"), c.args.text("primaryShard")
	if primary != "" || !c.args.has("primaryShard") {
		return bson.D{}, c.request.CreateDatabase(name, primary)
	}
	there, err := c.cluster.Databases().CheckName(name)
	if err == nil && !there {
		err = mongoerr.New(mongoerr.BadValue, "invalid shard name: it is empty")
	}
	return bson.D{}, mongoerr.Wrap(err, "Database "+name+" could not be created")
}

func shardCollection(c *call) (bson.D, error) {
	ns := c.args.text("shardCollection")
	if c.args.has("timeseries") {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the mock has no time-series collections")
	}
	create, allow := c.args["implicitlyCreateIndex"], c.args["enforceUniquenessCheck"]
	err := c.request.ShardCollection(mock.ShardRequest{
		Namespace:       ns,
		Key:             c.args.object("key"),
		Unique:          c.args.truth("unique"),
		NoIndex:         !create.IsZero() && !truth(create),
		UUID:            c.args.binary("collectionUUID"),
		AcceptNonUnique: !allow.IsZero() && !truth(allow),
		PresplitZones:   c.args.truth("presplitHashedZones"),
		OtherCollation:  simpleCollation(c, "shardCollection") != nil,
	})
	return bson.D{{Key: "collectionsharded", Value: ns}}, err
}
