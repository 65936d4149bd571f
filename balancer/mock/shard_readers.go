package mock

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// A donor deletes a range after the cursors have ended that were open when it gave the range away, whatever
// they read of the collection (rules/02-migration-and-metadata §5.6): they go on by what the shard owned then.

// readerTimeout is the idle timeout of cursors on a server. Cursors of the mock time out in real time:
// this timeout is in virtual time, so that an abandoned cursor does not keep orphans forever.
const readerTimeout = 10 * time.Minute

// Reader is an open cursor that reads a collection on some shards. The cluster's lock guards it.
type Reader struct {
	deleter       *RangeDeleter
	id            int
	ns            string
	shards        []catalog.ShardID
	noTimeout     bool // noCursorTimeout
	lastUsed      time.Time
	heldDeletions []*heldDeletion
	// secondary is what it loses where it reads secondaries, which nothing waits for; nil of primaries.
	secondary *SecondaryRead
}

// heldDeletion is a range deletion that waits for readers.
type heldDeletion struct {
	readers map[*Reader]struct{}
	begin   func()
}

// OpenReader notes a cursor that stays open, until it is closed.
func (rd *RangeDeleter) OpenReader(ns string, shards []catalog.ShardID, noTimeout bool, of *SecondaryRead) *Reader {
	rd.opened++
	r := &Reader{
		deleter: rd, id: rd.opened, ns: ns, shards: shards, noTimeout: noTimeout, secondary: of, lastUsed: rd.clock.Now(),
	}
	if rd.readers == nil {
		rd.readers = map[*Reader]struct{}{}
	}
	rd.readers[r] = struct{}{}
	return r
}

// OpenReader is a cursor that is open, as Readers lists it.
type OpenReader struct {
	ID        int
	Namespace string
	Shards    []catalog.ShardID
}

// Readers lists the cursors on primaries that are open and were read not too long ago, in the order they were
// opened.
func (rd *RangeDeleter) Readers() (list []OpenReader) {
	for r := range rd.readers {
		if r.secondary == nil && (r.noTimeout || rd.clock.Now().Sub(r.lastUsed) < readerTimeout) {
			list = append(list, OpenReader{r.id, r.ns, r.shards})
		}
	}
	slices.SortFunc(list, func(a, b OpenReader) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Touch notes that the cursor was read. A nil Reader is none.
func (r *Reader) Touch() {
	if r != nil {
		r.lastUsed = r.deleter.clock.Now()
	}
}

// Close notes that the cursor has ended: range deletions that waited for it last begin. A nil Reader is none.
func (r *Reader) Close() {
	if r == nil {
		return
	}
	delete(r.deleter.readers, r)
	for _, held := range r.heldDeletions {
		held.releaseReader(r)
	}
	r.heldDeletions = nil
}

func (h *heldDeletion) releaseReader(r *Reader) {
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
		if r.ns == ns && slices.Contains(r.shards, shard) && r.secondary == nil {
			r.heldDeletions = append(r.heldDeletions, held)
			held.readers[r] = struct{}{}
		}
	}
	if len(held.readers) == 0 {
		begin()
		return
	}
	rd.dropIdleReaders(held)
}

// dropIdleReaders has a deletion wait no longer for cursors that were not read for too long.
func (rd *RangeDeleter) dropIdleReaders(held *heldDeletion) {
	rd.clock.After(readerTimeout, func() {
		for r := range held.readers {
			if !r.noTimeout && rd.clock.Now().Sub(r.lastUsed) >= readerTimeout {
				held.releaseReader(r)
			}
		}
		if len(held.readers) > 0 {
			rd.dropIdleReaders(held)
		}
	})
}
