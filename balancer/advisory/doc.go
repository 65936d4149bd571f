// Package advisory knows faults of MongoDB servers that concern sharded clusters, and says
// which of them concern a cluster, or what a run is about to do to it. The list is part of
// the program, dated, and a file of one's own adds to it.
package advisory
