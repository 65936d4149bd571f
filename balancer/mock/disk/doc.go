// Package disk stores the state of a mock cluster in files:
//   - record.go defines entries in buckets, and schema.go the documents in the entries.
//   - bolt.go writes every change to the file of a directory, through the queue in writer.go, which
//     never blocks the caller.
//   - checksum.go and writetx.go maintain the checksums. verify.go, inspect.go, filereader.go and
//     damage.go check a file before it is used.
//   - snapshot.go writes a whole state to one file.
//
// The package does the input and output and treats the state as values. Package mock converts a cluster
// to and from them.
//
// Both kinds of files are read as a Source, entry by entry through Read. An invalid entry is reported as
// an *EntryError that names the entry. Checks that apply to every entry belong in Read.
package disk
