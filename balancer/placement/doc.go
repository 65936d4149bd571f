// Package placement compares the actual placement of data on the shards with the placement that the
// config database records: chunks and zones with the key space, the collections on the shards with
// their entries and with each other, documents with the owners of their keys.
//
// It takes plain values and returns findings, each with the commands that repair it. It does not read
// the cluster; callers have to read data again that was read while chunks moved.
package placement
