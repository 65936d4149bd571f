package catalog

import (
	"iter"
	"slices"

	"github.com/tidwall/btree"
)

// Draft is a routing table that changes all the time. Changes are gathered and
// written into the table on demand: a table costs the blocks that
// changed once, however often chunks in them did. It is not safe for concurrent use;
// the tables that it gives away are.
type Draft struct {
	table   *RoutingTable
	version ChunkVersion
	// pending are the chunks that the table does not know yet. They do not overlap,
	// and each covers whole chunks of the table, alone or with its neighbours.
	pending        *btree.BTreeG[*Chunk] // by lower bound
	countDelta     map[ShardID]int       // chunks that shards have more, or less, than in the table
	searchChunk    Chunk                 // the one that pendingAt looks for
	replacedChunks []Chunk               // room for those that Put replaces
}

// NewDraft begins with a table.
func NewDraft(t *RoutingTable) *Draft {
	less := func(a, b *Chunk) bool { return a.Min.encoded < b.Min.encoded }
	return &Draft{
		table: t, version: t.version, countDelta: map[ShardID]int{},
		pending: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}),
	}
}

// Table returns the table as it is now.
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

// Put lets chunks take the place of what they overlap, all or none, as
// RoutingTable.Apply does, with its errors. The slice is the draft's from then on: it
// must not be changed.
func (d *Draft) Put(changed ...Chunk) error {
	if len(changed) > maxPending {
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

// discardPending drops the chunks that the table does not know yet and that others overlap.
func (d *Draft) discardPending(changed []Chunk) {
	var gathered []*Chunk // of those gone; most are in the table only
	for _, c := range changed {
		gathered = slices.AppendSeq(gathered, d.pendingIn(c.Min, c.Max))
	}
	for _, c := range gathered {
		d.pending.Delete(c)
	}
}

// addCounts counts chunks that came or went. Neighbours are often on one shard.
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

// maxPending is how many changes come at once, at most, that are gathered: the
// table is quicker with many.
const maxPending = 64

// apply writes changes, after those gathered.
func (d *Draft) apply(changed []Chunk) error {
	next, err := d.Table().Apply(changed)
	if err != nil {
		return err
	}
	d.table, d.version = next, next.version
	return nil
}

// collectReplaced sets gone to the chunks that others take the place of, without their
// histories. It is false for what is more than that, or wrong: chunks that overlap each
// other, bounds where no chunk ends or that become of another type, a shard that the
// table has to learn, a newest chunk that goes without a newer one.
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
		if n < len(left) && left[n].Min.Compare(end) <= 0 || !d.collectTiled(left[0].Min, end) {
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

// collectTiled adds the chunks to gone that tile a range; it is false when none do.
func (d *Draft) collectTiled(from, to Key) bool {
	if c := d.find(from, nil); c.Min == from && c.Max == to { // as nearly always
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

// knowsShards reports whether the table has the names of a chunk's shards.
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

// Count returns the number of chunks on a shard.
func (d *Draft) Count(s ShardID) int { return d.table.Count(s) + d.countDelta[s] }

// Find returns the chunk that contains the key. The global maximum belongs to the
// last chunk.
func (d *Draft) Find(k Key) Chunk { return d.find(k, &historySlab{}) }

// Place is Find without the history, for callers that do not need it.
func (d *Draft) Place(k Key) Chunk { return d.find(k, nil) }

// find is Find with a history cut from slab, perhaps without one if that is nil.
func (d *Draft) find(k Key, slab *historySlab) (c Chunk) {
	if c, ok := d.pendingAt(k); ok {
		return *c
	}
	p := d.table.locate(k.encoded)
	d.table.block(p).readChunk(p.chunk, d.table.shards.names, slab, &c)
	return c
}

// pendingAt returns the chunk that contains the key, if the table does not know it yet.
// The one sought begins at the key from then on.
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

// Overlapping returns the chunks that share keys with [from, to), in key order. A
// zero Key leaves that end open. The draft must not change meanwhile.
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

// pendingIn returns the chunks that share keys with [from, to) and that the table
// does not know yet.
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

// FirstOther returns the first chunk in key order that a shard owns besides the one
// with a lower bound; false when there is none.
func (d *Draft) FirstOther(s ShardID, than Key) (first Chunk, ok bool) {
	d.pending.Scan(func(c *Chunk) bool {
		if ok = c.Shard == s && !c.Min.Equal(than); ok {
			first = *c
		}
		return !ok
	})
	end := Key{}
	if ok {
		end = first.Min
	}
	for c := range d.table.OwnedChunks(s, Key{}, end) {
		if _, changed := d.pendingAt(c.Min); !changed && !c.Min.Equal(than) {
			return c, true
		}
	}
	return first, ok
}
