// Package rehearsal lets a program run against a cluster without changing it. What
// reads goes to the cluster, until the first command that would change something.
// Then the cluster's metadata are read, and a mock in this process plays them from
// there on: it gets all changes, and what is read of the catalog, of settings, and of
// collections that were changed, comes from it. What is read of other collections
// still comes from the cluster.
//
// The program is connected by the driver's own client to a Handler in memory, so none
// of its commands has another way.
package rehearsal
