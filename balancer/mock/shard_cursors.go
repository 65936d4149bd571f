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

// idleCursorTimeout is a server's idle timeout of cursors. Cursors of the mock time out in real time. This
// timeout is in virtual time, so that an abandoned cursor does not keep orphans forever.
const idleCursorTimeout = 10 * time.Minute

// OpenCursor is an open cursor that reads a collection on some shards. The cluster's lock guards it.
type OpenCursor struct {
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

// heldDeletion is a range deletion that waits for open cursors.
type heldDeletion struct {
	cursors map[*OpenCursor]struct{}
	begin   func()
}

// OpenCursor registers a cursor until it is closed.
func (rd *RangeDeleter) OpenCursor(ns string, shards []catalog.ShardID, noTimeout bool,
	secondary *SecondaryRead) *OpenCursor {
	rd.openedCursors++
	r := &OpenCursor{
		deleter: rd, id: rd.openedCursors, ns: ns, shards: shards, noTimeout: noTimeout, secondary: secondary,
		lastUsed: rd.clock.Now(),
	}
	if rd.cursors == nil {
		rd.cursors = map[*OpenCursor]struct{}{}
	}
	rd.cursors[r] = struct{}{}
	return r
}

// OpenCursorInfo is an open cursor in the result of OpenCursors.
type OpenCursorInfo struct {
	ID        int
	Namespace string
	Shards    []catalog.ShardID
}

// OpenCursors returns the open cursors on primaries that are not idle for too long, in the order of opening.
func (rd *RangeDeleter) OpenCursors() (list []OpenCursorInfo) {
	for r := range rd.cursors {
		if r.secondary == nil && (r.noTimeout || rd.clock.Now().Sub(r.lastUsed) < idleCursorTimeout) {
			list = append(list, OpenCursorInfo{r.id, r.ns, r.shards})
		}
	}
	slices.SortFunc(list, func(a, b OpenCursorInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Touch records a read of the cursor. It does nothing for a nil OpenCursor.
func (r *OpenCursor) Touch() {
	if r != nil {
		r.lastUsed = r.deleter.clock.Now()
	}
}

// Close unregisters the cursor and starts the range deletions that waited only for it. It does nothing
// for a nil OpenCursor.
func (r *OpenCursor) Close() {
	if r == nil {
		return
	}
	delete(r.deleter.cursors, r)
	for _, held := range r.heldDeletions {
		held.releaseCursor(r)
	}
	r.heldDeletions = nil
}

func (h *heldDeletion) releaseCursor(r *OpenCursor) {
	if _, waits := h.cursors[r]; !waits {
		return
	}
	if delete(h.cursors, r); len(h.cursors) == 0 {
		h.begin()
	}
}

// runAfterCursors calls begin when all cursors that read a collection on a shard now have ended.
func (rd *RangeDeleter) runAfterCursors(ns string, shard catalog.ShardID, begin func()) {
	held := &heldDeletion{cursors: map[*OpenCursor]struct{}{}, begin: begin}
	for r := range rd.cursors {
		if r.ns == ns && slices.Contains(r.shards, shard) && r.secondary == nil {
			r.heldDeletions = append(r.heldDeletions, held)
			held.cursors[r] = struct{}{}
		}
	}
	if len(held.cursors) == 0 {
		begin()
		return
	}
	rd.limitIdleWait(held)
}

// limitIdleWait ends the wait of a deletion for cursors that are idle for too long.
func (rd *RangeDeleter) limitIdleWait(held *heldDeletion) {
	rd.clock.After(idleCursorTimeout, func() {
		for r := range held.cursors {
			if !r.noTimeout && rd.clock.Now().Sub(r.lastUsed) >= idleCursorTimeout {
				held.releaseCursor(r)
			}
		}
		if len(held.cursors) > 0 {
			rd.limitIdleWait(held)
		}
	})
}
