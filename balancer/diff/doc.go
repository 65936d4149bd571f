// Package diff computes what has changed between two snapshots of a cluster. Each change has a kind, a
// count, the old and the new value, and the client that made the change according to the cluster's
// logs. The package is a pure function of two snapshots.
//
// A change is reported once, without its consequences. If a shard was removed, its zones and members
// are not reported; the same holds for the collections of a removed database, and for the chunks, zones
// and settings of a removed collection, and for the parts of a new shard. A part that is missing in one
// of the snapshots is not a change: NotCompared lists it. Amounts of data that grow or shrink are
// numbers beside the changes.
package diff
