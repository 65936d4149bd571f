// Package snapdir keeps the snapshots of a cluster in a directory as a history: one file for each
// snapshot, named after its time. It removes old snapshots, and no other files.
package snapdir
