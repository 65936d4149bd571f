// Package holdings reads what each shard of a cluster has, past the router: its collections,
// with the documents that it does not own, and its range deletions; and what the config
// database says about them. It changes nothing.
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

// limit bounds each command but those that read documents.
const limit = 30 * time.Second

var limited = bson.E{Key: "maxTimeMS", Value: limit.Milliseconds()}

var majority = bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: "majority"}}}

// Shard is a shard that may be read past the router.
type Shard struct {
	ID   catalog.ShardID
	Host string // its connection string
	// Problem says why it can't be read; empty if it can.
	Problem string

	client *mongo.Client
}

// Shards are those of a cluster.
type Shards struct {
	Router *mongo.Client
	List   []*Shard
}

// atOnce is how many shards are connected to at the same time.
const atOnce = 16

// Open connects to all shards with the settings of the router's client; nil settings connect to
// none. What can't be reached, or does not let itself be read, has a Problem.
func Open(ctx context.Context, router *mongo.Client, settings *options.ClientOptions) (*Shards, error) {
	s := &Shards{Router: router}
	docs, err := s.config(ctx, "shards", bson.D{}, bson.E{Key: "sort", Value: bson.D{{Key: "_id", Value: int32(1)}}})
	if err != nil {
		return nil, err
	}
	turn := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, doc := range docs {
		parsed, err := catalog.ParseShard(doc)
		if err != nil {
			return nil, err
		}
		shard := &Shard{ID: parsed.ID, Host: parsed.Host}
		s.List = append(s.List, shard)
		all.Go(func() {
			turn <- struct{}{}
			shard.open(ctx, settings)
			<-turn
		})
	}
	all.Wait()
	return s, ctx.Err()
}

// open connects, and finds out whether it may read.
func (s *Shard) open(ctx context.Context, settings *options.ClientOptions) {
	if settings == nil {
		s.Problem = "there is no address by which shards are reached"
		return
	}
	client, err := live.ConnectShard(ctx, settings, s.Host)
	if err != nil {
		s.Problem = "it can't be reached: " + err.Error()
		if strings.Contains(err.Error(), "auth") {
			s.Problem = "it rejects the login, for each shard has its own users: " + err.Error()
		}
		return
	}
	s.client = client
	if _, err := s.Deletions(ctx, bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}); err != nil {
		s.Leave(ctx, err)
	}
}

// Leave has a shard count as one that can't be read, for an error.
func (s *Shard) Leave(ctx context.Context, err error) {
	s.Problem, _, _ = strings.Cut(err.Error(), " to execute command {")
	if mongoerr.Is(err, mongoerr.Unauthorized) {
		s.Problem = "it refuses to be read: there the user needs the role read on the databases and on config, and " +
			"from 8.0 on directShardOperations: " + s.Problem
	}
	s.close(ctx)
}

func (s *Shard) close(ctx context.Context) {
	if s.client != nil {
		_ = live.Disconnect(context.WithoutCancel(ctx), s.client) // it was only read
		s.client = nil
	}
}

// Close ends the connections.
func (s *Shards) Close(ctx context.Context) {
	for _, shard := range s.List {
		shard.close(ctx)
	}
}

// IDs returns the names of all shards.
func (s *Shards) IDs() (ids []catalog.ShardID) {
	for _, shard := range s.List {
		ids = append(ids, shard.ID)
	}
	return ids
}

// Seen returns the shards that can be read.
func (s *Shards) Seen() []*Shard {
	return slices.DeleteFunc(slices.Clone(s.List), func(s *Shard) bool { return s.client == nil })
}

// Unseen returns those that can't.
func (s *Shards) Unseen() (ids []catalog.ShardID) {
	for _, shard := range s.List {
		if shard.client == nil {
			ids = append(ids, shard.ID)
		}
	}
	return ids
}

// Of returns a shard that can be read; nil if it can't.
func (s *Shards) Of(id catalog.ShardID) *Shard {
	i := slices.IndexFunc(s.List, func(s *Shard) bool { return s.ID == id && s.client != nil })
	if i < 0 {
		return nil
	}
	return s.List[i]
}

func (s *Shard) run(ctx context.Context, database string, command bson.D) ([]bson.Raw, error) {
	docs, err := live.NewCommandRunner(s.client).RunCursorCommand(ctx, database, append(command, limited))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.ID, live.ServerError(err))
	}
	return docs, nil
}

// Held are the collections of a shard, by namespace, without views and what is the shard's
// own; Indexes are not read yet. None are all databases.
func (s *Shard) Held(ctx context.Context, databases []string) (map[string]*placement.Holding, error) {
	held := map[string]*placement.Holding{}
	for _, database := range databases {
		docs, err := s.run(ctx, database, bson.D{{Key: "listCollections", Value: int32(1)}})
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
			if kind == "view" || !stored || !audited(name) {
				continue
			}
			held[database+"."+name] = h
		}
	}
	return held, nil
}

// audited leaves out what servers keep for themselves.
func audited(name string) bool {
	return !strings.HasPrefix(name, "system.") || strings.HasPrefix(name, "system.buckets.")
}

// Indexes lists the indexes of a collection.
func (s *Shard) Indexes(ctx context.Context, ns string) ([]bson.Raw, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	docs, err := s.run(ctx, database, bson.D{{Key: "listIndexes", Value: name}})
	if mongoerr.Is(err, mongoerr.NamespaceNotFound) {
		return nil, nil
	}
	return docs, err
}

// Count is how many documents the shard counts without looking at them.
func (s *Shard) Count(ctx context.Context, ns string) (int64, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return 0, err
	}
	reply, err := live.NewCommandRunner(s.client).RunCommand(ctx, database, bson.D{{Key: "count", Value: name}, limited})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.ID, live.ServerError(err))
	}
	n, _ := reply.Lookup("n").AsInt64OK()
	return n, nil
}

// CountAll looks at all documents to count them.
func (s *Shard) CountAll(ctx context.Context, ns string) (n int64, err error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return 0, err
	}
	err = live.Each(ctx, s.client, database, bson.D{
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

// Deletions are the shard's documents of config.rangeDeletions of a collection, as they are.
func (s *Shard) Deletions(ctx context.Context, uuid bson.Binary) ([]bson.Raw, error) {
	return s.run(ctx, "config", bson.D{
		{Key: "find", Value: "rangeDeletions"}, {Key: "filter", Value: bson.D{{Key: "collectionUuid", Value: uuid}}},
		majority,
	})
}

// DeletionsOf returns the range deletions of one collection.
func DeletionsOf(coll catalog.Collection, docs []bson.Raw) (list []placement.Deletion) {
	for _, doc := range docs {
		d := placement.Deletion{}
		d.UUID.Subtype, d.UUID.Data, _ = doc.Lookup("collectionUuid").BinaryOK()
		lower, begins := doc.Lookup("range", "min").DocumentOK()
		upper, ends := doc.Lookup("range", "max").DocumentOK()
		if !begins || !ends { // or else it would be all keys
			continue
		}
		var err error
		if d.Min, err = coll.Pattern.ExtendBound(lower); err != nil {
			continue
		}
		if d.Max, err = coll.Pattern.ExtendBound(upper); err != nil {
			continue
		}
		d.Since.T, d.Since.I, _ = doc.Lookup("timestamp").TimestampOK()
		list = append(list, d)
	}
	return list
}

// Busy returns the databases and collections that commands work on, as far as the shard
// coordinates them: what they leave is not at rest.
func (s *Shard) Busy(ctx context.Context) (names []string, err error) {
	docs, err := s.run(ctx, "config", bson.D{{Key: "find", Value: "system.sharding_ddl_coordinators"}})
	for _, doc := range docs {
		if ns, ok := doc.Lookup("_id", "namespace").StringValueOK(); ok {
			names = append(names, ns)
		}
	}
	return names, err
}

// Find returns documents of some _ids as they are now on the primary, all of them or the
// fields of a projection.
func (s *Shard) Find(ctx context.Context, ns string, filter, projection bson.D) ([]bson.Raw, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	command := bson.D{{Key: "find", Value: name}, {Key: "filter", Value: filter}, majority}
	if projection != nil {
		command = append(command, bson.E{Key: "projection", Value: projection})
	}
	return s.run(ctx, database, command)
}

// Random returns the _id of a document by chance, as a document; nil where there is none.
func (s *Shard) Random(ctx context.Context, ns string) (bson.Raw, error) {
	database, name, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil, err
	}
	docs, err := s.run(ctx, database, bson.D{
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
