package catalog

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Snapshot is the state of a whole sharded cluster at one point in time, from which plans,
// explanations, forecasts and checks are made. Readers make it from a live cluster, from the mock
// through its wire protocol, or from a file. The result does not depend on the reader.
//
// A Snapshot is immutable, and the values that its methods return must not be changed. The With methods
// return changed copies that share the unchanged parts, so the cost of a copy is proportional to the
// change.
type Snapshot struct {
	parts SnapshotParts
	// taggedNamespaces returns the collections that have zones in config.tags; computed once, on demand.
	taggedNamespaces func() map[string]bool
}

// SnapshotParts are the parts of a Snapshot. NewSnapshot accepts slices in any order.
type SnapshotParts struct {
	Source Source
	// Time is the time of the cluster, not of the reader.
	Time time.Time
	// ClusterTime is the logical time of the cluster; zero if the cluster does not report it.
	ClusterTime bson.Timestamp
	ClusterID   bson.ObjectID
	// Version is the version of the router, such as 8.0.10. ConfigVersion is the version of the config
	// servers' primary, if the reader could connect to it. Release is the release that the balancer
	// runs, as far as known: that of the config servers, or else that of the router.
	Version, ConfigVersion string
	Release                Release
	// Compatibility is the feature compatibility version. If it was read, Release includes it.
	Compatibility Compatibility
	// Members are the members of the shards and of the config servers, as far as the reader could
	// connect to them.
	Members []Member

	Settings Settings
	// SettingsProblem is the reason why a document of config.settings can't be parsed, so that the
	// balancer skips its rounds; empty if all can be parsed.
	SettingsProblem string
	// Balancer is the state that the balancer reports.
	Balancer BalancerState
	// Clock is the clock with which the balancer reads its windows. If a reader does not set it, it is
	// determined from Changes and Actions.
	Clock BalancerClock

	Shards      []ShardState
	Databases   []Database
	Collections []*CollectionState
	Routers     []Router

	// Unsharded contains the unsharded data on shards; nil if it was not read.
	Unsharded []UnshardedData

	// Deletions are the pending range deletions of shards. They are stored on the shards.
	// DeletionsKnown is false if they are estimated from the change log, as a mongos does not show them.
	Deletions      []RangeDeletion
	DeletionsKnown bool

	Migrations  []ActiveMigration
	Reshardings []ActiveResharding
	// Lease is the lease of shardsh; nil if there is none, or if it can't be read.
	Lease *Lease
	// RunsPause is the pause of all runs of shardsh; nil if there is none.
	RunsPause *RunsPause

	// Changes and Actions are the entries of config.changelog and config.actionlog of the last LogSpan,
	// oldest first.
	Changes, Actions []LogEntry
	// Outcomes counts the outcomes of migrations, if the reader read them instead of the entries of the
	// change log; otherwise nil.
	Outcomes *MigrationOutcomes

	// Config contains the documents of config's small collections as stored, by collection: settings,
	// shards, databases, collections, tags, version. The documents of chunks are in the routing tables.
	Config map[string][]bson.Raw
}

// LogSpan is the time before the Snapshot that its logs cover.
const LogSpan = 24 * time.Hour

// MaxLogLateness is how much older than the newest entry of a log a later entry can be: each server writes
// with its own clock.
const MaxLogLateness = 10 * time.Minute

// SourceKind is the kind of the source of a Snapshot.
type SourceKind string

// The sources.
const (
	SourceLive SourceKind = "live"
	SourceMock SourceKind = "mock"
	SourceFile SourceKind = "file"
)

// MongoDump is the name of the origin for dumps of config.
const MongoDump = "mongodump"

// Source describes the source of a Snapshot, and which parts the reader could not read.
type Source struct {
	Kind SourceKind
	// Name is the address, without credentials, or the path of the file.
	Name string
	// Origin is the source from which a file was made; zero for other sources.
	Origin Origin
	// Gaps are the parts that could not be read, with reasons. All other parts are complete.
	Gaps []Gap
}

// Origin is the source that a file was made from.
type Origin struct {
	Kind SourceKind
	Name string
}

// ShardState is a shard with the data that the reader has read besides its entry.
type ShardState struct {
	Shard
	// Unreachable is the reason why the shard did not answer; empty if it answered, or was not asked.
	Unreachable string
	// Ping is the round-trip time between the router and the shard's primary. Version is the version of
	// the shard. Both are zero if not known.
	Ping    time.Duration
	Version string
	// CleanupDelay is the time before the shard deletes ranges that it has given away; zero if not
	// known.
	CleanupDelay time.Duration
	// Disk is the volume with the shard's data.
	Disk Disk
	// ReportedDrain is the result of shardDrainingStatus; nil if it was not read, and before 8.3.
	ReportedDrain *ReportedDrain
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
	// Mode is the mode of the reply: "off" also if the setting stopped is set.
	Mode    Mode
	InRound bool
	Rounds  int64
	// Switched is the last command that switched the balancer on or off, within the span of the action
	// log; nil if the log contains none.
	Switched *Switch
}

// Switch is a command that switched the balancer on or off.
type Switch struct {
	Time time.Time
	On   bool
	// Client is the client that sent the command, as seen by the config server.
	Client string
}

// NewSnapshot returns a Snapshot of parts. The caller must not change the parts afterwards. NewSnapshot
// sorts shards by id, databases, collections and routers by name, and log entries by time.
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
			if ns, ok := doc.Lookup("ns").StringValueOK(); ok {
				tagged[ns] = true
			}
		}
		return tagged
	})}
}

// Parts returns the parts of the Snapshot. Their slices and maps must not be changed.
func (s *Snapshot) Parts() SnapshotParts { return s.parts }

// Time returns the time of the cluster.
func (s *Snapshot) Time() time.Time { return s.parts.Time }

// Release returns the release that the balancer runs.
func (s *Snapshot) Release() Release { return s.parts.Release }

// Settings returns the balancer's settings.
func (s *Snapshot) Settings() Settings { return s.parts.Settings }

// Shards returns the shards by id.
func (s *Snapshot) Shards() []ShardState { return s.parts.Shards }

// NonDrainingShards returns the shards that are not draining.
func (s *Snapshot) NonDrainingShards() (list []ShardState) {
	for _, shard := range s.parts.Shards {
		if !shard.Draining {
			list = append(list, shard)
		}
	}
	return list
}

// Shard returns a shard, and reports whether there is one with the id.
func (s *Snapshot) Shard(id ShardID) (ShardState, bool) {
	i, ok := s.shardAt(id)
	if !ok {
		return ShardState{}, false
	}
	return s.parts.Shards[i], true
}

// Collections returns the collections in config.collections by namespace, including unsplittable
// collections.
func (s *Snapshot) Collections() []*CollectionState { return s.parts.Collections }

// HasZones reports whether a collection has zones, even if their ranges were not read.
func (s *Snapshot) HasZones(c *CollectionState) bool {
	if c.Zones != nil {
		return c.Zones.Len() > 0
	}
	return s.taggedNamespaces()[c.Namespace]
}

// Collection returns the collection with the namespace; nil if there is none. For a time series, the
// namespace may be its own, although the entry has the namespace of its buckets.
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
