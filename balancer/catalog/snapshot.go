package catalog

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Snapshot is a whole sharded cluster at one moment: what a plan, an
// explanation, a forecast or a check is made from. Readers make it (a live
// cluster, the mock through its wire, a file), and nothing that uses it can
// tell which one did.
//
// A Snapshot never changes, and neither may what its methods return. The With
// methods return changed copies that share what stayed the same, so a copy
// costs in proportion to the change.
type Snapshot struct {
	parts SnapshotParts
	// taggedNamespaces returns the collections that have zones in config.tags; computed once, on demand.
	taggedNamespaces func() map[string]bool
}

// SnapshotParts are what a Snapshot is made of. The order of lists does not
// matter to NewSnapshot.
type SnapshotParts struct {
	Source Source
	// Time is the clock of the cluster, not that of the reader.
	Time time.Time
	// ClusterTime is the logical time of the cluster; zero when it reports none.
	ClusterTime bson.Timestamp
	ClusterID   bson.ObjectID
	// Version is that of the router, such as 8.0.10; ConfigVersion that of the config servers'
	// primary, where the reader had a way there. Release is what the balancer runs, as far as
	// is known: the config servers' release, or else the router's.
	Version, ConfigVersion string
	Release                Release
	// Compatibility is the feature compatibility version. Where it was read, Release has it.
	Compatibility Compatibility
	// Members are those of the shards and of the config servers, as far as the reader had a
	// way there.
	Members []Member

	Settings Settings
	// SettingsProblem is why a document of config.settings could not be read,
	// which has the balancer skip its rounds; empty when all could.
	SettingsProblem string
	// Balancer is what the balancer says of itself.
	Balancer BalancerState
	// Clock is that by which the balancer reads its windows. Where a reader leaves it
	// out, it is what Changes and Actions show.
	Clock BalancerClock

	Shards      []ShardState
	Databases   []Database
	Collections []*CollectionState
	Routers     []Router

	// Unsharded is what shards have of collections that are not sharded; nil when
	// it was not read.
	Unsharded []UnshardedData

	// Deletions are the range deletions that shards have still to do. They lie
	// on the shards: DeletionsKnown is false where the reader had no way there.
	Deletions      []RangeDeletion
	DeletionsKnown bool

	Migrations  []ActiveMigration
	Reshardings []ActiveResharding
	// Lease is that of shardsh; nil if there is none, or it may not be read.
	Lease *Lease
	// Pause is that of all runs of shardsh; nil if there is none.
	Pause *Pause

	// Changes and Actions are the entries of config.changelog and
	// config.actionlog of the last LogSpan, oldest first.
	Changes, Actions []LogEntry
	// Outcomes count how migrations ended, where the reader asked for that in
	// place of the entries of the change log; else nil.
	Outcomes *Outcomes

	// Config has the documents of config's small collections as they were
	// stored, by collection: settings, shards, databases, collections, tags,
	// version. Those of chunks are in the routing tables.
	Config map[string][]bson.Raw
}

// LogSpan is how far back the logs of a Snapshot reach.
const LogSpan = 24 * time.Hour

// SourceKind says where a Snapshot came from.
type SourceKind string

// The sources.
const (
	SourceLive SourceKind = "live"
	SourceMock SourceKind = "mock"
	SourceFile SourceKind = "file"
)

// MongoDump is the name of the origin of dumps of config.
const MongoDump = "mongodump"

// Source is where a Snapshot came from, and what the reader could not get.
type Source struct {
	Kind SourceKind
	// Name is the address, without credentials, or the path of the file.
	Name string
	// Origin is what a file was made from; zero for other sources.
	Origin Origin
	// Gaps are what could not be read, and why. The rest is complete.
	Gaps []Gap
}

// Origin is the source that a file was made from.
type Origin struct {
	Kind SourceKind
	Name string
}

// ShardState is a shard with what the reader learned about it beyond its entry.
type ShardState struct {
	Shard
	// Unreachable is why the shard did not answer; empty when it did, or was
	// not asked.
	Unreachable string
	// Ping is how long the router waits for an answer of the shard's primary, and
	// Version what runs there; zero when it is not known.
	Ping    time.Duration
	Version string
	// CleanupDelay is how long the shard keeps what it gave away; zero when it
	// is not known.
	CleanupDelay time.Duration
	// Disk is the volume with its data.
	Disk Disk
	// Reported is what shardDrainingStatus says; nil when it was not read, and
	// before 8.3.
	Reported *ReportedDrain
}

// Database is an entry of config.databases.
type Database struct {
	Name    string
	Primary ShardID
}

// Router is an entry of config.mongos.
type Router struct {
	ID      string
	Version string
	Ping    time.Time
}

// BalancerState is the answer of balancerStatus.
type BalancerState struct {
	// Mode is that of the reply: also "off" while the setting stopped is set.
	Mode    Mode
	InRound bool
	Rounds  int64
	// Switched is when it was switched on or off last, as far back as the action
	// log goes; nil when that does not tell.
	Switched *Switch
}

// Switch is a command that switched the balancer on or off.
type Switch struct {
	Time time.Time
	On   bool
	// Client is whose command it was, as the config server saw it.
	Client string
}

// NewSnapshot makes a Snapshot of parts, which belong to it from then on. It
// sorts shards by id, databases, collections and routers by name, and log
// entries by time.
func NewSnapshot(p SnapshotParts) *Snapshot {
	slices.SortFunc(p.Shards, func(a, b ShardState) int { return strings.Compare(string(a.ID), string(b.ID)) })
	slices.SortFunc(p.Databases, func(a, b Database) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Collections, func(a, b *CollectionState) int {
		return strings.Compare(a.Namespace, b.Namespace)
	})
	slices.SortFunc(p.Members, func(a, b Member) int {
		return cmp.Or(strings.Compare(string(a.Shard), string(b.Shard)), strings.Compare(a.Host, b.Host))
	})
	slices.SortFunc(p.Routers, func(a, b Router) int { return strings.Compare(a.ID, b.ID) })
	byTime := func(a, b LogEntry) int { return a.Time.Compare(b.Time) }
	slices.SortStableFunc(p.Changes, byTime)
	slices.SortStableFunc(p.Actions, byTime)
	if p.Clock.Location == nil {
		p.Clock = ClockFromLogs(p.Actions, p.Changes)
	}
	return &Snapshot{parts: p, taggedNamespaces: sync.OnceValue(func() map[string]bool {
		tagged := map[string]bool{}
		for _, doc := range p.Config["tags"] {
			if ns, is := doc.Lookup("ns").StringValueOK(); is {
				tagged[ns] = true
			}
		}
		return tagged
	})}
}

// Parts returns what the Snapshot is made of. Its slices and maps must not be
// changed.
func (s *Snapshot) Parts() SnapshotParts { return s.parts }

// Time returns the clock of the cluster.
func (s *Snapshot) Time() time.Time { return s.parts.Time }

// Release returns the line of releases the cluster belongs to.
func (s *Snapshot) Release() Release { return s.parts.Release }

// Settings returns the balancer's settings.
func (s *Snapshot) Settings() Settings { return s.parts.Settings }

// Shards returns the shards by id.
func (s *Snapshot) Shards() []ShardState { return s.parts.Shards }

// Shard returns a shard, and reports whether there is one with the id.
func (s *Snapshot) Shard(id ShardID) (ShardState, bool) {
	i, ok := s.shardAt(id)
	if !ok {
		return ShardState{}, false
	}
	return s.parts.Shards[i], true
}

// Collections returns the collections that config.collections tracks, by
// namespace, unsplittable ones included.
func (s *Snapshot) Collections() []*CollectionState { return s.parts.Collections }

// HasZones reports whether a collection has zones, whose ranges may not have been read.
func (s *Snapshot) HasZones(c *CollectionState) bool {
	if c.Zones != nil {
		return c.Zones.Len() > 0
	}
	return s.taggedNamespaces()[c.Namespace]
}

// Collection returns the collection with the namespace, nil when there is none. That of
// a time series may be its own, as users know it: the entry's is that of its buckets.
func (s *Snapshot) Collection(ns string) *CollectionState {
	if i, ok := s.collectionAt(ns); ok {
		return s.parts.Collections[i]
	}
	if i, ok := s.collectionAt(BucketsNamespace(ns)); ok {
		return s.parts.Collections[i]
	}
	return nil
}

func (s *Snapshot) shardAt(id ShardID) (int, bool) {
	return slices.BinarySearchFunc(s.parts.Shards, id, func(have ShardState, id ShardID) int {
		return strings.Compare(string(have.ID), string(id))
	})
}

func (s *Snapshot) collectionAt(ns string) (int, bool) {
	return slices.BinarySearchFunc(s.parts.Collections, ns, func(have *CollectionState, ns string) int {
		return strings.Compare(have.Namespace, ns)
	})
}
