package report

import (
	"cmp"
	"math"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// strip holds the chunks of a collection side by side.
type strip struct {
	pieces []piece
	total  float64
}

// piece is a chunk on a strip.
type piece struct {
	width float64
	shard int
	jumbo bool
}

// stripOf returns a strip in which each chunk is as wide as its bytes, or all chunks have equal widths
// if no sizes are known.
func stripOf(c *catalog.CollectionState, m *ChunkMap) (s strip, b WidthBasis) {
	number := make(map[catalog.ShardID]int, len(m.Shards))
	for i, shard := range m.Shards {
		number[shard.ID] = i
	}
	contents := sim.Measured(c, m.ChunkSize)
	s.pieces = make([]piece, 0, c.Table.Len())
	for chunk := range c.Table.All() {
		p := piece{float64(contents(chunk).Bytes), number[chunk.Shard], chunk.Jumbo == catalog.JumboTrue}
		s.pieces, s.total = append(s.pieces, p), s.total+p.width
	}
	if b = basisOf(c); b == ByCount || s.total <= 0 {
		for i := range s.pieces {
			s.pieces[i].width = 1
		}
		return strip{s.pieces, float64(len(s.pieces))}, ByCount
	}
	return s, b
}

// basisOf returns what is known about the sizes of chunks.
func basisOf(c *catalog.CollectionState) WidthBasis {
	measured := map[string]bool{}
	for _, size := range c.ChunkSizes {
		if c.Table.HasLowerBound(size.Min) {
			measured[string(size.Min.Bytes())] = true
		}
	}
	switch {
	case len(measured) == c.Table.Len():
		return ByChunk
	case len(measured) == 0 && len(c.Sizes) == 0:
		return ByCount
	}
	return ByShard
}

// cells divides the strip into cells.
func (s strip) cells(t *catalog.RoutingTable, shards, width int) []Cell {
	cells := slices.Repeat([]Cell{{First: -1}}, width)
	shares := make([]float64, width*shards) // the share of each shard in each cell
	var sum, from float64
	for i, p := range s.pieces {
		sum += p.width
		to := s.position(i+1, sum, width)
		first := min(int(from), width-1)
		for at := first; at <= max(first, int(math.Ceil(to))-1); at++ {
			cells[at].add(i, at == first, p.jumbo)
			shares[at*shards+p.shard] += min(to, float64(at+1)) - max(from, float64(at))
		}
		from = to
	}
	for i := range cells {
		cells[i].From = t.At(cells[i].First).Min
		cells[i].Owners = ownersOf(shares[i*shards : (i+1)*shards])
	}
	return cells
}

// position returns the position of a chunk in cells, from the width of all chunks before it. If there
// are enough cells, the position is the edge of a cell, and all positions differ.
func (s strip) position(i int, before float64, width int) float64 {
	if spare := width - len(s.pieces); spare >= 0 {
		return float64(i + int(before/s.total*float64(spare)))
	}
	return before / s.total * float64(width)
}

// add adds a chunk to a cell, after the chunks before it.
func (c *Cell) add(i int, begins, jumbo bool) {
	if c.First < 0 {
		c.First = i
	}
	c.Last = i
	if begins {
		c.ChunkStarts++
	}
	if jumbo {
		c.Jumbo++
	}
}

// ownersOf returns the shards of a cell, sorted by share.
func ownersOf(shares []float64) []Owner {
	var owners []Owner
	for shard, share := range shares {
		if share > 0 {
			owners = append(owners, Owner{shard, share})
		}
	}
	slices.SortStableFunc(owners, func(a, b Owner) int { return cmp.Compare(b.Share, a.Share) })
	return owners
}
