package chunkmaps

import (
	"fmt"
	"html"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/report"
)

// The measures of a drawing, in its own units.
const (
	width, margin    = 760, 10
	cells            = width - 2*margin // a place of the map for each unit
	zoneTop, top     = 8, 30
	high             = 34
	barTop, barStep  = 108, 26
	barLeft, barMost = 90, 430
)

// style has the colours for light and for dark pages: each shard's is readable by those
// who see red and green alike, and its letter stands beside it.
const style = `text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #24292f; }
.dim { fill: #57606a; } .s0 { fill: #0072b2; } .s1 { fill: #e69f00; } .s2 { fill: #009e73; } .s3 { fill: #cc79a7; }
.letter { fill: #fff; font-weight: bold; } .edge { stroke: #fff; stroke-width: 2; }
.zone { stroke: #57606a; stroke-width: 2; fill: none; } .fair { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 4 3; }
.moves { fill: none; stroke: #cf222e; stroke-width: 3; } .told { fill: #cf222e; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .dim { fill: #9da7b3; } .edge { stroke: #0d1117; }
.letter { fill: #fff; } .zone { stroke: #9da7b3; } .told { fill: #ff7b72; } .moves, .fair { stroke: #ff7b72; } }`

// draw draws a collection: its chunks in the order of the shard key, as wide as their
// bytes, what moves, zones, jumbo chunks, and what each shard has.
func draw(s *catalog.Snapshot, ns, title string) string {
	c := s.Collection(ns)
	m := report.NewChunkMap(c, c.ChunkSize(s.Settings()), cells)
	var b strings.Builder
	height := barTop + barStep*len(s.Shards()) + 8
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%d" role="img">`+
		"\n<title>%s</title>\n<style>%s</style>\n", width, height, html.EscapeString(title), style)
	letters := map[catalog.ShardID]int{}
	for i, shard := range s.Shards() {
		letters[shard.ID] = i
	}
	for from := 0; from < len(m.Cells); {
		to := from
		for to < len(m.Cells) && m.Cells[to].First == m.Cells[from].First {
			to++
		}
		chunk(&b, s, &m, from, to, letters)
		from = to
	}
	for _, z := range m.Zones {
		x, w := margin+z.FromCell, z.ToCell-z.FromCell
		fmt.Fprintf(&b, `<path class="zone" d="M%d %d v-6 h%d v6"/><text x="%d" y="%d" class="dim">%s</text>`+"\n",
			x+1, top-3, w-2, x+6, zoneTop+10, html.EscapeString("zone "+z.Zone))
	}
	bars(&b, s, c, letters)
	b.WriteString("</svg>\n")
	return b.String()
}

// chunk draws the one in the places from to to-1.
func chunk(b *strings.Builder, s *catalog.Snapshot, m *report.ChunkMap, from, to int, letters map[catalog.ShardID]int) {
	cell := m.Cells[from]
	shard := letters[m.Shards[cell.Owners[0].Shard].ID]
	x, w := margin+from, to-from
	fmt.Fprintf(b, `<rect class="s%d edge" x="%d" y="%d" width="%d" height="%d"/>`, shard, x, top, w, high)
	if w > 12 {
		fmt.Fprintf(b, `<text class="letter" x="%d" y="%d">%c</text>`, x+6, top+22, 'A'+shard)
	}
	if cell.Jumbo > 0 {
		fmt.Fprintf(b, `<text class="letter" x="%d" y="%d">jumbo</text>`, x+22, top+22)
	}
	if key := bound(cell.From); w >= 9*len(key) {
		fmt.Fprintf(b, `<text class="dim" x="%d" y="%d">%s</text>`, x+1, top+high+15, html.EscapeString(key))
	}
	for _, move := range s.Parts().Migrations {
		if move.Namespace == m.Namespace && cell.From.Values()[0].Equal(move.Min.Index(0).Value()) {
			fmt.Fprintf(b, `<rect class="moves" x="%d" y="%d" width="%d" height="%d"/><text class="told" x="%d" y="%d">to %c</text>`,
				x+1, top-1, w-2, high+2, x+1, top+high+30, 'A'+letters[move.To])
		}
	}
	b.WriteString("\n")
}

// bound returns the first value of a bound, as short as can be.
func bound(k catalog.Key) string {
	text := k.String()
	return strings.Trim(text, "[]")
}

// bars draws what each shard has, and what a fair share would be.
func bars(b *strings.Builder, s *catalog.Snapshot, c *catalog.CollectionState, letters map[catalog.ShardID]int) {
	var total, sharing int64
	for _, shard := range s.Shards() {
		total += c.Sizes[shard.ID].Bytes
		if !shard.Draining {
			sharing++
		}
	}
	scale := func(n int64) int { return int(barMost * float64(n) / (0.65 * float64(max(total, 1)))) }
	for i, shard := range s.Shards() {
		y := barTop + barStep*i
		data, n := c.Sizes[shard.ID], c.CountOn(shard.ID)
		fmt.Fprintf(b, `<text x="%d" y="%d">%c %s</text><rect class="s%d" x="%d" y="%d" width="%d" height="18"/>`,
			margin, y+14, 'A'+letters[shard.ID], html.EscapeString(string(shard.ID)), i, barLeft, y, scale(data.Bytes))
		told := fmt.Sprintf("%s in %d chunks", humanize.Bytes(data.Bytes), n.Chunks)
		if n.Chunks == 1 {
			told = strings.TrimSuffix(told, "s")
		}
		if shard.Draining {
			told += ", draining"
		}
		if data.Orphans > 0 {
			told += fmt.Sprintf(", %d orphans", data.Orphans)
		}
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", barLeft+barMost+8, y+14, told)
	}
	x := barLeft + scale(total/max(sharing, 1))
	fmt.Fprintf(b, `<path class="fair" d="M%d %d v%d"/><text class="told" x="%d" y="%d">fair share</text>`+"\n",
		x, barTop-4, barStep*len(s.Shards())+2, x-36, barTop-8)
}
