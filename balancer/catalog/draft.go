package catalog

import (
	"iter"
	"slices"

	"github.com/tidwall/btree"
)

// Draft is a routing table that changes frequently. Changes are collected and applied to the table on
// demand, so that a changed block is written once, no matter how often its chunks have changed. A Draft
// is not safe for concurrent use; the tables that it returns are.
type Draft struct {
	table   *RoutingTable
	version ChunkVersion
	// pending contains the chunks that are not in the table yet. They do not overlap, and each one
	// covers one or several whole chunks of the table.
	pending        *btree.BTreeG[*Chunk] // by lower bound
	countDelta     map[ShardID]int       // changes of the numbers of chunks since the table
	searchChunk    Chunk                 // the search key of pendingAt
	replacedChunks []Chunk               // reused by Put for the chunks that it replaces
}

// NewDraft returns a Draft that begins with a table.
func NewDraft(t *RoutingTable) *Draft {
	less := func(a, b *Chunk) bool { return a.Min.encoded < b.Min.encoded }
	return &Draft{
		table: t, version: t.version, countDelta: map[ShardID]int{},
		pending: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}),
	}
}

// Table returns the current table.
func (d *Draft) Table() *RoutingTable {
	if d.pending.Len() == 0 {
		return d.table
	}
	changed := make([]Chunk, 0, d.pending.Len())
	d.pending.Scan(func(c *Chunk) bool {
		changed = append(changed, *c)
		return true
	})
	next, err := d.table.Apply(changed)
	if err != nil {
		panic("catalog: changes that were checked do not fit: " + err.Error())
	}
	d.table = next
	d.pending.Clear()
	clear(d.countDelta)
	return next
}

// Put replaces the chunks that the changed chunks overlap. It applies all changes or none, like
// RoutingTable.Apply and with the same errors. The Draft keeps the slice, so the caller must not change
// it.
func (d *Draft) Put(changed ...Chunk) error {
	if len(changed) > maxCollectedChanges {
		return d.apply(changed)
	}
	if !d.collectReplaced(changed) {
		return d.apply(changed)
	}
	sameRange := func(a, b Chunk) bool { return a.Min == b.Min && a.Max == b.Max }
	if !slices.EqualFunc(d.replacedChunks, changed, sameRange) {
		d.discardPending(changed)
	}
	d.addCounts(d.replacedChunks, -1)
	d.addCounts(changed, +1)
	for i := range changed {
		c := &changed[i]
		if len(c.History) == 0 && !c.OnCurrentShardSince.IsZero() {
			c.History = []ChunkHistory{{c.OnCurrentShardSince, c.Shard}} // as the table would return it
		}
		d.pending.Set(c)
		if d.version.Compare(c.Version) < 0 {
			d.version = c.Version
		}
	}
	return nil
}

// discardPending removes the pending chunks that changed chunks overlap.
func (d *Draft) discardPending(changed []Chunk) {
	var gathered []*Chunk // the removed ones; most chunks are only in the table
	for _, c := range changed {
		gathered = slices.AppendSeq(gathered, d.pendingIn(c.Min, c.Max))
	}
	for _, c := range gathered {
		d.pending.Delete(c)
	}
}

// addCounts counts added or removed chunks. Adjacent chunks are often on one shard.
func (d *Draft) addCounts(chunks []Chunk, sign int) {
	for len(chunks) > 0 {
		n, shard := 1, chunks[0].Shard
		for n < len(chunks) && chunks[n].Shard == shard {
			n++
		}
		d.countDelta[shard] += sign * n
		chunks = chunks[n:]
	}
}

// maxCollectedChanges is the maximum number of changes in one call that are collected. More changes are
// applied to the table directly, which is faster.
const maxCollectedChanges = 64

// apply applies the collected changes and then changed.
func (d *Draft) apply(changed []Chunk) error {
	next, err := d.Table().Apply(changed)
	if err != nil {
		return err
	}
	d.table, d.version = next, next.version
	return nil
}

// collectReplaced sets replacedChunks to the chunks that changed chunks replace, without their
// histories. It returns false for changes that are not simple replacements, or are invalid: chunks that
// overlap each other, bounds that are not bounds of chunks or have another type, a shard that is not in
// the table, or a newest chunk that is removed without a newer one.
func (d *Draft) collectReplaced(changed []Chunk) bool {
	d.replacedChunks = d.replacedChunks[:0]
	byKey := func(a, b Chunk) int { return a.Min.Compare(b.Min) }
	if !slices.IsSortedFunc(changed, byKey) {
		changed = slices.SortedFunc(slices.Values(changed), byKey)
	}
	newest := d.version
	for left := changed; len(left) > 0; {
		n := 1
		for n < len(left) && left[n].Min == left[n-1].Max {
			n++
		}
		end := left[n-1].Max
		if n < len(left) && left[n].Min.Compare(end) <= 0 || !d.collectCovering(left[0].Min, end) {
			return false
		}
		for _, c := range left[:n] {
			if !c.Min.Less(c.Max) || !d.knowsShards(c) {
				return false
			}
			if newest.Compare(c.Version) < 0 {
				newest = c.Version
			}
		}
		left = left[n:]
	}
	isNewest := func(c Chunk) bool { return c.Version == newest }
	return !slices.ContainsFunc(d.replacedChunks, isNewest) || slices.ContainsFunc(changed, isNewest)
}

// collectCovering adds the chunks that exactly cover a range to replacedChunks; it returns false if there
// are none.
func (d *Draft) collectCovering(from, to Key) bool {
	if c := d.find(from, nil); c.Min == from && c.Max == to { // the usual case
		d.replacedChunks = append(d.replacedChunks, c)
		return true
	}
	first := len(d.replacedChunks)
	for c := range d.overlapping(from, to, nil) {
		d.replacedChunks = append(d.replacedChunks, c)
	}
	return len(d.replacedChunks) > first && d.replacedChunks[first].Min == from &&
		d.replacedChunks[len(d.replacedChunks)-1].Max == to
}

// knowsShards reports whether the table contains the shards of a chunk.
func (d *Draft) knowsShards(c Chunk) bool {
	if _, known := d.table.shards.number[c.Shard]; !known {
		return false
	}
	for _, h := range c.History {
		if _, known := d.table.shards.number[h.Shard]; !known {
			return false
		}
	}
	return true
}

// Version returns the collection version: that of the newest chunk.
func (d *Draft) Version() Version { return Version{d.table.epoch, d.table.timestamp, d.version} }

// CountOn returns the number of chunks on a shard.
func (d *Draft) CountOn(s ShardID) int { return d.table.CountOn(s) + d.countDelta[s] }

// Find returns the chunk that contains the key. The last chunk contains the global maximum.
func (d *Draft) Find(k Key) Chunk { return d.find(k, &historySlab{}) }

// FindWithoutHistory returns the same chunk as Find without its history.
func (d *Draft) FindWithoutHistory(k Key) Chunk { return d.find(k, nil) }

// find returns the chunk that contains the key. The history is allocated from slab; with a nil slab,
// the history may be missing.
func (d *Draft) find(k Key, slab *historySlab) (c Chunk) {
	if c, ok := d.pendingAt(k); ok {
		return *c
	}
	p := d.table.locate(k.encoded)
	d.table.block(p).readChunk(p.chunk, d.table.shards.names, slab, &c)
	return c
}

// pendingAt returns the pending chunk that contains the key. It sets searchChunk to the key.
func (d *Draft) pendingAt(k Key) (found *Chunk, ok bool) {
	if d.pending.Len() == 0 {
		return nil, false
	}
	d.searchChunk.Min = k
	d.pending.Descend(&d.searchChunk, func(c *Chunk) bool {
		if ok = k.Less(c.Max) || c.Max.Equal(d.table.pattern.GlobalMax()); ok {
			found = c
		}
		return false
	})
	return found, ok
}

// Overlapping returns the chunks that share keys with [from, to), in key order. A zero Key means no
// bound. The Draft must not change during the iteration.
func (d *Draft) Overlapping(from, to Key) iter.Seq[Chunk] {
	return d.overlapping(from, to, &historySlab{size: minSlab})
}

func (d *Draft) overlapping(from, to Key, slab *historySlab) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		at := from
		for c := range d.pendingIn(from, to) {
			if at.Less(c.Min) {
				for old := range d.table.overlapping(at, c.Min, slab) {
					if !yield(old) {
						return
					}
				}
			}
			if !yield(*c) {
				return
			}
			at = c.Max
		}
		if !to.IsZero() && !at.Less(to) {
			return
		}
		for old := range d.table.overlapping(at, to, slab) {
			if !yield(old) {
				return
			}
		}
	}
}

// pendingIn returns the pending chunks that share keys with [from, to).
func (d *Draft) pendingIn(from, to Key) iter.Seq[*Chunk] {
	return func(yield func(*Chunk) bool) {
		if d.pending.Len() == 0 {
			return
		}
		first, ok := d.pendingAt(from)
		if !ok || !from.Less(first.Max) {
			first = &d.searchChunk
		}
		d.pending.Ascend(first, func(c *Chunk) bool { return (to.IsZero() || c.Min.Less(to)) && yield(c) })
	}
}

// FirstOnShardExcept returns the first chunk in key order that a shard owns, other than the chunk that begins
// at lowerBound; false if there is none.
func (d *Draft) FirstOnShardExcept(s ShardID, lowerBound Key) (first Chunk, ok bool) {
	d.pending.Scan(func(c *Chunk) bool {
		if ok = c.Shard == s && !c.Min.Equal(lowerBound); ok {
			first = *c
		}
		return !ok
	})
	end := Key{}
	if ok {
		end = first.Min
	}
	for c := range d.table.OwnedChunks(s, Key{}, end) {
		if _, changed := d.pendingAt(c.Min); !changed && !c.Min.Equal(lowerBound) {
			return c, true
		}
	}
	return first, ok
}
