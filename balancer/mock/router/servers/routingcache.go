package servers

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// Commands for the routing table cache of a router.

// routerShardVersion returns the version of a collection or database in the router's cache
// (rules/03-commands §1.7).
func routerShardVersion(c *call.Call) (bson.D, error) {
	name, isText := c.Body.Lookup(c.InvokedAs).StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.BadValue, "getShardVersion takes a namespace")
	}
	if !strings.Contains(name, ".") {
		entry, known := databaseEntry(c, name)
		if !known {
			return nil, mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", name)
		}
		return bson.D{{Key: "primaryShard", Value: entry.Lookup("primary")},
			{Key: "version", Value: entry.Lookup("version")}}, nil
	}
	table := c.Node.Routes.Table(name, c.Cluster.ConfigDB())
	if table == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection %s does not have a routing table.", name)
	}
	reply := bson.D{
		{Key: "version", Value: table.Version().ChunkVersion.Timestamp()},
		{Key: "versionEpoch", Value: table.Epoch()},
		{Key: "versionTimestamp", Value: table.Timestamp()},
	}
	if !args.IsTruthy(c.Body.Lookup("fullMetadata")) {
		return reply, nil
	}
	return append(reply, chunkBounds(table)), nil
}

// chunkBounds returns the bounds of the chunks, unless they would exceed the size of a reply.
func chunkBounds(table *catalog.RoutingTable) bson.E {
	bounds := bson.A{}
	size := 0
	for chunk := range table.All() {
		lower, upper := table.Pattern().Bound(chunk.Min), table.Pattern().Bound(chunk.Max)
		if size += len(lower) + len(upper) + 32; size > call.BatchBytes {
			return bson.E{Key: "exceededSize", Value: true}
		}
		bounds = append(bounds, bson.A{lower, upper})
	}
	return bson.E{Key: "chunks", Value: bounds}
}

func getDatabaseVersion(c *call.Call) (bson.D, error) {
	entry, known := databaseEntry(c, c.Args.Text("getDatabaseVersion"))
	if !known {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", c.Args.Text("getDatabaseVersion"))
	}
	return bson.D{{Key: "primaryShard", Value: entry.Lookup("primary")},
		{Key: "dbVersion", Value: entry.Lookup("version")}}, nil
}

// databaseEntry returns a database's entry from the router's cache, or on a member from the catalog.
func databaseEntry(c *call.Call, db string) (bson.Raw, bool) {
	if c.Node.Routes == nil {
		return c.Cluster.ConfigDB().DatabaseEntry(db)
	}
	return c.Node.Routes.Database(db, c.Cluster.ConfigDB())
}

// flushRouterConfig marks the cache entry of a collection, of a database with all its collections, or of
// everything as stale. It accepts any name.
func flushRouterConfig(c *call.Call) (bson.D, error) {
	v := c.Body.Lookup(c.InvokedAs)
	name, isText := v.StringValueOK()
	if _, isNumber := args.Number(v); !isNumber && v.Type != bson.TypeBoolean && !isText {
		return nil, mongoerr.New(mongoerr.WrongFieldType, "wrong type for field (flushRouterConfig) %s != string",
			args.TypeName(v.Type))
	}
	c.Node.Routes.Forget(name)
	return bson.D{{Key: "flushed", Value: true}}, nil
}
