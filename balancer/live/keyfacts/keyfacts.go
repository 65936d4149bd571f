// Package keyfacts reads the data on which the choice of a shard key depends, through the driver, with
// limits on documents, bytes and time. It changes nothing, except that analyzeShardKey, which it runs
// if available, makes the servers store split points for a while.
package keyfacts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyadvice"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/placement"
)

// Options say what is read, and set limits.
type Options struct {
	// Keys are the shard keys to evaluate; if empty, candidates are proposed.
	Keys []keyadvice.ShardKey
	// Queries are the queries on the collection; if empty, sampled queries are read.
	Queries []keyadvice.Query
	// ExpectBytes is the expected size of the collection; 0 means unknown.
	ExpectBytes int64
	// ExpectDocs is the expected number of documents, as an alternative to ExpectBytes.
	ExpectDocs int64
	// SampleDocs and SampleBytes limit the sample; zero means 10,000 and 64 MiB.
	SampleDocs  int
	SampleBytes int64
	// MaxTime limits each command; zero means 30 seconds.
	MaxTime time.Duration
	// NoAnalyzeReason is the reason not to run analyzeShardKey. If it is empty, analyzeShardKey runs.
	NoAnalyzeReason string
	// MeasureSpeed also measures the speed of migrations.
	MeasureSpeed bool
	// OnRead is called with a description of each read; may be nil.
	OnRead func(string)

	allowMissing bool // the collection need not exist
}

func (o Options) withDefaults() Options {
	o.SampleDocs = cmp.Or(o.SampleDocs, 10_000)
	o.SampleBytes = cmp.Or(o.SampleBytes, 64<<20)
	o.MaxTime = cmp.Or(o.MaxTime, 30*time.Second)
	if o.OnRead == nil {
		o.OnRead = func(string) {}
	}
	return o
}

// reading is the read of one collection.
type reading struct {
	Options
	client   *mongo.Client
	database string
	name     string
	facts    keyadvice.Facts
	missing  bool // the collection does not exist
}

// Advise reads a collection and recommends a shard key.
func Advise(ctx context.Context, client *mongo.Client, ns string, o Options) (keyadvice.Advice, error) {
	r, err := newReading(ctx, client, ns, o)
	if err != nil {
		return keyadvice.Advice{}, err
	}
	if err := r.readAll(ctx); err != nil {
		return keyadvice.Advice{}, err
	}
	if err := r.analyzeBestKeys(ctx); err != nil {
		return keyadvice.Advice{}, err
	}
	return keyadvice.Advise(r.facts, r.Keys), nil
}

// AdviseChunkSize reads a collection and recommends a chunk size.
func AdviseChunkSize(ctx context.Context, client *mongo.Client, ns string,
	o Options) (keyadvice.ChunkSizeAdvice, error) {
	o.MeasureSpeed = true
	f, err := ReadFacts(ctx, client, ns, o)
	return keyadvice.AdviseChunkSize(f), err
}

// ErrNoKey says that there is no shard key by which a collection could be split.
var ErrNoKey = errors.New("it is not sharded and no shard key can be recommended: pass one with key")

// AdvisePresplit reads a collection, which need not exist, and recommends how to presplit it: by its
// shard key, by the first of Options.Keys, or by the best candidate.
func AdvisePresplit(ctx context.Context, client *mongo.Client, ns string, o Options) (keyadvice.Presplit, error) {
	o.allowMissing = true
	f, err := ReadFacts(ctx, client, ns, o)
	if err != nil {
		return keyadvice.Presplit{}, err
	}
	if o.ExpectDocs > 0 {
		if f.Docs == 0 {
			return keyadvice.Presplit{}, fmt.Errorf("%s has no documents, so their size is unknown: "+
				"pass the expected bytes in place of docs", ns)
		}
		f.ExpectBytes = max(f.ExpectBytes, f.BytesOf(o.ExpectDocs))
	}
	switch {
	case len(f.Current) > 0:
		return keyadvice.AdvisePresplit(f, f.Current), nil
	case len(o.Keys) > 0:
		return keyadvice.AdvisePresplit(f, o.Keys[0]), nil
	case f.Docs > 0:
		if best := keyadvice.Advise(f, nil).Best; best != nil {
			return keyadvice.AdvisePresplit(f, best.Key), nil
		}
	}
	return keyadvice.Presplit{}, fmt.Errorf("%s: %w", ns, ErrNoKey)
}

// ReadFacts reads a collection without running analyzeShardKey.
func ReadFacts(ctx context.Context, client *mongo.Client, ns string, o Options) (keyadvice.Facts, error) {
	r, err := newReading(ctx, client, ns, o)
	if err == nil {
		err = r.readAll(ctx)
	}
	return r.facts, err
}

// newReading reads the cluster metadata of the collection.
func newReading(ctx context.Context, client *mongo.Client, ns string, o Options) (*reading, error) {
	r := &reading{Options: o.withDefaults(), client: client}
	var err error
	if r.database, r.name, err = catalog.SplitNamespace(ns); err != nil {
		return r, err
	}
	r.facts = keyadvice.Facts{Namespace: ns, ExpectBytes: o.ExpectBytes, Queries: o.Queries,
		Measurements: map[string]keyadvice.Measurement{}}
	parts := live.BalancerParts
	if o.MeasureSpeed {
		parts = live.DefaultParts &^ live.Disks // the advice does not depend on volumes
	}
	s, err := live.NewReader(client, live.ReaderOptions{Parts: parts, Namespaces: []string{ns}}).Read(ctx)
	if err != nil {
		return r, err
	}
	r.facts.Shards = len(s.NonDrainingShards())
	r.facts.Release, r.facts.ChunkBytes = s.Release(), s.Settings().MaxChunkSizeBytes
	if c := s.Collection(ns); c != nil && !c.Unsplittable {
		if r.facts.Current, err = keyadvice.ParseShardKey(c.Pattern.Doc()); err != nil {
			return r, fmt.Errorf("the shard key of %s: %w", ns, err)
		}
		r.facts.ChunkBytes = c.ChunkSize(s.Settings())
	}
	r.facts.ZoneFields, r.facts.ZoneRanges = collectionZones(ns, s)
	r.facts.BytesPerSecond = migrationSpeed(s.Parts().Changes)
	return r, nil
}

// readAll reads the collection.
func (r *reading) readAll(ctx context.Context) error {
	for _, part := range []struct {
		what string
		read func(context.Context) error
	}{
		{"the indexes", r.readIndexes}, {"the size", r.readSize}, {"the queries", r.readQueries},
		{"a sample of the documents", r.readSample},
	} {
		if r.missing {
			return nil
		}
		r.OnRead("reading " + part.what)
		if err := part.read(ctx); err != nil {
			return fmt.Errorf("reading %s of %s: %w", part.what, r.facts.Namespace, err)
		}
	}
	return nil
}

// runCursorCommand returns all documents of a command on the collection's database.
func (r *reading) runCursorCommand(ctx context.Context, command bson.D) ([]bson.Raw, error) {
	return live.NewCommandRunner(r.client).RunCursorCommand(ctx, r.database, command)
}

// aggregateCommand returns an aggregate command on the collection with a time limit.
func (r *reading) aggregateCommand(stages ...bson.D) bson.D {
	return bson.D{{Key: "aggregate", Value: r.name}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{}},
		r.maxTimeMS()}
}

func (r *reading) maxTimeMS() bson.E {
	return bson.E{Key: "maxTimeMS", Value: r.MaxTime.Milliseconds()}
}

// noteRefusal records an error of the server as a note. It returns other errors.
func (r *reading) noteRefusal(ctx context.Context, what string, err error) error {
	refused := new(mongoerr.ServerError)
	if err = live.ServerError(err); ctx.Err() != nil || !errors.As(err, &refused) {
		return err
	}
	r.facts.Notes = append(r.facts.Notes,
		fmt.Sprintf("%s could not be read: %s", what, live.ShortenUnauthorized(refused.Message)))
	return nil
}

func (r *reading) readIndexes(ctx context.Context) error {
	docs, err := r.runCursorCommand(ctx, bson.D{{Key: "listIndexes", Value: r.name}})
	if r.allowMissing && mongoerr.Is(live.ServerError(err), mongoerr.NamespaceNotFound) {
		r.missing = true
		return nil
	}
	if err != nil {
		return err
	}
	for _, doc := range docs {
		key, _ := doc.Lookup("key").DocumentOK()
		name, _ := doc.Lookup("name").StringValueOK()
		x := keyadvice.Index{Name: name, Key: key, Unique: isTrue(doc, "unique"), UseCount: -1}
		x.CannotServeKey = isTrue(doc, "sparse") || !doc.Lookup("partialFilterExpression").IsZero() ||
			placement.CollationOf(doc) != nil
		r.facts.Indexes = append(r.facts.Indexes, x)
	}
	return r.readIndexUsage(ctx)
}

func isTrue(doc bson.Raw, name string) bool {
	b, _ := doc.Lookup(name).BooleanOK()
	return b
}

// readIndexUsage reads how often each index was used, in total on all shards.
func (r *reading) readIndexUsage(ctx context.Context) error {
	docs, err := r.runCursorCommand(ctx, r.aggregateCommand(bson.D{{Key: "$indexStats", Value: bson.D{}}}))
	if err != nil {
		return r.noteRefusal(ctx, "how often indexes are used", err)
	}
	for _, doc := range docs {
		name, _ := doc.Lookup("name").StringValueOK()
		ops, _ := doc.Lookup("accesses", "ops").AsInt64OK()
		i := slices.IndexFunc(r.facts.Indexes, func(x keyadvice.Index) bool { return x.Name == name })
		if i >= 0 {
			r.facts.Indexes[i].UseCount = max(r.facts.Indexes[i].UseCount, 0) + ops
		}
	}
	return nil
}

func (r *reading) readSize(ctx context.Context) error {
	docs, err := r.runCursorCommand(ctx, r.aggregateCommand(
		bson.D{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "storageStats.size", Value: 1}, {Key: "storageStats.count",
			Value: 1}}}}))
	if err != nil {
		return err
	}
	for _, doc := range docs {
		size, _ := doc.Lookup("storageStats", "size").AsInt64OK()
		count, _ := doc.Lookup("storageStats", "count").AsInt64OK()
		r.facts.Bytes, r.facts.Docs = r.facts.Bytes+size, r.facts.Docs+count
	}
	return nil
}
