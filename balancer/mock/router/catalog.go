package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

func catalogHandlers() map[string]handler {
	return map[string]handler{
		"listDatabases":   listDatabases,
		"listCollections": listCollections,
		"create":          create,
		"drop":            drop,
		"dropDatabase":    dropDatabase,
	}
}

func listDatabases(c *call) (bson.D, error) {
	var list []listedDatabase
	shows := showsDatabase(c)
	for _, db := range c.cluster.Statistics().Databases() {
		if !shows(db.Name) {
			continue
		}
		shards := bson.D{}
		for _, part := range db.ByShard {
			shards = append(shards, bson.E{Key: string(part.Shard), Value: part.Bytes})
		}
		list = append(list, listedDatabase{db.Bytes, bson.D{
			{Key: "name", Value: db.Name}, {Key: "sizeOnDisk", Value: db.Bytes},
			{Key: "empty", Value: false}, {Key: "shards", Value: shards},
		}})
	}
	return shownDatabases(c, list)
}

// listedDatabase is a database as listDatabases shows it.
type listedDatabase struct {
	bytes int64
	doc   bson.D
}

// shownDatabases lists those that the command asks for.
func shownDatabases(c *call, databases []listedDatabase) (bson.D, error) {
	raws := make([]bson.Raw, len(databases))
	for i, db := range databases {
		var err error
		if raws[i], err = bson.Marshal(db.doc); err != nil {
			return nil, err
		}
	}
	matches, err := c.matches(c.args.Object("filter"), raws)
	if err != nil {
		return nil, err
	}
	list := bson.A{}
	var total int64
	for i, db := range databases {
		if !matches[i] {
			continue
		}
		total += db.bytes
		if c.args.Truth("nameOnly") {
			db.doc = db.doc[:1]
		}
		list = append(list, db.doc)
	}
	if c.args.Truth("nameOnly") {
		return bson.D{{Key: "databases", Value: list}}, nil
	}
	return bson.D{{Key: "databases", Value: list}, {Key: "totalSize", Value: total},
		{Key: "totalSizeMb", Value: total >> 20}}, nil
}

func listCollections(c *call) (bson.D, error) {
	return shownCollections(c, c.cluster.Statistics().Collections(c.db))
}

// shownCollections lists those that the command asks for and the client may see.
func shownCollections(c *call, infos []mock.CollectionInfo) (bson.D, error) {
	var list, whole []bson.Raw
	shows := showsCollection(c)
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
		if c.args.Truth("nameOnly") {
			if raw, err = bson.Marshal(doc[:2]); err != nil {
				return nil, err
			}
		}
		list = append(list, raw)
	}
	matches, err := c.matches(c.args.Object("filter"), whole)
	if err != nil {
		return nil, err
	}
	shown := list[:0]
	for i, raw := range list {
		if matches[i] {
			shown = append(shown, raw)
		}
	}
	size, err := c.sizeIn(c.args.Object("cursor"))
	if err != nil {
		return nil, err
	}
	return firstBatch(c, c.db+".$cmd.listCollections", shown, size)
}

// listedCollection returns a collection as listCollections shows it: name and
// type first.
func listedCollection(info mock.CollectionInfo) bson.D {
	doc := bson.D{{Key: "name", Value: info.Name}, {Key: "type", Value: "collection"},
		{Key: "options", Value: info.Options}}
	if info.View {
		doc[1].Value = "view"
		return append(doc, bson.E{Key: "info", Value: bson.D{{Key: "readOnly", Value: true}}})
	}
	return append(doc,
		bson.E{Key: "info", Value: bson.D{{Key: "readOnly", Value: false}, {Key: "uuid", Value: info.UUID}}},
		bson.E{Key: "idIndex", Value: bson.D{{Key: "v", Value: int32(2)},
			{Key: "key", Value: bson.D{{Key: "_id", Value: int32(1)}}}, {Key: "name", Value: "_id_"}}})
}

func drop(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if c.db == "config" || c.db == "admin" {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "Cannot drop collection in %s database", c.db)
	}
	// Dropping what does not exist is a success since 7.0.
	c.cluster.Collections().Drop(ns)
	return bson.D{}, nil
}

func dropDatabase(c *call) (bson.D, error) {
	switch c.db {
	case "admin", "config", "local":
		return nil, mongoerr.New(mongoerr.IllegalOperation, "Cannot drop the %s database", c.db)
	}
	if !c.cluster.Databases().Drop(c.db) {
		return bson.D{}, nil
	}
	return bson.D{{Key: "dropped", Value: c.db}}, nil
}
