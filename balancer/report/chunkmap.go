package report

import (
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
)

// ChunkMap is a collection laid out in cells of equal width, in the order of its shard key. A terminal
// draws cells as characters, a page draws them as rectangles.
type ChunkMap struct {
	Namespace string `json:"ns"`
	// Widths says what widths represent.
	Widths WidthBasis `json:"widths"`
	// ChunkSize is the chunk size in effect for the collection, in bytes.
	ChunkSize int64 `json:"chunkSize"`
	Chunks    int   `json:"chunks"`
	Jumbo     int   `json:"jumbo"`
	// Bytes is the size on all shards that reported theirs; -1 when none did.
	Bytes int64 `json:"bytes"`
	// Shards are the shards with chunks, by id. Owners of cells refer to them by index.
	Shards []MapShard `json:"shards"`
	// Cells is empty when the Snapshot only counts chunks.
	Cells []Cell `json:"cells"`
	// Zones are the zone ranges, in key order.
	Zones []MapZone `json:"zones"`
	// Heat is the load; nil if it was not requested.
	Heat *MapHeat `json:"heat,omitzero"`
}

// WidthBasis says what the widths of a map represent.
type WidthBasis string

// The bases.
const (
	// ByCount gives all chunks the same width, because their sizes are unknown.
	ByCount WidthBasis = "count"
	// ByShard divides the size of a shard evenly among its unmeasured chunks. The chunks of a shard
	// that did not report its size have half of the chunk size.
	ByShard WidthBasis = "shard"
	// ByChunk gives each chunk its measured size.
	ByChunk WidthBasis = "chunk"
)

// String says what the widths represent.
func (b WidthBasis) String() string {
	return map[WidthBasis]string{
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
	Bytes  int64           `json:"bytes"` // owned bytes; -1 when the shard did not report them
}

// Cell is one position of a map. A chunk can take several cells, and a cell can contain several chunks.
type Cell struct {
	// First and Last are the indexes in the routing table of the first and last chunk that is at least
	// partly in the cell.
	First int `json:"first"`
	Last  int `json:"last"`
	// From is the lower bound of the first chunk.
	From catalog.Key `json:"from"`
	// ChunkStarts counts the chunks that begin in the cell. Jumbo counts the chunks in the cell that are
	// flagged jumbo.
	ChunkStarts int `json:"begins"`
	Jumbo       int `json:"jumbo"`
	// Owners are the shards in the cell, the one with the most data first.
	Owners []Owner `json:"owners"`
}

// Owner is the part of a shard in a cell.
type Owner struct {
	Shard int     `json:"shard"` // index in ChunkMap.Shards
	Share float64 `json:"share"` // 0 to 1
}

// MapZone is a range of a zone, over the cells FromCell to ToCell-1. Cells show whole chunks, so a range that
// begins inside a chunk is shown from the beginning of the chunk.
type MapZone struct {
	Zone     string `json:"zone"`
	FromCell int    `json:"from"`
	ToCell   int    `json:"to"`
}

// NewChunkMap lays a collection out in width cells, at least one; chunkSize is the one of
// the collection. If there are enough cells, each chunk has its own.
func NewChunkMap(c *catalog.CollectionState, chunkSize int64, width int) ChunkMap {
	m := ChunkMap{
		Namespace: c.Namespace, Widths: ByCount, ChunkSize: chunkSize, Bytes: -1,
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
	s, m.Widths = stripOf(c, &m)
	m.Cells = s.cells(c.Table, len(m.Shards), max(width, 1))
	for _, z := range c.Zones.Ranges() {
		m.Zones = append(m.Zones, m.zoneCells(c.Table, z))
	}
	return m
}

// zoneCells returns the cells of a range.
func (m *ChunkMap) zoneCells(t *catalog.RoutingTable, z catalog.ZoneRange) MapZone {
	first, last := t.IndexOf(z.Min), t.IndexOf(z.Max)
	if t.HasLowerBound(z.Max) && last > first {
		last--
	}
	from, _ := slices.BinarySearchFunc(m.Cells, first, func(c Cell, i int) int { return cmp.Compare(c.Last, i) })
	to, _ := slices.BinarySearchFunc(m.Cells, last+1, func(c Cell, i int) int { return cmp.Compare(c.First, i) })
	return MapZone{Zone: z.Zone, FromCell: from, ToCell: to}
}
