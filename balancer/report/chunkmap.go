package report

import (
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
)

// ChunkMap is a collection laid out in cells of equal width, in the order of its
// shard key: what a terminal draws as characters and a page as rectangles.
type ChunkMap struct {
	Namespace string `json:"ns"`
	// Basis says what widths stand for.
	Basis Basis `json:"widths"`
	// ChunkSize is that in force for the collection, in bytes.
	ChunkSize int64 `json:"chunkSize"`
	Chunks    int   `json:"chunks"`
	Jumbo     int   `json:"jumbo"`
	// Bytes are those of all shards that reported them; -1 when none did.
	Bytes int64 `json:"bytes"`
	// Shards are those with chunks, by id. Owners of cells name them by their place
	// in this list.
	Shards []MapShard `json:"shards"`
	// Cells are empty when the Snapshot only counts chunks.
	Cells []Cell `json:"cells"`
	// Zones are the ranges of zones, in key order.
	Zones []MapZone `json:"zones"`
	// Heat is nil where nobody asked for it.
	Heat *MapHeat `json:"heat,omitzero"`
}

// Basis says what the widths of a map stand for.
type Basis string

// The bases.
const (
	// ByCount gives all chunks the same width, as the sizes are unknown.
	ByCount Basis = "count"
	// ByShard spreads what a shard holds evenly over those of its chunks that
	// nobody measured; a shard that did not report has chunks of half the chunk size.
	ByShard Basis = "shard"
	// ByChunk gives each chunk its measured size.
	ByChunk Basis = "chunk"
)

// String says what the widths stand for.
func (b Basis) String() string {
	return map[Basis]string{
		ByCount: "equal widths, chunk sizes unknown",
		ByShard: "bytes, averaged over each shard's chunks",
		ByChunk: "measured bytes",
	}[b]
}

// MapShard is a shard in the legend of a map.
type MapShard struct {
	ID     catalog.ShardID `json:"shard"`
	Chunks int             `json:"chunks"`
	Jumbo  int             `json:"jumbo"`
	Bytes  int64           `json:"bytes"` // owned; -1 when the shard did not tell
}

// Cell is one place of a map. A chunk takes several cells, or a cell has several
// chunks.
type Cell struct {
	// First and Last are the places in the routing table of the chunks in the cell,
	// or in part in it.
	First int `json:"first"`
	Last  int `json:"last"`
	// From is the lower bound of the first one.
	From catalog.Key `json:"from"`
	// Begins counts the chunks that begin in the cell, Jumbo those of all in it that
	// are flagged.
	Begins int `json:"begins"`
	Jumbo  int `json:"jumbo"`
	// Owners are the shards in it, the one with the most first.
	Owners []Owner `json:"owners"`
}

// Owner is what a shard has of a cell.
type Owner struct {
	Shard int     `json:"shard"` // its place in ChunkMap.Shards
	Share float64 `json:"share"` // 0 to 1
}

// MapZone is a range of a zone, over the cells From to To-1. Cells show whole
// chunks, so that a range that begins within one is shown from its beginning.
type MapZone struct {
	Zone string `json:"zone"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

// NewChunkMap lays a collection out in as many cells as width says, at least one; the
// chunk size is that of the cluster. As long as there are cells enough, each
// chunk has one of its own.
func NewChunkMap(c *catalog.CollectionState, chunkSize int64, width int) ChunkMap {
	m := ChunkMap{
		Namespace: c.Namespace, Basis: ByCount, ChunkSize: c.DataSizes(chunkSize).MaxChunkSizeBytes, Bytes: -1,
	}
	for _, id := range c.Owners() {
		n := c.CountOn(id)
		shard := MapShard{ID: id, Chunks: int(n.Chunks), Jumbo: int(n.Jumbo), Bytes: -1}
		if data, told := c.Sizes[id]; told {
			shard.Bytes = data.Bytes
			m.Bytes = max(m.Bytes, 0) + data.Bytes
		}
		m.Shards, m.Chunks, m.Jumbo = append(m.Shards, shard), m.Chunks+shard.Chunks, m.Jumbo+shard.Jumbo
	}
	if c.Table == nil {
		return m
	}
	var s strip
	s, m.Basis = stripOf(c, &m)
	m.Cells = s.cells(c.Table, len(m.Shards), max(width, 1))
	for _, z := range c.Zones.Ranges() {
		m.Zones = append(m.Zones, m.zoneCells(c.Table, z))
	}
	return m
}

// zoneCells finds the cells of a range.
func (m *ChunkMap) zoneCells(t *catalog.RoutingTable, z catalog.ZoneRange) MapZone {
	first, last := t.IndexOf(z.Min), t.IndexOf(z.Max)
	if t.HasLowerBound(z.Max) && last > first {
		last--
	}
	from, _ := slices.BinarySearchFunc(m.Cells, first, func(c Cell, i int) int { return cmp.Compare(c.Last, i) })
	to, _ := slices.BinarySearchFunc(m.Cells, last+1, func(c Cell, i int) int { return cmp.Compare(c.First, i) })
	return MapZone{Zone: z.Zone, From: from, To: to}
}

// Width returns how many cells show a shard's chunks in the main.
func (m *ChunkMap) Width(shard int) (n int) {
	for _, c := range m.Cells {
		if c.Owners[0].Shard == shard {
			n++
		}
	}
	return n
}
