// Package holdings reads the contents of each shard of a cluster without going through the router: its
// collections, including orphaned documents, and its range deletions. It also reads the corresponding
// entries of the config database. It changes nothing.
package holdings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/placement"
)

// commandTimeout limits each command except scans of documents.
const commandTimeout = 30 * time.Second

var maxCommandTime = bson.E{Key: "maxTimeMS", Value: commandTimeout.Milliseconds()}

// Shard is a shard that is read directly, bypassing the router.
type Shard struct {
	ID   catalog.ShardID
	Host string // its connection string
	// Problem is the reason why the shard can't be read; empty if it can.
	Problem string

	client *mongo.Client
}

// Shards are the shards of a cluster.
type Shards struct {
	Router *mongo.Client
	List   []*Shard
}

// maxParallelConnects is the maximum number of concurrent connection attempts.
const maxParallelConnects = 16

// Open connects to all shards with the settings of the router's client. With nil settings, it connects
// to none. A shard that is unreachable or denies access has a Problem.
func Open(ctx context.Context, router *mongo.Client, settings *options.ClientOptions) (*Shards, error) {
	s := &Shards{Router: router}
	docs, err := s.findInConfig(ctx, "shards", bson.D{}, bson.E{Key: "sort", Value: bson.D{{Key: "_id", Value: int32(1)}}})
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		parsed, err := catalog.ParseShard(doc)
		if err != nil {
			return nil, err
		}
		s.List = append(s.List, &Shard{ID: parsed.ID, Host: parsed.Host})
	}
	turn := make(chan struct{}, maxParallelConnects)
	var all sync.WaitGroup
	for _, shard := range s.List {
		all.Go(func() {
			turn <- struct{}{}
			shard.connect(ctx, settings)
			<-turn
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		s.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// connect connects to the shard, and checks whether it can be read.
func (s *Shard) connect(ctx context.Context, settings *options.ClientOptions) {
	if settings == nil {
		s.Problem = "there is no address by which the shard can be reached"
		return
	}
	client, err := live.ConnectShard(ctx, settings, s.Host)
	if err != nil {
		s.Problem = "it can't be reached: " + err.Error()
		if live.IsLoginError(err) {
			s.Problem = "it rejects the login (each shard has its own users): " + err.Error()
		}
		return
	}
	s.client = client
	if _, err := s.ReadDeletions(ctx, bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}); err != nil {
		s.MarkUnreadable(ctx, err)
	}
}

// MarkUnreadable marks a shard as unreadable because of an error.
func (s *Shard) MarkUnreadable(ctx context.Context, err error) {
	s.Problem, _, _ = strings.Cut(err.Error(), " to execute command {")
	if mongoerr.Is(err, mongoerr.Unauthorized) {
		s.Problem = "it refuses the read: on the shard, the user needs the role read on the databases and on config, and " +
			"from 8.0 on directShardOperations: " + s.Problem
	}
	s.close(ctx)
}

func (s *Shard) close(ctx context.Context) {
	if s.client != nil {
		_ = live.Disconnect(context.WithoutCancel(ctx), s.client) // errors do not matter after reads
		s.client = nil
	}
}

// Close closes the connections.
func (s *Shards) Close(ctx context.Context) {
	for _, shard := range s.List {
		shard.close(ctx)
	}
}

// IDs returns the IDs of all shards.
func (s *Shards) IDs() (ids []catalog.ShardID) {
	for _, shard := range s.List {
		ids = append(ids, shard.ID)
	}
	return ids
}

// ReadableShards returns the shards that can be read.
func (s *Shards) ReadableShards() []*Shard {
	return slices.DeleteFunc(slices.Clone(s.List), func(s *Shard) bool { return s.client == nil })
}

// UnreadableIDs returns the IDs of the shards that can't be read.
func (s *Shards) UnreadableIDs() (ids []catalog.ShardID) {
	for _, shard := range s.List {
		if shard.client == nil {
			ids = append(ids, shard.ID)
		}
	}
	return ids
}

// ReadableShard returns a shard; nil if it can't be read.
func (s *Shards) ReadableShard(id catalog.ShardID) *Shard {
	i := slices.IndexFunc(s.List, func(s *Shard) bool { return s.ID == id && s.client != nil })
	if i < 0 {
		return nil
	}
	return s.List[i]
}

func (s *Shard) runCursorCommand(ctx context.Context, database string, command bson.D) ([]bson.Raw, error) {
	docs, err := live.NewCommandRunner(s.client).RunCursorCommand(ctx, database, append(command, maxCommandTime))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.ID, live.ServerError(err))
	}
	return docs, nil
}

// ReadHoldings returns the collections of a shard, by namespace, without views and internal
// collections. Their Indexes are not read.
func (s *Shard) ReadHoldings(ctx context.Context, databases []string) (map[string]*placement.Holding, error) {
	held := map[string]*placement.Holding{}
	for _, database := range databases {
		docs, err := s.runCursorCommand(ctx, database, bson.D{{Key: "listCollections", Value: int32(1)}})
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			kind, _ := doc.Lookup("type").StringValueOK()
			name, _ := doc.Lookup("name").StringValueOK()
			h := &placement.Holding{Shard: s.ID, Host: s.Host}
			h.Options, _ = doc.Lookup("options").DocumentOK()
			var stored bool // a time series may be a view of its buckets
			h.UUID.Subtype, h.UUID.Data, stored = doc.Lookup("info", "uuid").BinaryOK()
			if kind == "view" || !stored || !isAudited(name) {
				continue
			}
			held[database+"."+name] = h
		}
	}
	return held, nil
}

// isAudited reports whether a collection is audited. Internal collections are not.
func isAudited(name string) bool {
	return !strings.HasPrefix(name, "system.") || strings.HasPrefix(name, "system.buckets.")
}

// ReadIndexes lists the indexes of a collection.
func (s *Shard) ReadIndexes(ctx context.Context, ns string) ([]bson.Raw, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	docs, err := s.runCursorCommand(ctx, database, bson.D{{Key: "listIndexes", Value: name}})
	if mongoerr.Is(err, mongoerr.NamespaceNotFound) {
		return nil, nil
	}
	return docs, err
}

// Count returns the document count from the metadata of the collection.
func (s *Shard) Count(ctx context.Context, ns string) (int64, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return 0, err
	}
	reply, err := live.NewCommandRunner(s.client).
		RunCommand(ctx, database, bson.D{{Key: "count", Value: name}, maxCommandTime})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.ID, live.ServerError(err))
	}
	n, _ := reply.Lookup("n").AsInt64OK()
	return n, nil
}

// CountByScan counts documents by a full scan.
func (s *Shard) CountByScan(ctx context.Context, ns string) (n int64, err error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return 0, err
	}
	err = live.EachDocument(ctx, s.client, database, bson.D{
		{Key: "aggregate", Value: name}, {Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$match", Value: bson.D{}}},
			bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil},
				{Key: "n", Value: bson.D{{Key: "$sum", Value: int32(1)}}}}}},
		}}, {Key: "cursor", Value: bson.D{}},
	}, func(doc bson.Raw) error {
		n, _ = doc.Lookup("n").AsInt64OK()
		return nil
	})
	return n, err
}

// ReadDeletions returns the shard's documents of config.rangeDeletions for a collection.
func (s *Shard) ReadDeletions(ctx context.Context, uuid bson.Binary) ([]bson.Raw, error) {
	return s.runCursorCommand(ctx, "config", bson.D{
		{Key: "find", Value: "rangeDeletions"}, {Key: "filter", Value: bson.D{{Key: "collectionUuid", Value: uuid}}},
		live.ReadConcernMajority,
	})
}

// ParseDeletions returns the range deletions of one collection.
func ParseDeletions(coll catalog.Collection, docs []bson.Raw) (list []placement.RangeDeletion) {
	for _, doc := range docs {
		d := placement.RangeDeletion{}
		d.UUID.Subtype, d.UUID.Data, _ = doc.Lookup("collectionUuid").BinaryOK()
		lower, begins := doc.Lookup("range", "min").DocumentOK()
		upper, ends := doc.Lookup("range", "max").DocumentOK()
		if !begins || !ends { // otherwise the range would be all keys
			continue
		}
		var err error
		if d.Min, err = coll.Pattern.ExtendBound(lower); err != nil {
			continue
		}
		if d.Max, err = coll.Pattern.ExtendBound(upper); err != nil {
			continue
		}
		d.MigrationBegan.T, d.MigrationBegan.I, _ = doc.Lookup("timestamp").TimestampOK()
		list = append(list, d)
	}
	return list
}

// ReadDDLNamespaces returns the databases and collections that DDL operations coordinated by the shard are
// working on, and which are therefore not in a stable state.
func (s *Shard) ReadDDLNamespaces(ctx context.Context) (names []string, err error) {
	docs, err := s.runCursorCommand(ctx, "config", bson.D{{Key: "find", Value: "system.sharding_ddl_coordinators"}})
	for _, doc := range docs {
		if ns, ok := doc.Lookup("_id", "namespace").StringValueOK(); ok {
			names = append(names, ns)
		}
	}
	return names, err
}

// DocumentQuery selects documents by the values of fields.
type DocumentQuery struct {
	Filter, Projection bson.D // all fields by default
	// Collation is how texts compare; nil is as the collection has it.
	Collation bson.Raw
}

// FindDocs returns documents as they are now on the primary.
func (s *Shard) FindDocs(ctx context.Context, ns string, q DocumentQuery) ([]bson.Raw, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	command := bson.D{{Key: "find", Value: name}, {Key: "filter", Value: q.Filter}, live.ReadConcernMajority}
	if q.Projection != nil {
		command = append(command, bson.E{Key: "projection", Value: q.Projection})
	}
	if q.Collation != nil {
		command = append(command, bson.E{Key: "collation", Value: q.Collation})
	}
	return s.runCursorCommand(ctx, database, command)
}

// ReadRandomID returns the _id of a random document, as a document; nil if there is none.
func (s *Shard) ReadRandomID(ctx context.Context, ns string) (bson.Raw, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	docs, err := s.runCursorCommand(ctx, database, bson.D{
		{Key: "aggregate", Value: name}, {Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$sample", Value: bson.D{{Key: "size", Value: int32(1)}}}},
			bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: int32(1)}}}},
		}}, {Key: "cursor", Value: bson.D{}},
	})
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	return docs[0], nil
}
