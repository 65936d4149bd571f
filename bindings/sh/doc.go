// Package sh implements the object sh of scripts: the helpers for administrators of sharded clusters
// (rules/04-objects §5), and the output of show and printShardingStatus about shards. A helper converts
// its arguments to commands, and their replies to objects and tables. [Host] provides what helpers need
// from the shell.
//
// Each file has the helpers of one topic: balance, drain, defragment, window, reshard, status and so
// on. The files catalog, chunks and history read data for several helpers.
package sh
