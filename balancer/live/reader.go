// Package live reads and changes a sharded cluster through a mongos.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/catalog"
)

// Reader reads a sharded cluster, or parts of it, into Snapshots. It is safe for concurrent use.
type Reader struct {
	source      source
	options     ReaderOptions
	memberCache atomic.Pointer[cachedMembers]
}

// ReaderOptions say what a Reader reads, and how.
type ReaderOptions struct {
	// Parts selects the parts to read; the default is DefaultParts.
	Parts Part
	// Required are the parts that a Snapshot must have. If the server refuses to return one of them,
	// the read fails; for other parts, the Snapshot gets a gap. Identity is always required.
	Required Part
	// Source is the source that the Snapshot records. An empty kind means SourceLive.
	Source catalog.Source
	// Namespaces are the collections to read; nil means all. Without the part Collections, the Reader
	// assumes that they exist.
	Namespaces []string
	// WantsTable, with the parts Chunks and ChunkCounts, selects the collections whose routing tables are
	// read, based on the parts that were read before. The chunks of other collections are only counted.
	// Nil selects all. The Snapshot is valid until WantsTable returns.
	WantsTable func(s *catalog.Snapshot, c *catalog.CollectionState) bool
	// WantsOutline, with WantsTable, selects the collections of whose tables only an Outline is kept
	// after they were read. Its Snapshot contains the parts that are read before the tables, including
	// the operations in progress. It may be called concurrently. Nil selects none.
	WantsOutline func(s *catalog.Snapshot, c *catalog.CollectionState) bool
	// Shard limits ChunkCounts and Drains to one shard; empty means all shards.
	Shard catalog.ShardID
	// WantsDetails limits BalanceStatuses, ExplanationData and KeySamples to some collections; nil means all.
	WantsDetails func(namespace string) bool
	// OutcomeSpan is the period up to now that MigrationOutcomes covers.
	OutcomeSpan time.Duration
	// Now and Release are the Snapshot's time and release if the part Identity is not read. A zero
	// Release is unknown; then the Reader also tries commands that only some releases have.
	Now     time.Time
	Release catalog.Release
	// TimeZone is the time zone of the config servers, for the part WindowClock; nil determines it.
	TimeZone *time.Location
	// Parallel is the number of collections that are read concurrently. The default is 4 with a client,
	// and 1 with a CommandRunner.
	Parallel int
	// MaxTries limits the retries for a collection that changes during the read;
	// 5 by default.
	MaxTries int
	// MaxLogEntries is the maximum number of entries of each log to read, the newest ones; 100,000 by
	// default.
	MaxLogEntries int
	// MaxShardWait limits the total time that commands may spend on shards that do not answer:
	// 6 s by default. Data that could not be read is a gap.
	MaxShardWait time.Duration
	// MemberClientOptions are the settings of the cluster's client, for connections to members, for the part
	// MemberVersions. Nil skips the part.
	MemberClientOptions *options.ClientOptions
	// OnProgress, if set, is called with the progress of reading routing tables. It is never called
	// concurrently.
	OnProgress func(Progress)
	// OnDocuments, if set, is called with documents that a Snapshot does not contain: those of "locks"
	// and of "shardedDataDistribution", which are sorted by namespace.
	OnDocuments func(of string, docs []bson.Raw)
}

// NewReader returns a Reader that uses a client of a mongos of release 4.4 or newer.
// It reads config from the primary, with read concern majority.
func NewReader(client *mongo.Client, o ReaderOptions) *Reader {
	o.Parallel = cmp.Or(o.Parallel, 4)
	return newReader(clientSource{client: client}, o)
}

// NewSecondaryReader is like NewReader, for read-only verbs: large collections of config are read with the
// chosen read preference or, by default, from secondaries if they answer in time. The data are at least
// as recent as the beginning of the read.
func NewSecondaryReader(client *mongo.Client, chosen *readpref.ReadPref, o ReaderOptions) *Reader {
	o.Parallel = cmp.Or(o.Parallel, 4)
	return newReader(clientSource{client, newSecondaryReads(chosen)}, o)
}

// NewCommandReader returns a Reader that sends its commands through a CommandRunner, which determines
// read concern, read preference and session.
func NewCommandReader(commands CommandRunner, o ReaderOptions) *Reader {
	o.Parallel = cmp.Or(o.Parallel, 1)
	return newReader(commandSource{commands}, o)
}

func newReader(s source, o ReaderOptions) *Reader {
	o.Parts = cmp.Or(o.Parts, DefaultParts)
	o.Required |= Identity
	o.Source.Kind = cmp.Or(o.Source.Kind, catalog.SourceLive)
	o.MaxTries = cmp.Or(o.MaxTries, 5)
	o.MaxShardWait = cmp.Or(o.MaxShardWait, totalShardTimeout)
	o.MaxLogEntries = cmp.Or(o.MaxLogEntries, 100_000)
	return &Reader{source: s, options: o}
}

// Read reads the cluster. The error is ErrNotSharded if the server is not a mongos (with the part
// Identity), and a *ReadError if the server does not answer, the context ends, or the server refuses to
// return a required part.
func (r *Reader) Read(ctx context.Context) (*catalog.Snapshot, error) { return r.ReadSince(ctx, nil) }

// ReadSince is like Read, but it reads only the changes of the part Chunks since an older Snapshot of the
// same cluster. Collections that are not in the older Snapshot, or that were replaced since, are read
// completely.
func (r *Reader) ReadSince(ctx context.Context, old *catalog.Snapshot) (*catalog.Snapshot, error) {
	rd := &reading{
		Reader:        r,
		old:           old,
		shardTimeouts: shardTimeouts{maxTotal: r.options.MaxShardWait},
		parts: catalog.SnapshotParts{
			Time: r.options.Now, Release: r.options.Release, Config: map[string][]bson.Raw{},
		},
	}
	rd.progress.onProgress = r.options.OnProgress
	defer func() {
		if rd.awaitMembers != nil {
			rd.awaitMembers()
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before waiting for pending requests
	for _, step := range rd.steps() {
		if !rd.wants(step.parts) {
			continue
		}
		err := rd.gapOrError(ctx, step.parts, catalog.Gap{What: step.what}, step.read(ctx))
		if err == nil && ctx.Err() != nil {
			err = &ReadError{What: step.what, Err: ctx.Err()}
		}
		if err != nil {
			return nil, err
		}
	}
	return rd.snapshot(), nil
}

// reading is one read in progress.
type reading struct {
	*Reader
	old          *catalog.Snapshot
	wantedTables map[string]bool // the collections whose tables are read; nil means all

	parts             catalog.SnapshotParts
	shardTimeouts     shardTimeouts
	awaitMembers      func() []catalog.Member // waits for the answers of members
	probeLimits       probeLimits
	progress          progressCounter
	reachabilityKnown bool // it is known which shards the router can reach
	mu                sync.Mutex
	gaps              []catalog.Gap
}

// wants reports whether at least one of some parts is to be read.
func (r *reading) wants(parts Part) bool { return r.options.Parts&parts != 0 }

type step struct {
	parts Part
	what  string // as in catalog.Gap
	read  func(context.Context) error
}

// steps returns all parts in the order in which they are read.
func (r *reading) steps() []step {
	tables, logs, causes := &tableReading{reading: r}, logReading{r}, causeReader{r}
	return []step{
		{Identity, "hello", r.readIdentity},
		{Identity, "time", r.readClusterIDAndClock},
		{Compatibility, "compatibility", r.readCompatibility},
		{ConfigVersion, "version", r.readConfigVersionDoc},
		{Settings, "settings", r.readSettings},
		{Balancer, "balancer", r.readBalancer},
		{Shards, "shards", r.readShards},
		{MemberVersions, "members", r.startReadingVersions},
		{ShardSizes, "shard sizes", r.readShardSizes},
		{Reachability, "reach", r.readReachability},
		{Disks, "disks", r.readDisks},
		{Drains, "draining", r.readDrains},
		{Databases, "databases", r.readDatabases},
		{Collections | BalanceStatuses | ChunkCounts | Sizes, "collections", tables.readCollections},
		{ChunkCounts, "chunks", r.readCounts},
		{Zones, "tags", r.readZones},
		{Routers, "mongos", r.readRouters},
		{Sizes, "sizes", r.readSizes},
		{Chunks, "collections", tables.readSelectedTables},
		{ReusableSpace, "reusable storage", r.readReusableSpace},
		{ConfigLogs, "logs", logs.readLogs},
		{Rounds, "actionlog", logs.readRounds},
		{BalancerSwitches, "actionlog", logs.readLastSwitch},
		{MigrationOutcomes, "changelog", logs.countOutcomes},
		{WindowClock, "clock", r.readTimeZone},
		{RunningMigrations | RunningReshardings, "operations", r.readActivity},
		{Chunks, "collections", tables.readTablesWithOutlines},
		{RecentMoves, "changelog", logs.readMoves},
		{Leases, "lease", r.readLeaseAndPause},
		{BalanceStatuses, "balance", r.readStatuses},
		{ExplanationData, "causes", causes.readAll},
		{KeySamples, "keys", r.readSamples},
		{MemberVersions, "members", r.collectVersions},
	}
}

func (r *reading) snapshot() *catalog.Snapshot {
	r.parts.Source = r.options.Source
	slices.SortStableFunc(r.gaps, func(a, b catalog.Gap) int {
		return cmp.Or(strings.Compare(a.What, b.What), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(string(a.Shard), string(b.Shard)), strings.Compare(a.Reason, b.Reason))
	})
	r.parts.Source.Gaps = append(slices.Clip(r.parts.Source.Gaps), r.gaps...)
	return catalog.NewSnapshot(r.parts)
}

// retainDocuments adds the documents of a collection of config to the Snapshot.
func (r *reading) retainDocuments(collection string, docs []bson.Raw) {
	if len(docs) > 0 {
		r.parts.Config[collection] = docs
	}
}

// passDocuments passes documents that the Snapshot does not contain to the callback.
func (r *reading) passDocuments(of string, docs []bson.Raw) {
	if r.options.OnDocuments != nil {
		r.options.OnDocuments(of, docs)
	}
}

// ReadError says which part of a cluster could not be read.
type ReadError struct {
	What      string // as in catalog.Gap
	Namespace string // empty if it does not concern one collection
	Err       error
}

// Error names the part.
func (e *ReadError) Error() string {
	if e.Namespace != "" {
		return fmt.Sprintf("reading %s of %s: %v", e.What, e.Namespace, e.Err)
	}
	return fmt.Sprintf("reading %s: %v", e.What, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// gapOrError converts an error of reading a part into a gap, or returns an error if the part is
// required.
func (r *reading) gapOrError(ctx context.Context, p Part, g catalog.Gap, err error) error {
	var known *ReadError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrNotSharded):
		return err
	case r.options.Required&p == 0 && ctx.Err() == nil && (isRefused(err) || isMalformed(err) || isUnanswered(err)):
		r.addGap(g, err)
		return nil
	}
	return &ReadError{What: g.What, Namespace: g.Namespace, Err: err}
}

// addGap records that a part could not be read.
func (r *reading) addGap(g catalog.Gap, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, describeGap(g, cause))
}
