// Package placement compares where things lie on the shards with where the config database
// says they should: chunks and zones with the key space, the collections of the shards with
// their entries and with each other, documents with the owners of their keys.
//
// It gets plain values, and returns findings, each with the commands that mend it. It reads
// nothing: what was seen while something moved is for the caller to see again.
package placement
