// Package rehearsal runs a program against a cluster without changing the cluster. Reads go to the
// cluster until the first command that would change something. Then the rehearsal reads the cluster's
// metadata and starts a mock cluster with it in this process. The mock carries out all changes. Reads
// of the catalog, of settings, and of changed collections go to the mock. Reads of other collections
// still go to the cluster.
//
// The program's driver client is connected to a Handler in memory, so none of its commands can bypass
// the rehearsal.
package rehearsal
