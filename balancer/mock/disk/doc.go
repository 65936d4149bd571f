// Package disk keeps the state of a mock cluster in files: entries in buckets
// (record.go), the documents that entries hold (forms.go), the file of a
// directory that every change goes to (bolt.go) through a queue that nobody who
// fills it waits for (writer.go), the checksums in it (checksum.go, change.go)
// and how it is looked at before it is used (examine.go, inspect.go, pages.go,
// damage.go), and snapshots, which are a whole state in one file (snapshot.go).
// It knows these as values and does the input and output; what a cluster writes into them and makes of them again is
// package mock's.
//
// Both kinds of files are read as a Source, entry by entry through Read, and
// what can't be used is a *RecordError that names the entry: whatever is to be
// checked of every entry, or passed over, belongs there.
package disk
