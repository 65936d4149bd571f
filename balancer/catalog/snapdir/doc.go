// Package snapdir keeps the snapshots of a cluster in a directory, for a history: one file
// each, named after its time. It removes what is too old, and nothing that is not its own.
package snapdir
