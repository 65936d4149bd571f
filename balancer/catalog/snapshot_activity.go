package catalog

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// RangeDeletion is a document of config.rangeDeletions on the shard that has to delete the range
// (rules/02-migration-and-metadata §6).
type RangeDeletion struct {
	Shard     ShardID
	Namespace string
	UUID      bson.Binary
	Min, Max  bson.Raw
	// Pending says that the migration is not decided yet. Processing says that the deletion is in
	// progress.
	Pending, Processing bool
	// Delayed says that the deletion begins orphanCleanupDelaySecs after the migration.
	Delayed   bool
	Orphans   int64 // documents
	Timestamp bson.Timestamp
}

// Overlaps reports whether the range and that from lower to upper have keys in common; not if its
// bounds are no keys of the collection any more.
func (d RangeDeletion) Overlaps(p KeyPattern, lower, upper Key) bool {
	from, err := p.ParseKey(d.Min)
	if err != nil {
		return false
	}
	to, err := p.ParseKey(d.Max)
	return err == nil && Overlap(from, to, lower, upper)
}

// UnshardedData is what a shard has of the collections of a database that are
// not sharded.
type UnshardedData struct {
	Database string
	Shard    ShardID
	Bytes    int64 // before compression
}

// ActiveMigration is a migration in progress. Before 5.0 servers report fewer fields; unknown fields
// are zero.
type ActiveMigration struct {
	Namespace string
	From, To  ShardID
	Min, Max  bson.Raw
	Since     time.Time
}

// ActiveResharding is an operation on a whole collection in progress: a reshardCollection,
// moveCollection or unshardCollection.
type ActiveResharding struct {
	Namespace string
	Kind      string // the command
	State     string // in the server's words
	Since     time.Time
	// CopiedBytes of TotalBytes are copied; both are zero if not known.
	CopiedBytes, TotalBytes int64
	// Remaining is the server's estimate; zero if there is none.
	Remaining time.Duration
}

// ReportedDrain is the state of a draining that the server reports (rules/03-commands §1.5).
type ReportedDrain struct {
	// State is ongoing, drainingComplete or pendingDataCleanup.
	State string
	// Chunks is the number of remaining chunks, without chunks of unsharded collections; -1 if the
	// server does not report it. Jumbo is the number of those with the jumbo flag.
	Chunks, Jumbo int64
	// Databases are the databases whose primary is the shard. Collections are the unsharded collections
	// on the shard, whether or not they are in the catalog.
	Databases, Collections []string
}

// MigrationOutcomes counts the outcomes of the migrations since a time.
type MigrationOutcomes struct {
	Since  time.Time
	Counts []MigrationOutcome
}

// MigrationOutcome is the number of migrations with the same outcome.
type MigrationOutcome struct {
	// Error is the error that the donor has recorded, "aborted" if it gave no reason; empty for
	// migrations that succeeded, which are counted together for all shards.
	Error    string
	From, To ShardID
	Count    int64
}

// LogEntry is a document of config.changelog or config.actionlog. Raw is the whole document.
type LogEntry struct {
	Time      time.Time
	What      string
	Namespace string
	Shard     ShardID // the shard that wrote the entry; empty if it is not known
	Raw       bson.Raw
}

// Detail returns a field of the entry's details; the zero value if it does not exist.
func (e LogEntry) Detail(name ...string) bson.RawValue {
	return e.Raw.Lookup(append([]string{"details"}, name...)...)
}

// Inconsistency is a contradiction between the catalog and the shards, as reported by
// checkMetadataConsistency (rules/03-commands §1.7). Namespace and Shard are empty if they are not
// reported.
type Inconsistency struct {
	Type, Description string
	Namespace         string
	Shard             ShardID
}
