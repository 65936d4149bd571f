// Package dumpfile reads a mongodump of a cluster's config database as a catalog.Snapshot, for clusters
// that can't be reached.
//
// A dump is a directory with a file of BSON documents for each collection, plain or gzipped. It does
// not contain sizes (OpenSizes reads them) and does not list the running servers. Assumed values are
// recorded as gaps of the Snapshot's source.
package dumpfile

import "errors"

// These are the errors of Open for an invalid dump. Open wraps one of them, or returns the error of a
// file.
var (
	// ErrNotDump says that there is no dump of a config database.
	ErrNotDump = errors.New("not a mongodump of a config database")
	// ErrDamaged says that a file contains something other than complete documents, or that the
	// documents are not a valid cluster.
	ErrDamaged = errors.New("damaged dump")
	// ErrTooLarge says that a file is larger than the limit.
	ErrTooLarge = errors.New("dump is too large")
)
