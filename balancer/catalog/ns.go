package catalog

import (
	"strings"

	"shardsh/balancer/mongoerr"
)

// Limits on the length of names, in bytes (rules/03-commands §0.6).
const (
	MaxDatabaseNameBytes     = 63
	MaxShardedNamespaceBytes = 235
)

// SplitNamespace splits "db.coll" at the first dot. An invalid database name or an empty collection
// name is InvalidNamespace.
func SplitNamespace(ns string) (db, coll string, err error) {
	db, coll, _ = strings.Cut(ns, ".")
	if !ValidDatabaseName(db) || !ValidCollectionName(coll) {
		return "", "", mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s'", ns)
	}
	return db, coll, nil
}

// DatabaseOf returns the database of a namespace, which need not be valid.
func DatabaseOf(ns string) string {
	db, _, _ := strings.Cut(ns, ".")
	return db
}

// IsSystemDatabase reports whether a server creates the collections of a database itself.
func IsSystemDatabase(db string) bool { return db == "admin" || db == "config" || db == "local" }

// ValidDatabaseName reports whether a name is valid for an existing database: not empty, at most 63
// bytes, without NUL, slash, backslash, dot, quote and space. A $ is permitted; servers refuse it only
// when a database is created.
func ValidDatabaseName(db string) bool {
	return db != "" && len(db) <= MaxDatabaseNameBytes && !strings.ContainsAny(db, "\x00/\\. \"")
}

// ValidNewDatabaseName reports whether a database may be created under the
// name.
func ValidNewDatabaseName(db string) bool {
	return ValidDatabaseName(db) && !strings.Contains(db, "$")
}

// ValidCollectionName reports whether a name is valid as the collection part of a namespace: not empty,
// without NUL, not beginning with a dot.
func ValidCollectionName(coll string) bool {
	return coll != "" && coll[0] != '.' && !strings.Contains(coll, "\x00")
}

// bucketsPrefix is the name prefix of the collections that contain the data of time series up to 8.3. A
// sharded time series is in config.collections under that name (rules/03-commands §1.4).
const bucketsPrefix = "system.buckets."

// BucketsNamespace returns the namespace of the buckets of a time series.
func BucketsNamespace(ns string) string {
	db, coll, _ := strings.Cut(ns, ".")
	return db + "." + bucketsPrefix + coll
}

// TimeSeriesNamespace returns the namespace of the time series for the namespace of its buckets, and
// any other namespace unchanged.
func TimeSeriesNamespace(ns string) string {
	if db, coll, _ := strings.Cut(ns, "."); strings.HasPrefix(coll, bucketsPrefix) {
		return db + "." + strings.TrimPrefix(coll, bucketsPrefix)
	}
	return ns
}
