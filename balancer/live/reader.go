package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Reader makes Snapshots of a cluster through one of its routers, of any
// release from 4.4 on. It may be used by several goroutines.
type Reader struct {
	client  *mongo.Client
	options ReaderOptions
}

// ReaderOptions say what a Reader reads, and how. The zero value reads all that
// a router tells without asking every collection for its balance.
type ReaderOptions struct {
	// Source is what the Snapshot says of where it came from; SourceLive when it
	// has no kind.
	Source catalog.Source
	// Compliance asks balancerCollectionStatus for each sharded collection, and
	// shardDrainingStatus for each shard that drains. The first one has the
	// config server select migrations, which takes its time.
	Compliance bool
	// Causes asks what only explanations need: the indexes of shard keys, what
	// jumbo chunks and the ranges of zones hold (some of each, a few look-ups a
	// piece), and one dbStats for each database.
	Causes bool
	// SkipFlags leaves out, on reading incrementally, what no version tells:
	// that a chunk was flagged jumbo, or measured. To find those a config server
	// looks through all chunks of a collection.
	SkipFlags bool
	// Namespaces are the only collections to read; nil = all.
	Namespaces []string
	// Parallel is how many collections are read at once; 4 when it is zero.
	Parallel int
	// Tries is how often a collection is looked at again that changes while it
	// is read; 5 when it is zero.
	Tries int
	// LogEntries is how many entries of each log are read, the newest ones;
	// 100,000 when it is zero.
	LogEntries int
	// SkipLogs leaves both logs out.
	SkipLogs bool
	// ShardClient connects to a shard, whose range deletions are read then. The
	// Reader does not disconnect it. Nil: nobody asks the shards.
	ShardClient func(context.Context, catalog.Shard) (*mongo.Client, error)
}

// NewReader returns a Reader that asks through a client of a mongos.
func NewReader(client *mongo.Client, o ReaderOptions) *Reader {
	if o.Source.Kind == "" {
		o.Source.Kind = catalog.SourceLive
	}
	o.Parallel = cmp.Or(o.Parallel, 4)
	o.Tries = cmp.Or(o.Tries, 5)
	o.LogEntries = cmp.Or(o.LogEntries, 100_000)
	return &Reader{client: client, options: o}
}

// ReadError says which part of a cluster could not be read because the way to
// the cluster failed.
type ReadError struct {
	What      string // as in catalog.Gap
	Namespace string // empty when it is not about one collection
	Err       error
}

func (e *ReadError) Error() string {
	if e.Namespace != "" {
		return fmt.Sprintf("reading %s of %s: %v", e.What, e.Namespace, e.Err)
	}
	return fmt.Sprintf("reading %s: %v", e.What, e.Err)
}

// Unwrap returns the error of the driver.
func (e *ReadError) Unwrap() error { return e.Err }

// Read reads the cluster. What the server refuses, or what makes no sense, is a
// gap of the Snapshot's source; when the server can't be reached, or the context
// ends, the error is a *ReadError. A server that is no mongos is ErrNotSharded.
func (r *Reader) Read(ctx context.Context) (*catalog.Snapshot, error) { return r.ReadSince(ctx, nil) }

// ReadSince is Read that reads only the chunks that have changed since an older
// Snapshot of the same cluster. Collections that are not the same any more, or
// that it did not have, are read anew; from nil all are.
func (r *Reader) ReadSince(ctx context.Context, old *catalog.Snapshot) (*catalog.Snapshot, error) {
	rd := &reading{Reader: r, old: old}
	rd.config = r.client.Database("config", options.Database().
		SetReadConcern(readconcern.Majority()).SetReadPreference(readpref.Primary()))
	rd.admin = r.client.Database("admin")
	if err := rd.router(ctx); err != nil {
		return nil, err
	}
	rd.sameCluster()
	for _, part := range []func(context.Context) error{
		rd.catalog, rd.reach, rd.collections, rd.zones, rd.sizes, rd.balancer, rd.compliance, rd.activity, rd.deletions,
		rd.logs, rd.switched, rd.causes,
	} {
		err := part(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if _, typed := errors.AsType[*ReadError](err); err != nil && !typed {
			err = &ReadError{What: "the cluster", Err: err}
		}
		if err != nil {
			return nil, err
		}
	}
	return rd.snapshot(), nil
}

// reading is one Read under way.
type reading struct {
	*Reader
	old           *catalog.Snapshot
	config, admin *mongo.Database

	parts catalog.SnapshotParts
	mu    sync.Mutex
	gaps  []catalog.Gap
}

func (r *reading) snapshot() *catalog.Snapshot {
	r.parts.Source = r.options.Source
	slices.SortFunc(r.gaps, func(a, b catalog.Gap) int {
		return cmp.Or(strings.Compare(a.What, b.What), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(string(a.Shard), string(b.Shard)), strings.Compare(a.Reason, b.Reason))
	})
	r.parts.Source.Gaps = append(slices.Clip(r.parts.Source.Gaps), r.gaps...)
	return catalog.NewSnapshot(r.parts)
}

// gap notes that something could not be read.
func (r *reading) gap(g catalog.Gap, because error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, gapBecause(g, because))
}

// part turns the failure of a part into a gap, or into the error that ends the
// reading.
func (r *reading) part(ctx context.Context, g catalog.Gap, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && (refused(err) || senseless(err)):
		r.gap(g, err)
		return nil
	}
	return &ReadError{What: g.What, Namespace: g.Namespace, Err: err}
}

// refused reports whether a server answered, and would not or could not do what
// it was asked.
func refused(err error) bool {
	_, answered := errors.AsType[mongo.ServerError](err)
	return answered && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err)
}

// senseless reports whether documents were read that the catalog can't make
// sense of.
func senseless(err error) bool {
	_, ours := errors.AsType[*mongoerr.ServerError](err)
	return ours || errors.Is(err, catalog.ErrNotShardKey)
}

// router learns who answers, and what time it is there.
func (r *reading) router(ctx context.Context) error {
	hello, err := r.run(ctx, bson.D{{Key: "hello", Value: 1}})
	if mongoerr.Is(ServerError(err), mongoerr.CommandNotFound) { // before 4.4.2
		hello, err = r.run(ctx, bson.D{{Key: "isMaster", Value: 1}})
	}
	if err != nil {
		return &ReadError{What: "hello", Err: err}
	}
	if text(hello, "msg") != "isdbgrid" {
		return ErrNotSharded
	}
	if ms, ok := hello.Lookup("localTime").DateTimeOK(); ok {
		r.parts.Time = time.UnixMilli(ms).UTC()
	}
	if t, i, ok := hello.Lookup("$clusterTime", "clusterTime").TimestampOK(); ok {
		r.parts.ClusterTime = bson.Timestamp{T: t, I: i}
	}
	info, err := r.run(ctx, bson.D{{Key: "buildInfo", Value: 1}})
	if err != nil {
		return &ReadError{What: "buildInfo", Err: err}
	}
	r.parts.Version = text(info, "version")
	line, known := catalog.ReleaseOf(r.parts.Version)
	if !known {
		return &ReadError{What: "buildInfo", Err: fmt.Errorf("no known version: %q", r.parts.Version)}
	}
	r.parts.Release = line
	return nil
}

// sameCluster forgets an older Snapshot of another release, whose chunks may be
// stored in another way.
func (r *reading) sameCluster() {
	if r.old != nil && r.old.Release() != r.parts.Release {
		r.old = nil
	}
}

// run runs a command on admin.
func (r *reading) run(ctx context.Context, command bson.D) (bson.Raw, error) {
	return NewCommandRunner(r.client).RunCommand(ctx, "admin", command)
}

// closeTime is how long a reading that has ended waits for a server to forget a
// cursor.
const closeTime = 2 * time.Second

// each calls use for every document of a cursor. A document is only good until
// use returns, and nothing of it was copied.
func each(ctx context.Context, cursor *mongo.Cursor, use func(bson.Raw) error) (err error) {
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if closed := cursor.Close(closing); err == nil {
			err = closed
		}
	}()
	for cursor.Next(ctx) {
		if err := use(cursor.Current); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// documents reads what there is of a small collection of config.
func (r *reading) documents(ctx context.Context, name string, filter any,
	opts ...options.Lister[options.FindOptions]) ([]bson.Raw, error) {
	return rows(ctx, func() (*mongo.Cursor, error) { return r.config.Collection(name).Find(ctx, filter, opts...) })
}

// inParallel does something for each of a list, some at once, and returns the
// first error; that ends the others.
func inParallel[T any](ctx context.Context, most int, list []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var workers sync.WaitGroup
	for range min(most, len(list)) {
		workers.Go(func() {
			for v := range work {
				if err := mongoerr.Guard(nil, "reading the cluster", func() error { return do(ctx, v) }); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for _, v := range list {
		select {
		case work <- v:
		case <-ctx.Done():
			break feed
		}
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}
