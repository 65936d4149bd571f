package mock

import (
	"slices"

	"shardsh/balancer/catalog"
)

// A donor deletes a range after the cursors have ended that were open when it gave the range away, whatever
// they read of the collection (rules/02-migration-and-metadata §5.6): they go on by what the shard owned then.

// Reader is an open cursor that reads a collection on some shards.
type Reader struct {
	ns      string
	shards  []catalog.ShardID
	waiting []*heldDeletion
}

// heldDeletion is a range deletion that waits for readers.
type heldDeletion struct {
	readers int
	begin   func()
}

// Reading notes a cursor that stays open, until Read. The cluster's lock is held.
func (rd *RangeDeleter) Reading(ns string, shards []catalog.ShardID) *Reader {
	r := &Reader{ns: ns, shards: shards}
	if rd.readers == nil {
		rd.readers = map[*Reader]struct{}{}
	}
	rd.readers[r] = struct{}{}
	return r
}

// Read notes that a cursor has ended: range deletions that waited for it last begin.
func (rd *RangeDeleter) Read(r *Reader) {
	delete(rd.readers, r)
	for _, held := range r.waiting {
		if held.readers--; held.readers == 0 {
			held.begin()
		}
	}
	r.waiting = nil
}

// afterReaders begins when the cursors have ended that read a collection on a shard now.
func (rd *RangeDeleter) afterReaders(ns string, shard catalog.ShardID, begin func()) {
	held := &heldDeletion{begin: begin}
	for r := range rd.readers {
		if r.ns == ns && slices.Contains(r.shards, shard) {
			r.waiting = append(r.waiting, held)
			held.readers++
		}
	}
	if held.readers == 0 {
		begin()
	}
}
