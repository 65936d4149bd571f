package mock

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// A donor deletes a range only after all cursors on the collection that were open when it donated the
// range have ended (rules/02-migration-and-metadata §5.6). These cursors still use the ownership of that
// time.

// readerTimeout is a server's idle timeout of cursors. Cursors of the mock time out in real time. This
// timeout is in virtual time, so that an abandoned cursor does not keep orphans forever.
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
	// secondary tracks the losses of a cursor on secondaries, for which no deletion waits; nil for
	// primaries.
	secondary *SecondaryRead
}

// heldDeletion is a range deletion that waits for readers.
type heldDeletion struct {
	readers map[*Reader]struct{}
	begin   func()
}

// OpenReader registers a cursor until it is closed.
func (rd *RangeDeleter) OpenReader(ns string, shards []catalog.ShardID, noTimeout bool,
	secondary *SecondaryRead) *Reader {
	rd.opened++
	r := &Reader{
		deleter: rd, id: rd.opened, ns: ns, shards: shards, noTimeout: noTimeout, secondary: secondary,
		lastUsed: rd.clock.Now(),
	}
	if rd.readers == nil {
		rd.readers = map[*Reader]struct{}{}
	}
	rd.readers[r] = struct{}{}
	return r
}

// ReaderInfo is an open cursor in the list of Readers.
type ReaderInfo struct {
	ID        int
	Namespace string
	Shards    []catalog.ShardID
}

// Readers returns the open cursors on primaries that are not idle for too long, in the order of opening.
func (rd *RangeDeleter) Readers() (list []ReaderInfo) {
	for r := range rd.readers {
		if r.secondary == nil && (r.noTimeout || rd.clock.Now().Sub(r.lastUsed) < readerTimeout) {
			list = append(list, ReaderInfo{r.id, r.ns, r.shards})
		}
	}
	slices.SortFunc(list, func(a, b ReaderInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Touch records a read of the cursor. It does nothing for a nil Reader.
func (r *Reader) Touch() {
	if r != nil {
		r.lastUsed = r.deleter.clock.Now()
	}
}

// Close unregisters the cursor and starts the range deletions that waited only for it. It does nothing
// for a nil Reader.
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

// runAfterReaders calls begin when all cursors that read a collection on a shard now have ended.
func (rd *RangeDeleter) runAfterReaders(ns string, shard catalog.ShardID, begin func()) {
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

// dropIdleReaders ends the wait of a deletion for cursors that are idle for too long.
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
