package forecast

import (
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// withMergedSizes sets the sizes of the chunks that a defragmentation has merged while moving chunks.
// The defragmentation knows these sizes, but the catalog does not. Without them, a simulation would
// measure all chunks again and move other chunks than the cluster does.
func withMergedSizes(s *catalog.Snapshot) *catalog.Snapshot {
	for _, c := range s.Collections() {
		if !c.Defragment || c.DefragmentationPhase != string(policy.PhaseMoveAndMerge) || c.Table == nil {
			continue
		}
		unmeasured := func(chunk catalog.Chunk) bool { return !chunk.Estimate.Known() }
		var changed []catalog.Chunk
		c, joined := withMerges(s, c)
		p := newMergedChunks(s, c, joined)
		for chunk := range c.Table.All() {
			if unmeasured(chunk) {
				chunk.Estimate = catalog.NewEstimate(p.size(chunk))
				changed = append(changed, chunk)
			}
		}
		table, err := c.Table.Apply(changed)
		if err != nil {
			continue // the simulation begins the phase again
		}
		next := *c
		next.Table = table
		s = s.WithCollection(&next)
	}
	return s
}

// mergedChunks records from how many chunks each chunk was merged, according to the change log.
type mergedChunks struct {
	// counts holds the number of original chunks in each merged chunk, by the lower bound of the merged
	// chunk.
	counts    map[catalog.Key]int
	bytesEach int64 // bytes of an original chunk whose size is unknown
}

func newMergedChunks(s *catalog.Snapshot, c *catalog.CollectionState, joined []catalog.Chunk) *mergedChunks {
	p := &mergedChunks{counts: map[catalog.Key]int{}}
	for _, e := range mergeEntries(s, c) {
		n, _ := e.Detail("numChunks").AsInt64OK()
		if lower, upper, ok := parseBounds(c, e); ok {
			p.merge(lower, upper, int(n))
		}
	}
	for _, chunk := range joined {
		p.merge(chunk.Min, chunk.Max, 2)
	}
	left, unknown := int64(0), int64(0)
	for _, data := range c.Sizes {
		left += data.Bytes
	}
	for chunk := range c.Table.All() {
		size := chunk.Estimate.Bytes()
		switch {
		case !chunk.Estimate.Known():
			unknown += int64(p.count(chunk))
		case size == catalog.TooBig:
			unknown++
		default:
			left -= size
		}
	}
	p.bytesEach = max(0, left) / max(1, unknown)
	return p
}

// merge merges n chunks in a range.
func (m *mergedChunks) merge(lower, upper catalog.Key, n int) {
	for key, had := range m.counts {
		if key.Compare(lower) >= 0 && key.Less(upper) {
			n += had - 1
			delete(m.counts, key)
		}
	}
	m.counts[lower] = n
}

// count returns how many original chunks are in a chunk.
func (m *mergedChunks) count(chunk catalog.Chunk) int { return max(1, m.counts[chunk.Min]) }

func (m *mergedChunks) size(chunk catalog.Chunk) int64 { return int64(m.count(chunk)) * m.bytesEach }

// mergeEntries returns the merges of a collection, the oldest first.
func mergeEntries(s *catalog.Snapshot, c *catalog.CollectionState) []catalog.LogEntry {
	return slices.DeleteFunc(slices.Clone(s.Parts().Changes), func(e catalog.LogEntry) bool {
		return e.What != "merge" || e.Namespace != c.Namespace
	})
}

func parseBounds(c *catalog.CollectionState, e catalog.LogEntry) (lower, upper catalog.Key, ok bool) {
	key := func(name string) (catalog.Key, bool) {
		doc, there := e.Detail(name).DocumentOK()
		if !there {
			return catalog.Key{}, false
		}
		k, err := c.Pattern.ParseKey(doc)
		return k, err == nil
	}
	lower, first := key("min")
	upper, second := key("max")
	return lower, upper, first && second
}

// withMerges merges the chunks that a defragmentation has moved to a neighbour: the defragmentation
// merges them when the round of the migration has ended. It also returns the merged chunks.
func withMerges(
	s *catalog.Snapshot, c *catalog.CollectionState,
) (next *catalog.CollectionState, joined []catalog.Chunk) {
	merged := mergeEntries(s, c)
	for _, e := range s.Parts().Changes {
		lower, upper, ok := parseBounds(c, e)
		if e.What != catalog.MigrationCommitted || e.Namespace != c.Namespace || !ok {
			continue
		}
		done := slices.ContainsFunc(merged, func(m catalog.LogEntry) bool {
			from, to, ok := parseBounds(c, m)
			return ok && !m.Time.Before(e.Time) && from.Compare(lower) <= 0 && upper.Compare(to) <= 0
		})
		if done {
			continue
		}
		if table, chunk, ok := joinNeighbour(c.Table, lower, upper); ok {
			changed := *c
			changed.Table = table
			c, joined = &changed, append(joined, chunk)
		}
	}
	return c, joined
}

// joinNeighbour joins a chunk with a neighbour on the same shard; of two neighbours it takes the next
// one.
func joinNeighbour(
	t *catalog.RoutingTable, lower, upper catalog.Key,
) (next *catalog.RoutingTable, sum catalog.Chunk, ok bool) {
	at := t.IndexOf(lower)
	chunk := t.At(at)
	if !chunk.Min.Equal(lower) || !chunk.Max.Equal(upper) {
		return nil, sum, false
	}
	for _, i := range []int{at + 1, at - 1} {
		if i < 0 || i >= t.Len() || t.At(i).Shard != chunk.Shard {
			continue
		}
		sum = t.At(min(i, at))
		sum.Max, sum.Version = t.At(max(i, at)).Max, t.Version().ChunkVersion
		sum.Estimate = 0
		if a, b := chunk.Estimate, t.At(i).Estimate; a.Known() && b.Known() {
			sum.Estimate = a.Plus(b)
		}
		next, err := t.Apply([]catalog.Chunk{sum})
		return next, sum, err == nil
	}
	return nil, sum, false
}
