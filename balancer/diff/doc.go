// Package diff says what has changed between two snapshots of a cluster: each change by
// its kind, with how often, what it was before and is now, and who did it by the cluster's
// logs. It is values in, a list out.
//
// A change is told once: what follows from it is not told again. A shard that is gone takes
// its zones and members along, a database its collections, a collection its chunks, zones
// and settings; a shard that is new brings its own. What one of the snapshots does not have
// is not a change: NotCompared lists it. Data that grow or shrink are numbers beside the
// changes.
package diff
