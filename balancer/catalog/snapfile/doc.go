// Package snapfile writes a catalog.Snapshot to a file and reads it, so that every answer can be
// computed again later, and on another machine.
//
// A file begins with the word "SHARDSH SNAPSHOT\n" and the number of its version, two bytes,
// little-endian. The rest is compressed with zstd: a sequence of records, each with a byte for its
// kind, a uvarint length, and its content of that length. Most are BSON documents; those of kind page
// are the chunks of a routing table in their compact form (catalog.RoutingTable.Pages). The first
// record is the head, and the last record is the end; a file without the end is truncated.
//
// Files may be untrusted, so Read validates everything and has Limits.
package snapfile

import "errors"

// These are the errors of Read for invalid content. Read wraps one of them, or returns the error of its
// reader.
var (
	// ErrNotSnapshot says that a file is not a snapshot.
	ErrNotSnapshot = errors.New("not a snapshot of a cluster")
	// ErrVersion says that a file has a version that this program does not support.
	ErrVersion = errors.New("snapshot of another version of this program")
	// ErrDamaged says that a file is truncated, or is not valid.
	ErrDamaged = errors.New("damaged snapshot")
	// ErrTooLarge says that a file exceeds the Limits.
	ErrTooLarge = errors.New("snapshot is too large")
)

const (
	magic = "SHARDSH SNAPSHOT\n"
	// version is incremented when an older program could not read a file: because of another kind of
	// record, another form of pages, another encoding of keys (keyorder), or a field of a record that
	// must not be lost.
	version = 1
)

// Limits are the maximum sizes of a file. The zero value of a field means the default.
type Limits struct {
	// Bytes is the size of all records, uncompressed: 4 GiB by default.
	Bytes int64
	// RecordBytes is the size of one record in bytes: 64 MiB by default.
	RecordBytes int64
	// Chunks is the number of chunks of all collections: 50 million by default.
	Chunks int64
	// Records is the number of records: 20 million by default.
	Records int64
}

func (l Limits) orDefault() Limits {
	for _, d := range []struct {
		limit *int64
		value int64
	}{{&l.Bytes, 4 << 30}, {&l.RecordBytes, 64 << 20}, {&l.Chunks, 50_000_000}, {&l.Records, 20_000_000}} {
		if *d.limit == 0 {
			*d.limit = d.value
		}
	}
	return l
}

// recordKind is the kind of a record.
type recordKind byte

const (
	kindEnd recordKind = iota
	kindHead
	kindShard
	kindDatabase
	kindRouter
	kindDeletion
	kindMigration
	kindResharding
	kindChange
	kindAction
	kindDocument   // of config
	kindCollection // the records that follow, up to the next other kind, belong to the collection:
	kindZone
	kindSizes
	kindPage
)
