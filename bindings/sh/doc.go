// Package sh is the object sh of scripts: the helpers for the administrators of
// sharded clusters (rules/04-objects §5), and what show and printShardingStatus say of
// shards. A helper turns arguments into commands and their answers into objects and
// tables; what it needs of the shell around it is [Host].
//
// Files hold helpers by what they are about: balance, drain, defragment, window,
// reshard, status, …; catalog, chunks and history read what several of them tell.
package sh
