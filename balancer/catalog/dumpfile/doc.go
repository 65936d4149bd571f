// Package dumpfile reads a mongodump of a cluster's config database as a
// catalog.Snapshot: the metadata of a cluster that nobody can reach.
//
// A dump is a directory with a file of BSON documents for each collection, plain
// or gzipped. It does not tell how large anything is (OpenSizes reads that), nor which
// servers there are; what had to be assumed is a gap of the Snapshot's source.
package dumpfile

import "errors"

// The ways in which a path can be no dump. What Open answers wraps one of them, or
// is the error of a file.
var (
	// ErrNotDump says that there is no dump of a config database.
	ErrNotDump = errors.New("not a mongodump of a config database")
	// ErrDamaged says that a file has something else than whole documents, or
	// documents that make no cluster.
	ErrDamaged = errors.New("damaged dump")
	// ErrTooLarge says that a file is larger than it may be.
	ErrTooLarge = errors.New("dump is too large")
)
