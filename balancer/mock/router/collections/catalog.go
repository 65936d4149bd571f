package collections

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func catalogHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"listDatabases":   listDatabases,
		"listCollections": listCollections,
		"create":          create,
		"drop":            drop,
		"dropDatabase":    dropDatabase,
	}
}

func listDatabases(c *call.Call) (bson.D, error) {
	var list []ListedDatabase
	shows := DatabaseFilter(c)
	for _, db := range c.Cluster.Statistics().Databases() {
		if !shows(db.Name) {
			continue
		}
		shards := bson.D{}
		for _, part := range db.ByShard {
			shards = append(shards, bson.E{Key: string(part.Shard), Value: part.Bytes})
		}
		list = append(list, ListedDatabase{Bytes: db.Bytes, Doc: bson.D{
			{Key: "name", Value: db.Name}, {Key: "sizeOnDisk", Value: db.Bytes},
			{Key: "empty", Value: false}, {Key: "shards", Value: shards},
		}})
	}
	return ListDatabasesReply(c, list)
}

// ListedDatabase is an entry of listDatabases.
type ListedDatabase struct {
	Bytes int64
	Doc   bson.D
}

// ListDatabasesReply returns the entries that the command selects.
func ListDatabasesReply(c *call.Call, databases []ListedDatabase) (bson.D, error) {
	raws := make([]bson.Raw, len(databases))
	for i, db := range databases {
		var err error
		if raws[i], err = bson.Marshal(db.Doc); err != nil {
			return nil, err
		}
	}
	matches, err := c.MatchEach(c.Args.Object("filter"), raws)
	if err != nil {
		return nil, err
	}
	list := bson.A{}
	var total int64
	for i, db := range databases {
		if !matches[i] {
			continue
		}
		total += db.Bytes
		if c.Args.Bool("nameOnly") {
			db.Doc = db.Doc[:1]
		}
		list = append(list, db.Doc)
	}
	if c.Args.Bool("nameOnly") {
		return bson.D{{Key: "databases", Value: list}}, nil
	}
	return bson.D{{Key: "databases", Value: list}, {Key: "totalSize", Value: total},
		{Key: "totalSizeMb", Value: total >> 20}}, nil
}

func listCollections(c *call.Call) (bson.D, error) {
	return ListCollectionsReply(c, c.Cluster.Statistics().Collections(c.DB))
}

// ListCollectionsReply returns the entries that the command selects and the client may see.
func ListCollectionsReply(c *call.Call, infos []mock.CollectionInfo) (bson.D, error) {
	var list, whole []bson.Raw
	shows := collectionFilter(c)
	for _, info := range infos {
		if !shows(info.Name) {
			continue
		}
		doc := listedCollection(info)
		raw, err := bson.Marshal(doc)
		if err != nil {
			return nil, err
		}
		whole = append(whole, raw)
		if c.Args.Bool("nameOnly") {
			if raw, err = bson.Marshal(doc[:2]); err != nil {
				return nil, err
			}
		}
		list = append(list, raw)
	}
	matches, err := c.MatchEach(c.Args.Object("filter"), whole)
	if err != nil {
		return nil, err
	}
	shown := list[:0]
	for i, raw := range list {
		if matches[i] {
			shown = append(shown, raw)
		}
	}
	size, err := c.CursorBatchSize(c.Args.Object("cursor"))
	if err != nil {
		return nil, err
	}
	return call.FirstBatchReply(c, c.DB+".$cmd.listCollections", shown, size)
}

// listedCollection returns an entry of listCollections, with name and type first.
func listedCollection(info mock.CollectionInfo) bson.D {
	doc := bson.D{{Key: "name", Value: info.Name}, {Key: "type", Value: "collection"},
		{Key: "options", Value: info.Options}}
	if info.IsView {
		doc[1].Value = "view"
		return append(doc, bson.E{Key: "info", Value: bson.D{{Key: "readOnly", Value: true}}})
	}
	return append(doc,
		bson.E{Key: "info", Value: bson.D{{Key: "readOnly", Value: false}, {Key: "uuid", Value: info.UUID}}},
		bson.E{Key: "idIndex", Value: bson.D{{Key: "v", Value: int32(2)},
			{Key: "key", Value: bson.D{{Key: "_id", Value: int32(1)}}}, {Key: "name", Value: "_id_"}}})
}

func drop(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if c.DB == "config" || c.DB == "admin" {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "Cannot drop collection in '%s' database in sharded cluster",
			c.DB)
	}
	// Through a router, dropping a collection that does not exist succeeds in all releases (SERVER-36317).
	c.Cluster.Collections().Drop(ns)
	return bson.D{}, nil
}

func dropDatabase(c *call.Call) (bson.D, error) {
	if catalog.IsSystemDatabase(c.DB) {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "Cannot drop the %s database", c.DB)
	}
	if !c.Cluster.Databases().Drop(c.DB) {
		return bson.D{}, nil
	}
	return bson.D{{Key: "dropped", Value: c.DB}}, nil
}

// DatabaseFilter returns a function that reports whether listDatabases may show a database to the
// caller.
func DatabaseFilter(c *call.Call) func(name string) bool {
	may := c.Node.Grants(c.Conn)
	only := c.Body.Lookup("authorizedDatabases")
	if !c.Node.AuthRequired || !args.IsTrueOrNonzero(only) && may.Allows(access.ClusterResource(), "listDatabases") {
		return func(string) bool { return true }
	}
	return may.AllowsSomeIn
}

// collectionFilter returns a function that reports whether listCollections may show a collection to the
// caller.
func collectionFilter(c *call.Call) func(name string) bool {
	if !c.Node.AuthRequired || !args.IsTrueOrNonzero(c.Body.Lookup("authorizedCollections")) {
		return func(string) bool { return true }
	}
	may := c.Node.Grants(c.Conn)
	return func(name string) bool { return may.AllowsSome(access.CollectionResource(c.DB, name)) }
}
