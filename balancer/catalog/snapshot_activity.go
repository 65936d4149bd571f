package catalog

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// RangeDeletion is a document of config.rangeDeletions on the shard that has to
// delete (rules/02-migration-and-metadata §6).
type RangeDeletion struct {
	Shard     ShardID
	Namespace string
	UUID      bson.Binary
	Min, Max  bson.Raw
	// Pending ones wait for the migration's decision, Processing ones are under
	// way.
	Pending, Processing bool
	// Delayed ones begin orphanCleanupDelaySecs after their migration.
	Delayed   bool
	Orphans   int64 // documents
	Timestamp bson.Timestamp
}

// Overlaps reports whether the range and that from lower to upper have keys in common; not if its
// bounds are no keys of the collection any more.
func (d RangeDeletion) Overlaps(p KeyPattern, lower, upper Key) bool {
	from, err := p.Key(d.Min)
	if err != nil {
		return false
	}
	to, err := p.Key(d.Max)
	return err == nil && Overlap(from, to, lower, upper)
}

// UnshardedData is what a shard has of the collections of a database that are
// not sharded.
type UnshardedData struct {
	Database string
	Shard    ShardID
	Bytes    int64 // before compression
}

// ActiveMigration is a migration under way. Before 5.0 servers tell less of it:
// what is not known is zero.
type ActiveMigration struct {
	Namespace string
	From, To  ShardID
	Min, Max  bson.Raw
	Since     time.Time
}

// ActiveResharding is a change of a whole collection under way: a
// reshardCollection, moveCollection or unshardCollection.
type ActiveResharding struct {
	Namespace string
	Kind      string // the command
	State     string // in the server's words
	Since     time.Time
	// CopiedBytes of TotalBytes are done; zero when it is not known.
	CopiedBytes, TotalBytes int64
	// Remaining is the server's estimate; zero when it has none.
	Remaining time.Duration
}

// ReportedDrain is the server's own account of a draining (rules/03-commands §1.5).
type ReportedDrain struct {
	// State is ongoing, drainingComplete or pendingDataCleanup.
	State string
	// Chunks counts those that are left, without those of unsharded collections, -1 when
	// the server does not tell; Jumbo those of them with the flag.
	Chunks, Jumbo int64
	// Databases have the shard as their primary, Collections are unsharded ones
	// that lie on it, whether the catalog tracks them or not.
	Databases, Collections []string
}

// Outcomes count how the migrations after a moment ended.
type Outcomes struct {
	Since  time.Time
	Counts []Outcome
}

// Outcome counts the migrations that ended alike.
type Outcome struct {
	// Error is what the donor wrote down, "aborted" where it gave no reason;
	// empty for migrations that succeeded, whose shards are counted together.
	Error    string
	From, To ShardID
	Count    int64
}

// LogEntry is a document of config.changelog or config.actionlog. Raw is the
// whole of it.
type LogEntry struct {
	Time      time.Time
	What      string
	Namespace string
	Shard     ShardID // whose entry it is; empty where it is not known
	Raw       bson.Raw
}

// Detail returns a field of the entry's details; the zero value when it has none.
func (e LogEntry) Detail(name ...string) bson.RawValue {
	return e.Raw.Lookup(append([]string{"details"}, name...)...)
}

// Inconsistency is where the catalog and the shards contradict each other, as
// checkMetadataConsistency reports it (rules/03-commands §1.7). Namespace and Shard are empty
// where it does not say.
type Inconsistency struct {
	Type, Description string
	Namespace         string
	Shard             ShardID
}
