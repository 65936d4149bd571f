package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

func shardingCommands() []command {
	return []command{
		{name: "enableSharding", aliases: []string{"enablesharding"}, adminOnly: true, takesWriteConcern: true, run: (*Router).enableSharding},
		{name: "shardCollection", aliases: []string{"shardcollection"}, adminOnly: true, takesWriteConcern: true,
			declared: []field{{"shardCollection", oldNamespaceValue, true}, {"key", objectValue, true}, {"unique", boolValue, false},
				{"numInitialChunks", safeInt, false}, {"presplitHashedZones", boolValue, false},
				{"implicitlyCreateIndex", optionalBool, false}, {"enforceUniquenessCheck", optionalBool, false},
				{"collation", objectValue, false}, {"timeseries", objectValue, false}, {"collectionUUID", uuidValue, false}},
			run: (*Router).shardCollection},
	}
}

func (r *Router) enableSharding(c *call) (bson.D, error) {
	name, isText := c.body.Lookup(c.invoked).StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "enableSharding takes the name of a database")
	}
	primary := c.body.Lookup("primaryShard")
	switch {
	case primary.IsZero() || primary.Type == bson.TypeNull:
		return bson.D{}, r.cluster.CreateDatabase(name, "")
	case primary.Type != bson.TypeString:
		return nil, mongoerr.New(mongoerr.TypeMismatch, "primaryShard must be a string")
	case primary.StringValue() == "":
		return nil, mongoerr.New(mongoerr.BadValue, "primaryShard must not be empty")
	}
	return bson.D{}, r.cluster.CreateDatabase(name, primary.StringValue())
}

func (r *Router) shardCollection(c *call) (bson.D, error) {
	ns := c.args.text("shardCollection")
	if c.args.has("timeseries") {
		return nil, mongoerr.New(mongoerr.NotImplemented, "the mock has no time-series collections")
	}
	if err := simpleCollation(c, "shardCollection"); err != nil {
		return nil, err
	}
	create, allow := c.args["implicitlyCreateIndex"], c.args["enforceUniquenessCheck"]
	err := r.cluster.ShardCollection(mock.ShardRequest{
		Namespace:       ns,
		Key:             c.args.object("key"),
		Unique:          c.args.truth("unique"),
		NoIndex:         !create.IsZero() && !truth(create),
		UUID:            c.args.binary("collectionUUID"),
		AcceptNonUnique: !allow.IsZero() && !truth(allow),
		PresplitZones:   c.args.truth("presplitHashedZones"),
	})
	return bson.D{{Key: "collectionsharded", Value: ns}}, err
}
