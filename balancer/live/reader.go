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

// Reader reads a sharded cluster, or parts of it, into Snapshots. It may be used
// by several goroutines.
type Reader struct {
	source  source
	options ReaderOptions
	known   atomic.Pointer[knownMembers]
}

// ReaderOptions say what a Reader reads, and how.
type ReaderOptions struct {
	// Parts are what is read; Whole when there are none.
	Parts Part
	// Required are the parts that a Snapshot must have. If the server refuses one of
	// them, the read fails; if it refuses another one, the Snapshot has a gap.
	// Identity is always required.
	Required Part
	// Source is what the Snapshot says about where it came from. An empty kind means
	// SourceLive.
	Source catalog.Source
	// Namespaces are the only collections to read; nil means all. Without the part
	// Collections the Reader assumes that they exist.
	Namespaces []string
	// Tabled, with the parts Chunks and Counts, selects the collections whose routing tables
	// are read, by what was read before: of the others the chunks are only counted. Nil is
	// all. The Snapshot is valid until Tabled returns.
	Tabled func(s *catalog.Snapshot, c *catalog.CollectionState) bool
	// Outlined, with Tabled, selects the collections of which only an Outline is kept of the
	// table that was read. It sees what the Reader knows before the tables, and what is under
	// way; it may be called by several goroutines at once. Nil is none.
	Outlined func(s *catalog.Snapshot, c *catalog.CollectionState) bool
	// Shard limits Counts and Drains to one shard; empty means all shards.
	Shard catalog.ShardID
	// Selected limits Statuses and Causes to some collections; nil means all.
	Selected func(namespace string) bool
	// Span is how far Outcomes go back.
	Span time.Duration
	// Now and Release are the Snapshot's time and release without the part Identity.
	// A zero Release is unknown: the Reader tries what only some releases have.
	Now     time.Time
	Release catalog.Release
	// Zone is the time zone of the config servers, for the part Clock; nil finds it out.
	Zone *time.Location
	// Parallel is how many collections are read at the same time. The default is 4
	// with a client, 1 with a CommandRunner.
	Parallel int
	// Tries is how often a collection is read again that changes during the read;
	// 5 by default.
	Tries int
	// LogEntries limits how many entries of each log are read, the newest ones;
	// 100,000 by default.
	LogEntries int
	// Wait limits how long commands wait in vain for shards that do not answer, in all:
	// 6 s by default. What could not be had is a gap.
	Wait time.Duration
	// ShardClient connects to a shard, for the part Deletions. The Reader does not
	// disconnect it. Nil leaves the part out.
	ShardClient func(context.Context, catalog.Shard) (*mongo.Client, error)
	// Direct are the settings of the cluster's client, with which members are reached, for the
	// part Builds. Nil leaves the part out.
	Direct *options.ClientOptions
	// Watch, if set, learns how far the read of routing tables is. It is not called twice at
	// once.
	Watch func(Progress)
	// Documents, if set, receives documents that a Snapshot does not keep: those of
	// "locks" and of "shardedDataDistribution", which are sorted by namespace.
	Documents func(of string, docs []bson.Raw)
}

// NewReader returns a Reader that uses a client of a mongos of release 4.4 or newer.
// It reads config from the primary, with read concern majority.
func NewReader(client *mongo.Client, o ReaderOptions) *Reader {
	o.Parallel = cmp.Or(o.Parallel, 4)
	return newReader(clientSource{client: client}, o)
}

// NewLooker is NewReader for what changes nothing by what it reads: what is large in config
// it reads by a read preference, or, where nobody chose one, from secondaries if they answer
// in time. What it reads is not older than the read's beginning.
func NewLooker(client *mongo.Client, chosen *readpref.ReadPref, o ReaderOptions) *Reader {
	o.Parallel = cmp.Or(o.Parallel, 4)
	return newReader(clientSource{client, remoteBy(chosen)}, o)
}

// NewCommandReader returns a Reader that sends its commands through a CommandRunner,
// which decides about read concern, read preference and session.
func NewCommandReader(commands CommandRunner, o ReaderOptions) *Reader {
	o.Parallel = cmp.Or(o.Parallel, 1)
	return newReader(commandSource{commands}, o)
}

func newReader(s source, o ReaderOptions) *Reader {
	o.Parts = cmp.Or(o.Parts, Whole)
	o.Required |= Identity
	o.Source.Kind = cmp.Or(o.Source.Kind, catalog.SourceLive)
	o.Tries = cmp.Or(o.Tries, 5)
	o.Wait = cmp.Or(o.Wait, wholeWait)
	o.LogEntries = cmp.Or(o.LogEntries, 100_000)
	return &Reader{source: s, options: o}
}

// Read reads the cluster. The error is ErrNotSharded if the part Identity finds that
// the server is not a mongos, and a *ReadError if the server does not answer, the
// context ends, or the server refuses a required part.
func (r *Reader) Read(ctx context.Context) (*catalog.Snapshot, error) { return r.ReadSince(ctx, nil) }

// ReadSince is Read, but of the part Chunks it reads only what has changed since an
// older Snapshot of the same cluster. Collections that the older Snapshot does not
// have, or that were replaced since, are read completely.
func (r *Reader) ReadSince(ctx context.Context, old *catalog.Snapshot) (*catalog.Snapshot, error) {
	rd := &reading{Reader: r, old: old, patience: shardTimeouts{most: r.options.Wait}, parts: catalog.SnapshotParts{
		Time: r.options.Now, Release: r.options.Release, Config: map[string][]bson.Raw{},
	}}
	rd.told.tell = r.options.Watch
	defer func() {
		if rd.asked != nil {
			rd.asked()
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before it waits for those that are still asked
	for _, step := range rd.steps() {
		if !rd.reads(step.parts) {
			continue
		}
		err := rd.check(ctx, step.parts, catalog.Gap{What: step.what}, step.read(ctx))
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
	old  *catalog.Snapshot
	only map[string]bool // the collections whose tables are read; nil for all

	parts    catalog.SnapshotParts
	patience shardTimeouts
	asked    func() []catalog.Member // waits for the members
	probes   probes
	told     progressCounter
	reached  bool // it is known which shards the router reaches
	mu       sync.Mutex
	gaps     []catalog.Gap
}

// reads reports whether one of some parts is wanted.
func (r *reading) reads(parts Part) bool { return r.options.Parts&parts != 0 }

type step struct {
	parts Part
	what  string // as in catalog.Gap
	read  func(context.Context) error
}

// steps returns all parts in the order in which they are read.
func (r *reading) steps() []step {
	tables, logs, causes := &tableReading{reading: r}, logReading{r}, causeReader{r}
	return []step{
		{Identity, "hello", r.identity},
		{Identity, "time", r.clusterTime},
		{Compatible, "compatibility", r.compatibility},
		{Version, "version", r.version},
		{Settings, "settings", r.settings},
		{Balancer, "balancer", r.balancer},
		{Shards, "shards", r.shards},
		{Builds, "members", r.members},
		{Limits, "shard sizes", r.shardSizes},
		{Reach, "reach", r.reach},
		{Disks, "disks", r.disks},
		{Drains, "draining", r.drains},
		{Databases, "databases", r.databases},
		{Collections | Statuses | Counts | Sizes, "collections", tables.collections},
		{Counts, "chunks", r.counts},
		{Zones, "tags", r.zones},
		{Routers, "mongos", r.routers},
		{Sizes, "sizes", r.sizes},
		{Chunks, "collections", tables.chosenTables},
		{Reusable, "reusable storage", r.reusable},
		{Logs, "logs", logs.logs},
		{Rounds, "actionlog", logs.rounds},
		{Switches, "actionlog", logs.switches},
		{Outcomes, "changelog", logs.outcomes},
		{Clock, "clock", r.clock},
		{Migrations | Reshardings, "operations", r.activity},
		{Chunks, "collections", tables.lateTables},
		{Moves, "changelog", logs.moves},
		{Leases, "lease", r.leases},
		{Statuses, "balance", r.statuses},
		{Deletions, "rangeDeletions", r.deletions},
		{Causes, "causes", causes.all},
		{Samples, "keys", r.samples},
		{Builds, "members", r.versions},
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

// keep keeps the documents of a collection of config.
func (r *reading) keep(collection string, docs []bson.Raw) {
	if len(docs) > 0 {
		r.parts.Config[collection] = docs
	}
}

// report hands out documents that the Snapshot does not keep.
func (r *reading) report(of string, docs []bson.Raw) {
	if r.options.Documents != nil {
		r.options.Documents(of, docs)
	}
}

// ReadError says which part of a cluster could not be read.
type ReadError struct {
	What      string // as in catalog.Gap
	Namespace string // empty if it is not about one collection
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

// check turns the failure of a part into a gap, or into the error that ends the read.
func (r *reading) check(ctx context.Context, p Part, g catalog.Gap, err error) error {
	var known *ReadError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrNotSharded):
		return err
	case r.options.Required&p == 0 && ctx.Err() == nil && (refused(err) || malformed(err) || unanswered(err)):
		r.gap(g, err)
		return nil
	}
	return &ReadError{What: g.What, Namespace: g.Namespace, Err: err}
}

// gap notes that something could not be read.
func (r *reading) gap(g catalog.Gap, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, gapOf(g, cause))
}
