package router

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// What a router knows of where collections lie, and the commands about it.

// routedVersion is the version of a collection, or of a database, that the router
// knows (spec 03 §1.7).
func routedVersion(c *call) (bson.D, error) {
	name, isText := c.body.Lookup(c.invoked).StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.BadValue, "getShardVersion takes a namespace")
	}
	if !strings.Contains(name, ".") {
		entry, known := c.databaseEntry(name)
		if !known {
			return nil, mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", name)
		}
		return bson.D{{Key: "primaryShard", Value: entry.Lookup("primary")},
			{Key: "version", Value: entry.Lookup("version")}}, nil
	}
	table := c.node.routes.Table(name, c.cluster.ConfigDB())
	if table == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection %s is not sharded.", name)
	}
	reply := bson.D{
		{Key: "version", Value: table.Version().ChunkVersion.Timestamp()},
		{Key: "versionEpoch", Value: table.Epoch()},
		{Key: "versionTimestamp", Value: table.Timestamp()},
	}
	if !args.TrueValue(c.body.Lookup("fullMetadata")) {
		return reply, nil
	}
	return append(reply, allBounds(table)), nil
}

// allBounds lists the chunks' bounds, unless they would not fit in a reply.
func allBounds(table *catalog.RoutingTable) bson.E {
	bounds := bson.A{}
	size := 0
	for chunk := range table.All() {
		lower, upper := table.Pattern().Bound(chunk.Min), table.Pattern().Bound(chunk.Max)
		if size += len(lower) + len(upper) + 32; size > batchBytes {
			return bson.E{Key: "exceededSize", Value: true}
		}
		bounds = append(bounds, bson.A{lower, upper})
	}
	return bson.E{Key: "chunks", Value: bounds}
}

func getDatabaseVersion(c *call) (bson.D, error) {
	entry, known := c.databaseEntry(c.args.Text("getDatabaseVersion"))
	if !known {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", c.args.Text("getDatabaseVersion"))
	}
	return bson.D{{Key: "primaryShard", Value: entry.Lookup("primary")},
		{Key: "dbVersion", Value: entry.Lookup("version")}}, nil
}

// databaseEntry is a database's entry as the router knows it, or as it is to a member.
func (c *call) databaseEntry(db string) (bson.Raw, bool) {
	if c.node.routes == nil {
		return c.cluster.ConfigDB().DatabaseEntry(db)
	}
	return c.node.routes.Database(db, c.cluster.ConfigDB())
}

// flushRouterConfig lets the router read again what it knows of a collection, of a
// database with all its collections, or of everything. Names of any kind are fine.
func flushRouterConfig(c *call) (bson.D, error) {
	v := c.body.Lookup(c.invoked)
	name, isText := v.StringValueOK()
	if _, isNumber := args.Number(v); !isNumber && v.Type != bson.TypeBoolean && !isText {
		return nil, mongoerr.New(mongoerr.WrongFieldType, "flushRouterConfig takes a number, a bool or a name")
	}
	c.node.routes.Forget(name)
	return bson.D{{Key: "flushed", Value: true}}, nil
}

// outdated are the commands after which a router reads again what it knows of the
// collection, or of the database, that they were about. After others, such as
// moveRange, it goes on with what it knows until a shard refuses a request.
var outdated = map[string]bool{
	"clearJumboFlag": true, "create": true, "drop": true, "dropDatabase": true, "enableSharding": true,
	"mergeChunks": true, "moveChunk": true,
	"moveCollection": true, "movePrimary": true, "refineCollectionShardKey": true, "renameCollection": true,
	"reshardCollection": true, "shardCollection": true, "split": true, "unshardCollection": true,
}

// forgetRoutes follows a command that has changed where its subject lies.
func forgetRoutes(cmd *command, c *call) {
	if !outdated[cmd.Name] || c.node.member != nil {
		return
	}
	if cmd.Name == "dropDatabase" {
		c.node.routes.Forget(c.db)
		return
	}
	c.node.routes.Forget(c.subject(cmd))
	if to, isText := c.body.Lookup("to").StringValueOK(); isText && cmd.Name == "renameCollection" {
		c.node.routes.Forget(to)
	}
}
