package holdings

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// ClusterConfig contains the entries of the config database for collections.
type ClusterConfig struct {
	// Primaries contains the databases with their primary shards.
	Primaries   map[string]catalog.ShardID
	Collections map[string]catalog.Collection
}

func (s *Shards) findInConfig(
	ctx context.Context,
	collection string,
	filter bson.D,
	more ...bson.E,
) ([]bson.Raw, error) {
	command := append(bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}, live.ReadConcernMajority},
		more...)
	docs, err := live.NewCommandRunner(s.Router).RunCursorCommand(ctx, "config", append(command, maxCommandTime))
	return docs, live.ServerError(err)
}

// ReadConfig reads all databases and collections except those of the servers.
func (s *Shards) ReadConfig(ctx context.Context) (ClusterConfig, error) {
	c := ClusterConfig{Primaries: map[string]catalog.ShardID{}, Collections: map[string]catalog.Collection{}}
	databases, err := s.findInConfig(ctx, "databases", bson.D{})
	if err != nil {
		return c, err
	}
	for _, doc := range databases {
		name, _ := doc.Lookup("_id").StringValueOK()
		primary, _ := doc.Lookup("primary").StringValueOK()
		if !isSystemDatabase(name) {
			c.Primaries[name] = catalog.ShardID(primary)
		}
	}
	colls, err := s.findInConfig(ctx, "collections", bson.D{})
	if err != nil {
		return c, err
	}
	for _, doc := range colls {
		if dropped, _ := doc.Lookup("dropped").BooleanOK(); dropped { // up to 4.4
			continue
		}
		ns, _ := doc.Lookup("_id").StringValueOK()
		database, name, _ := strings.Cut(ns, ".")
		if isSystemDatabase(database) || !isAudited(name) {
			continue
		}
		coll, err := catalog.ParseCollection(doc)
		if err != nil {
			return c, err
		}
		c.Collections[ns] = coll
	}
	return c, nil
}

func isSystemDatabase(database string) bool {
	return database == "admin" || database == "config" || database == "local"
}

// ReadCollection reads one entry of config.collections; the error is NamespaceNotFound if the entry
// does not exist.
func (s *Shards) ReadCollection(ctx context.Context, ns string) (catalog.Collection, error) {
	docs, err := s.findInConfig(ctx, "collections", bson.D{{Key: "_id", Value: ns},
		{Key: "dropped", Value: bson.D{{Key: "$ne", Value: true}}}}) // up to 4.4
	if err != nil {
		return catalog.Collection{}, err
	}
	if len(docs) == 0 {
		return catalog.Collection{}, mongoerr.New(mongoerr.NamespaceNotFound, "%s is gone", ns)
	}
	return catalog.ParseCollection(docs[0])
}

// ReadPrimary returns the primary shard of a collection's database; the error is NamespaceNotFound if the
// database does not exist any more.
func (s *Shards) ReadPrimary(ctx context.Context, ns string) (catalog.ShardID, error) {
	database := catalog.DatabaseOf(ns)
	docs, err := s.findInConfig(ctx, "databases", bson.D{{Key: "_id", Value: database}})
	if err == nil && len(docs) == 0 {
		err = mongoerr.New(mongoerr.NamespaceNotFound, "the database of %s is gone", ns)
	}
	if err != nil {
		return "", err
	}
	primary, _ := docs[0].Lookup("primary").StringValueOK()
	return catalog.ShardID(primary), nil
}

// ReadZones returns the documents of config.tags of a collection.
func (s *Shards) ReadZones(ctx context.Context, ns string) ([]bson.Raw, error) {
	return s.findInConfig(ctx, "tags", bson.D{{Key: "ns", Value: ns}})
}

// EachChunk calls put with each chunk of a collection, in the order of min.
func (s *Shards) EachChunk(ctx context.Context, coll catalog.Collection, put func(bson.Raw)) error {
	return live.EachDocument(ctx, s.Router, "config", bson.D{
		{Key: "find", Value: "chunks"}, {Key: "filter", Value: bson.D{coll.ChunkFilter()}},
		{Key: "sort", Value: bson.D{{Key: "min", Value: int32(1)}}}, live.ReadConcernMajority,
		{Key: "batchSize", Value: int32(10_000)},
		{Key: "projection", Value: bson.D{{Key: "history", Value: int32(0)}}},
	}, func(doc bson.Raw) error {
		put(doc)
		return nil
	})
}

// ReadNewestVersion returns the newest chunk's version, which changes with each move, split and merge.
func (s *Shards) ReadNewestVersion(ctx context.Context, coll catalog.Collection) (bson.Timestamp, error) {
	docs, err := s.findInConfig(ctx, "chunks", bson.D{coll.ChunkFilter()},
		bson.E{Key: "sort", Value: bson.D{{Key: "lastmod", Value: int32(-1)}}}, bson.E{Key: "limit", Value: int32(1)},
		bson.E{Key: "projection", Value: bson.D{{Key: "lastmod", Value: int32(1)}}})
	var at bson.Timestamp
	for _, doc := range docs {
		at.T, at.I, _ = doc.Lookup("lastmod").TimestampOK()
	}
	return at, err
}

// FindByID returns the document of an _id that the router finds on any shard; nil for none. With the collation of a
// collection, other documents may have an equal _id: they do not count.
func (s *Shards) FindByID(ctx context.Context, ns string, id bson.RawValue) (bson.Raw, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	docs, err := live.NewCommandRunner(s.Router).RunCursorCommand(ctx, database, bson.D{
		{Key: "find", Value: name}, {Key: "filter", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$eq", Value: id}}}}},
		live.ReadConcernMajority, maxCommandTime,
	})
	if docs = FilterByExactID(docs, id); err != nil || len(docs) == 0 {
		return nil, live.ServerError(err)
	}
	return docs[0], nil
}

// FilterByExactID returns the documents with exactly this _id, without those whose _id is only equal by a collation.
func FilterByExactID(docs []bson.Raw, id bson.RawValue) []bson.Raw {
	return slices.DeleteFunc(docs, func(doc bson.Raw) bool { return keyorder.Compare(doc.Lookup("_id"), id) != 0 })
}
