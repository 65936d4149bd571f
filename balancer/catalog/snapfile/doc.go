// Package snapfile keeps a catalog.Snapshot in a file, so that every answer can
// be had again later, and elsewhere.
//
// A file begins with the word "SHARDSH SNAPSHOT\n" and the number of its
// version, two bytes, little-endian. What follows is compressed with zstd: a
// row of records, each a byte for its kind, a uvarint length, and as many
// bytes. Most are BSON documents; those of kind page are the chunks of a
// routing table in their compact form (catalog.RoutingTable.Pages). The first
// record is the head and the last the end, without which a file is cut short.
//
// Files come from elsewhere, so Read trusts them in nothing: see Limits.
package snapfile

import "errors"

// The ways in which bytes can be no snapshot. What Read answers wraps one of
// them, or is the error of its reader.
var (
	// ErrNotSnapshot says that a file is something else.
	ErrNotSnapshot = errors.New("not a snapshot of a cluster")
	// ErrVersion says that a file has a form that this program does not know.
	ErrVersion = errors.New("snapshot of another version of this program")
	// ErrDamaged says that a file is cut short, or not as Write leaves it.
	ErrDamaged = errors.New("damaged snapshot")
	// ErrTooLarge says that a file has more of something than Limits let it.
	ErrTooLarge = errors.New("snapshot is too large")
)

const (
	magic = "SHARDSH SNAPSHOT\n"
	// version grows whenever an older program could not read a file: another
	// kind of record, another form of pages, another encoding of keys
	// (keyorder), a field of a record that must not be lost.
	version = 1
)

// Limits are what a file may have at most. The zero value of a field means the
// default.
type Limits struct {
	// Bytes are all records together, uncompressed: 4 GiB.
	Bytes int64
	// Record is the bytes of one record: 64 MiB.
	Record int64
	// Chunks are those of all collections: 50 million.
	Chunks int64
	// Records is their number: 20 million.
	Records int64
}

func (l Limits) orDefault() Limits {
	for _, d := range []struct {
		limit *int64
		value int64
	}{{&l.Bytes, 4 << 30}, {&l.Record, 64 << 20}, {&l.Chunks, 50_000_000}, {&l.Records, 20_000_000}} {
		if *d.limit == 0 {
			*d.limit = d.value
		}
	}
	return l
}

// recordKind is what a record has.
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
	kindCollection // what follows, up to the next other kind, belongs to it:
	kindZone
	kindSizes
	kindPage
)
