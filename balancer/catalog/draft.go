package catalog

import (
	"iter"
	"slices"

	"github.com/tidwall/btree"
)

// Draft is a routing table that changes all the time. Changes are gathered and
// written into the table when somebody asks for it: a table costs the blocks that
// changed once, however often chunks in them did. It is not safe for concurrent use;
// the tables that it gives away are.
type Draft struct {
	table   *RoutingTable
	version ChunkVersion
	// changed are the chunks that the table does not know yet. They do not overlap,
	// and each covers whole chunks of the table, alone or with its neighbours.
	changed *btree.BTreeG[*Chunk] // by lower bound
	more    map[ShardID]int       // chunks that shards have more, or less, than in the table
	sought  Chunk                 // the one that newAt looks for
	gone    []Chunk               // room for those that Put replaces
}

// NewDraft begins with a table.
func NewDraft(t *RoutingTable) *Draft {
	less := func(a, b *Chunk) bool { return a.Min.order < b.Min.order }
	return &Draft{
		table: t, version: t.version, more: map[ShardID]int{},
		changed: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}),
	}
}

// Table returns the table as it is now.
func (d *Draft) Table() *RoutingTable {
	if d.changed.Len() == 0 {
		return d.table
	}
	changed := make([]Chunk, 0, d.changed.Len())
	d.changed.Scan(func(c *Chunk) bool {
		changed = append(changed, *c)
		return true
	})
	next, err := d.table.Apply(changed)
	if err != nil {
		panic("catalog: changes that were checked do not fit: " + err.Error())
	}
	d.table = next
	d.changed.Clear()
	clear(d.more)
	return next
}

// Put lets chunks take the place of what they overlap, all or none, as
// RoutingTable.Apply does, with its errors. The slice is the draft's from then on: it
// must not be changed.
func (d *Draft) Put(changed ...Chunk) error {
	if len(changed) > maxGathered {
		return d.apply(changed)
	}
	if !d.replaced(changed) {
		return d.apply(changed)
	}
	sameRange := func(a, b Chunk) bool { return a.Min == b.Min && a.Max == b.Max }
	if !slices.EqualFunc(d.gone, changed, sameRange) {
		d.forget(changed)
	}
	d.count(d.gone, -1)
	d.count(changed, +1)
	for i := range changed {
		c := &changed[i]
		if len(c.History) == 0 && !c.OnCurrentShardSince.IsZero() {
			c.History = []ChunkHistory{{c.OnCurrentShardSince, c.Shard}} // as the table would return it
		}
		d.changed.Set(c)
		if d.version.Compare(c.Version) < 0 {
			d.version = c.Version
		}
	}
	return nil
}

// forget drops the chunks that the table does not know yet and that others overlap.
func (d *Draft) forget(changed []Chunk) {
	var gathered []*Chunk // of those gone; most are in the table only
	for _, c := range changed {
		gathered = slices.AppendSeq(gathered, d.changedIn(c.Min, c.Max))
	}
	for _, c := range gathered {
		d.changed.Delete(c)
	}
}

// count counts chunks that came or went. Neighbours are often on one shard.
func (d *Draft) count(chunks []Chunk, sign int) {
	for len(chunks) > 0 {
		n, shard := 1, chunks[0].Shard
		for n < len(chunks) && chunks[n].Shard == shard {
			n++
		}
		d.more[shard] += sign * n
		chunks = chunks[n:]
	}
}

// maxGathered is how many changes come at once, at most, that are gathered: the
// table is quicker with many.
const maxGathered = 64

// apply writes changes, after those gathered.
func (d *Draft) apply(changed []Chunk) error {
	next, err := d.Table().Apply(changed)
	if err != nil {
		return err
	}
	d.table, d.version = next, next.version
	return nil
}

// replaced sets gone to the chunks that others take the place of, without their
// histories. It is false for what is more than that, or wrong: chunks that overlap each
// other, bounds where no chunk ends or that become of another type, a shard that the
// table has to learn, a newest chunk that goes without a newer one.
func (d *Draft) replaced(changed []Chunk) bool {
	d.gone = d.gone[:0]
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
		if n < len(left) && left[n].Min.Compare(end) <= 0 || !d.tile(left[0].Min, end) {
			return false
		}
		for _, c := range left[:n] {
			if !c.Min.Less(c.Max) || !d.knows(c) {
				return false
			}
			if newest.Compare(c.Version) < 0 {
				newest = c.Version
			}
		}
		left = left[n:]
	}
	isNewest := func(c Chunk) bool { return c.Version == newest }
	return !slices.ContainsFunc(d.gone, isNewest) || slices.ContainsFunc(changed, isNewest)
}

// tile adds the chunks to gone that tile a range; it is false when none do.
func (d *Draft) tile(from, to Key) bool {
	if c := d.find(from, nil); c.Min == from && c.Max == to { // as nearly always
		d.gone = append(d.gone, c)
		return true
	}
	first := len(d.gone)
	for c := range d.overlapping(from, to, nil) {
		d.gone = append(d.gone, c)
	}
	return len(d.gone) > first && d.gone[first].Min == from && d.gone[len(d.gone)-1].Max == to
}

// knows reports whether the table has the names of a chunk's shards.
func (d *Draft) knows(c Chunk) bool {
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
func (d *Draft) Count(s ShardID) int { return d.table.Count(s) + d.more[s] }

// Find returns the chunk that contains the key. The global maximum belongs to the
// last chunk.
func (d *Draft) Find(k Key) Chunk { return d.find(k, &historySlab{}) }

// Place is Find without the history, for who does not look at that.
func (d *Draft) Place(k Key) Chunk { return d.find(k, nil) }

// find is Find with a history cut from slab, perhaps without one if that is nil.
func (d *Draft) find(k Key, slab *historySlab) (c Chunk) {
	if c, ok := d.newAt(k); ok {
		return *c
	}
	p := d.table.locate(k.order)
	d.table.block(p).read(p.chunk, d.table.shards.names, slab, &c)
	return c
}

// newAt returns the chunk that contains the key, if the table does not know it yet.
// The one sought begins at the key from then on.
func (d *Draft) newAt(k Key) (found *Chunk, ok bool) {
	if d.changed.Len() == 0 {
		return nil, false
	}
	d.sought.Min = k
	d.changed.Descend(&d.sought, func(c *Chunk) bool {
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
	return d.overlapping(from, to, &historySlab{size: firstSlab})
}

func (d *Draft) overlapping(from, to Key, slab *historySlab) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		at := from
		for c := range d.changedIn(from, to) {
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

// changedIn returns the chunks that share keys with [from, to) and that the table
// does not know yet.
func (d *Draft) changedIn(from, to Key) iter.Seq[*Chunk] {
	return func(yield func(*Chunk) bool) {
		if d.changed.Len() == 0 {
			return
		}
		first, ok := d.newAt(from)
		if !ok || !from.Less(first.Max) {
			first = &d.sought
		}
		d.changed.Ascend(first, func(c *Chunk) bool { return (to.IsZero() || c.Min.Less(to)) && yield(c) })
	}
}

// FirstOther returns the first chunk in key order that a shard owns besides the one
// with a lower bound; false when there is none.
func (d *Draft) FirstOther(s ShardID, than Key) (first Chunk, ok bool) {
	d.changed.Scan(func(c *Chunk) bool {
		if ok = c.Shard == s && !c.Min.Equal(than); ok {
			first = *c
		}
		return !ok
	})
	end := Key{}
	if ok {
		end = first.Min
	}
	for c := range d.table.Owned(s, Key{}, end) {
		if _, changed := d.newAt(c.Min); !changed && !c.Min.Equal(than) {
			return c, true
		}
	}
	return first, ok
}
