package mock

import (
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// A donor deletes a range after the cursors have ended that were open when it gave the range away, whatever
// they read of the collection (rules/02-migration-and-metadata §5.6): they go on by what the shard owned then.

// readerLife is after how long servers close a cursor that nobody reads. Cursors of the mock end by real time:
// here virtual time counts, so that a script that leaves one open does not keep orphans for ever.
const readerLife = 10 * time.Minute

// Reader is an open cursor that reads a collection on some shards. The cluster's lock guards it.
type Reader struct {
	deleter *RangeDeleter
	ns      string
	shards  []catalog.ShardID
	patient bool // it is not closed when nobody reads it
	used    time.Time
	holds   []*heldDeletion
}

// heldDeletion is a range deletion that waits for readers.
type heldDeletion struct {
	readers map[*Reader]struct{}
	begin   func()
}

// OpenReader notes a cursor that stays open, until it is closed.
func (rd *RangeDeleter) OpenReader(ns string, shards []catalog.ShardID, patient bool) *Reader {
	r := &Reader{deleter: rd, ns: ns, shards: shards, patient: patient, used: rd.clock.Now()}
	if rd.readers == nil {
		rd.readers = map[*Reader]struct{}{}
	}
	rd.readers[r] = struct{}{}
	return r
}

// Used notes that the cursor was read. A nil Reader is none.
func (r *Reader) Used() {
	if r != nil {
		r.used = r.deleter.clock.Now()
	}
}

// Close notes that the cursor has ended: range deletions that waited for it last begin. A nil Reader is none.
func (r *Reader) Close() {
	if r == nil {
		return
	}
	delete(r.deleter.readers, r)
	for _, held := range r.holds {
		held.without(r)
	}
	r.holds = nil
}

func (h *heldDeletion) without(r *Reader) {
	if _, waits := h.readers[r]; !waits {
		return
	}
	if delete(h.readers, r); len(h.readers) == 0 {
		h.begin()
	}
}

// afterReaders begins when the cursors have ended that read a collection on a shard now.
func (rd *RangeDeleter) afterReaders(ns string, shard catalog.ShardID, begin func()) {
	held := &heldDeletion{readers: map[*Reader]struct{}{}, begin: begin}
	for r := range rd.readers {
		if r.ns == ns && slices.Contains(r.shards, shard) {
			r.holds = append(r.holds, held)
			held.readers[r] = struct{}{}
		}
	}
	if len(held.readers) == 0 {
		begin()
		return
	}
	rd.forgetIdle(held)
}

// forgetIdle has a deletion wait no longer for cursors that were not read for too long.
func (rd *RangeDeleter) forgetIdle(held *heldDeletion) {
	rd.clock.After(readerLife, func() {
		for r := range held.readers {
			if !r.patient && rd.clock.Now().Sub(r.used) >= readerLife {
				held.without(r)
			}
		}
		if len(held.readers) > 0 {
			rd.forgetIdle(held)
		}
	})
}
