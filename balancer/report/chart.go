package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/forecast"
)

// Box is a rectangle of a drawing, with the text that explains it.
type Box struct {
	X, Y, W, H float64
	Class      string
	Title      string
}

// Label is a text in a drawing.
type Label struct {
	X, Y float64
	Text string
	// Anchor says which part of the text is at X: empty for the start, middle or end.
	Anchor string
}

// Chart is a drawing.
type Chart struct {
	W, H float64
	// Class says for which windows the drawing is made, wide or narrow; empty means all.
	Class  string
	Boxes  []Box
	Lines  []Box // from X, Y with the extent W, H
	Labels []Label
}

// The widths of drawings; a browser scales them. Narrow windows get other drawings, so that the text
// keeps its size.
const (
	chartWidth  = 960.0
	narrowWidth = 380.0
	letterWidth = 7.0 // the approximate width of a letter
	plotHeight  = 140.0
	axisHeight  = 18.0
	barWidth    = 160.0
	barHeight   = 10.0
)

func roundToTenth(x float64) float64 { return math.Round(x*10) / 10 }

func ratio(n, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// wideAndNarrow returns a drawing for wide windows and a drawing for narrow ones.
func wideAndNarrow(draw func(width float64) Chart) []Chart {
	wide, narrow := draw(chartWidth), draw(narrowWidth)
	wide.Class, narrow.Class = "wide", "narrow"
	return []Chart{wide, narrow}
}

// ShardChart draws a column for each shard, the fullest first, with a line at the mean of the shards
// that are not draining.
func (page) ShardChart(shards []Shard) []Chart {
	return wideAndNarrow(func(width float64) Chart { return shardChart(shards, width) })
}

func shardChart(shards []Shard, chartWidth float64) Chart {
	list := slices.Clone(shards)
	slices.SortStableFunc(list, func(a, b Shard) int { return cmp.Compare(b.Bytes, a.Bytes) })
	most := fullest(list)
	c := Chart{W: chartWidth, H: plotHeight + axisHeight}
	step := chartWidth / float64(max(1, len(list)))
	width := min(step*0.8, 120)
	for i, s := range list {
		x := roundToTenth(float64(i)*step + (step-width)/2)
		owned := roundToTenth(ratio(s.Bytes, most) * plotHeight)
		orphans := roundToTenth(ratio(s.OrphanBytes, most) * plotHeight)
		class := "owned"
		if s.Draining {
			class = "draining"
		}
		title := fmt.Sprintf("%s: %s, %s", s.ID, humanize.Bytes(s.Bytes), humanize.Count(s.Chunks, "chunk"))
		c.Boxes = append(c.Boxes, Box{x, roundToTenth(plotHeight - owned), roundToTenth(width), owned, class, title})
		if s.OrphanBytes > 0 {
			c.Boxes = append(c.Boxes, Box{x, roundToTenth(plotHeight - owned - orphans), roundToTenth(width), orphans, "orphan",
				fmt.Sprintf("%s: %s of orphans", s.ID, humanize.Bytes(s.OrphanBytes))})
		}
	}
	c.Labels = shardLabels(list, chartWidth)
	if mean := ByteSpreadOf(shards).Mean; mean > 0 {
		c.Lines = append(c.Lines, Box{X: 0, Y: roundToTenth(plotHeight - ratio(mean, most)*plotHeight), W: chartWidth,
			Title: "mean " + humanize.Bytes(mean)})
	}
	return c
}

// shardLabels returns labels for as many shards as fit, including the first and the last.
func shardLabels(list []Shard, width float64) (labels []Label) {
	const shortest, longest = 40.0, 120.0
	step, need := width/float64(max(1, len(list))), shortest
	for _, s := range list {
		need = max(need, letterWidth*float64(len(s.ID)+2))
	}
	need = min(need, longest)
	every := max(1, int(math.Ceil(need/step)))
	if len(list)*int(shortest) <= int(width) {
		every, need = 1, step // all shards, if names are shortened
	}
	for i, s := range list {
		last := i == len(list)-1
		if i%every != 0 && !last || !last && i > 0 && len(list)-1-i < every && every > 1 {
			continue
		}
		l := Label{roundToTenth((float64(i) + 0.5) * step), plotHeight + 13,
			truncate(string(s.ID), int(need/letterWidth)), "middle"}
		switch {
		case every > 1 && i == 0:
			l.X, l.Anchor = 0, "start"
		case every > 1 && last:
			l.X, l.Anchor = width, "end"
		}
		labels = append(labels, l)
	}
	return labels
}

func truncate(text string, maxRunes int) string {
	runes := []rune(text)
	if maxRunes < 2 || len(runes) <= maxRunes {
		return text
	}
	return string(runes[:maxRunes-1]) + "…"
}

// Bar shows a shard's data relative to the fullest shard.
func (page) Bar(s Shard, most int64) Chart {
	owned, orphans, class := roundToTenth(ratio(s.Bytes, most)*barWidth), s.OrphanBytes, "owned"
	if s.Draining {
		class = "draining"
	}
	c := Chart{W: barWidth, H: barHeight, Boxes: []Box{{0, 0, owned, barHeight, class, ""}}}
	if orphans > 0 {
		c.Boxes = append(c.Boxes, Box{owned, 0, max(1, roundToTenth(ratio(orphans, most)*barWidth)), barHeight, "orphan", ""})
	}
	return c
}

// FullestShardBytes returns the size of the fullest shard, including orphans.
func (o *Overview) FullestShardBytes() int64 { return fullest(o.Shards) }

func fullest(shards []Shard) (most int64) {
	for _, s := range shards {
		most = max(most, s.Bytes+s.OrphanBytes)
	}
	return most
}

// colorCount is the number of colours for shards, greyCount that of the greys for the other shards.
const (
	colorCount = 12
	greyCount  = 3
)

// Hue returns the class of a shard's colour. The colour is unique, and the same in the whole page. If
// there are more shards than colours, the first shards on the page have colours and the others are
// grey.
func (p page) Hue(id catalog.ShardID) string {
	first := p.Shards[:min(colorCount, len(p.Shards))]
	if !slices.ContainsFunc(first, func(s Shard) bool { return s.ID == id }) {
		i := slices.IndexFunc(p.Shards, func(s Shard) bool { return s.ID == id })
		return fmt.Sprintf("rest%d", max(0, i)%greyCount)
	}
	ids := make([]string, len(first))
	for i, s := range first {
		ids[i] = string(s.ID)
	}
	slices.Sort(ids)
	i, _ := slices.BinarySearch(ids, string(id))
	return fmt.Sprintf("hue%d", i)
}

// ColourNote explains which shards are grey; empty if each shard has its own colour.
func (p page) ColourNote() string {
	if len(p.Shards) <= colorCount {
		return ""
	}
	return fmt.Sprintf(" The first %d shards of the list above have colours, the others are grey.", colorCount)
}

// Strip shows the distribution of a collection over the shards, in bytes, or in chunks if no sizes are
// known.
func (p page) Strip(c Collection) Chart {
	chart := Chart{W: barWidth, H: barHeight}
	x := 0.0
	for _, on := range c.Parts {
		share, text := ratio(on.Bytes, c.Bytes), humanize.Bytes(on.Bytes)
		if c.Bytes == 0 {
			share, text = ratio(on.Chunks, c.Chunks), humanize.Count(on.Chunks, "chunk")
		}
		width := roundToTenth(share * barWidth)
		if width < 0.5 {
			continue
		}
		title := string(on.Shard) + ": " + text
		chart.Boxes = append(chart.Boxes, Box{roundToTenth(x), 0, width, barHeight, p.Hue(on.Shard), title})
		x += share * barWidth
	}
	return chart
}

// Timeline draws a column for each part of the day: moves, and on top of them failed moves.
func (page) Timeline(h DayHistory) []Chart {
	return wideAndNarrow(func(width float64) Chart { return timeline(h, width) })
}

func timeline(h DayHistory, chartWidth float64) Chart {
	c := Chart{W: chartWidth, H: plotHeight + axisHeight}
	most := 0
	for _, s := range h.Slots {
		most = max(most, s.Moves+s.Failed)
	}
	step := chartWidth / float64(max(1, len(h.Slots)))
	height := func(n int) float64 { return roundToTenth(ratio(int64(n), int64(most)) * plotHeight) }
	for i, s := range h.Slots {
		x := roundToTenth(float64(i) * step)
		title := fmt.Sprintf("%s UTC: %d moved, %s, %d failed", clockText(s.Begin), s.Moves,
			humanize.Bytes(s.Bytes), s.Failed)
		if s.Moves > 0 {
			c.Boxes = append(c.Boxes, Box{x, plotHeight - height(s.Moves), roundToTenth(step - 1), height(s.Moves), "moved",
				title})
		}
		if s.Failed > 0 {
			c.Boxes = append(c.Boxes, Box{x, plotHeight - height(s.Moves+s.Failed), roundToTenth(step - 1), height(s.Failed),
				"failed", title})
		}
		if marks := int(chartWidth / 90); i%max(1, len(h.Slots)/min(marks, 8)) == 0 {
			c.Labels = append(c.Labels, Label{x, plotHeight + 13, clockText(s.Begin), ""})
			c.Lines = append(c.Lines, Box{X: x, Y: 0, H: plotHeight})
		}
	}
	return c
}

// Range draws a forecast: from its lowest to its highest time, with a mark at the likely time.
func (page) Range(f forecast.Forecast) []Chart {
	return wideAndNarrow(func(width float64) Chart { return rangeChart(f, width) })
}

func rangeChart(f forecast.Forecast, chartWidth float64) Chart {
	c := Chart{W: chartWidth, H: 44}
	at := func(d time.Duration) float64 { return roundToTenth(ratio(int64(d), int64(f.High)) * (chartWidth - 80)) }
	c.Boxes = []Box{
		{at(f.Low), 6, max(2, at(f.High)-at(f.Low)), 14, "range",
			"from " + humanize.Duration(f.Low) + " to " + humanize.Duration(f.High)},
		{at(f.Likely) - 1.5, 2, 3, 22, "likely", "likely " + humanize.Duration(f.Likely)},
	}
	c.Lines = []Box{{X: 0, Y: 13, W: at(f.Low)}}
	c.Labels = []Label{{at(f.Low), 38, humanize.Duration(f.Low), ""}}
	if gap := at(f.High) - at(f.Low); gap > 80 {
		c.Labels = append(c.Labels, Label{at(f.High), 38, humanize.Duration(f.High), ""})
	}
	return c
}

// EndText returns the end of a forecast in words, with the day unless it is today.
func (page) EndText(f forecast.Forecast, d time.Duration) string {
	at := f.At.Add(d).UTC()
	form := "Mon 2006-01-02 15:04"
	if at.YearDay() == f.At.UTC().YearDay() && d < 24*time.Hour {
		form = "15:04"
	}
	return at.Format(form) + " UTC"
}

// ZoneText returns the zones of the shard in one line.
func (s Shard) ZoneText() string { return strings.Join(s.Zones, ", ") }

// mapCells is the number of cells of a map on a page.
const mapCells = 240

// Map draws a collection in the order of its shard key. Colours show shards, widths show bytes, marks
// show jumbo chunks, and lines show zone ranges.
func (p page) Map(m *ChunkMap) []Chart {
	wide := p.chunkMap(m, chartWidth)
	if len(m.Zones) == 0 {
		return []Chart{wide} // it has no text
	}
	return wideAndNarrow(func(width float64) Chart { return p.chunkMap(m, width) })
}

func (p page) chunkMap(m *ChunkMap, chartWidth float64) Chart {
	const height, mark = 34.0, 5.0
	c := Chart{W: chartWidth, H: height + mark}
	step := chartWidth / float64(max(1, len(m.Cells)))
	for i := 0; i < len(m.Cells); {
		cell, cells := m.Cells[i], 1
		for i+cells < len(m.Cells) && sameChunk(cell, m.Cells[i+cells]) {
			cells++
		}
		owner := m.Shards[cell.Owners[0].Shard]
		title := fmt.Sprintf("%s from %s: %s", chunksText(cell), cell.From, ownersText(m, cell))
		x, w := roundToTenth(float64(i)*step), roundToTenth(float64(cells)*step)
		i += cells
		c.Boxes = append(c.Boxes, Box{x, 0, w, height, p.Hue(owner.ID), title})
		if cell.Jumbo > 0 {
			c.Boxes = append(c.Boxes, Box{x, height, w, mark, "failed", humanize.Count(cell.Jumbo, "jumbo chunk")})
		}
		if cell.First == cell.Last {
			c.Lines = append(c.Lines, Box{X: x, H: height})
		}
	}
	for _, z := range m.Zones {
		x, w := roundToTenth(float64(z.FromCell)*step), roundToTenth(float64(z.ToCell-z.FromCell)*step-1)
		c.H = height + mark + axisHeight
		c.Boxes = append(c.Boxes, Box{x, height + mark, w, 2, "likely", "zone " + z.Zone})
		c.Labels = append(c.Labels, Label{x, height + mark + 13, z.Zone, ""})
	}
	return c
}

// sameChunk reports whether two cells show a single chunk, the same one.
func sameChunk(a, b Cell) bool { return a.First == a.Last && b.First == b.Last && a.First == b.First }

func chunksText(cell Cell) string {
	if cell.First == cell.Last {
		return fmt.Sprintf("chunk %d", cell.First+1)
	}
	return fmt.Sprintf("chunks %d to %d", cell.First+1, cell.Last+1)
}

func ownersText(m *ChunkMap, cell Cell) string {
	var parts []string
	for _, owner := range cell.Owners[:min(len(cell.Owners), 5)] {
		parts = append(parts, fmt.Sprintf("%s %s", m.Shards[owner.Shard].ID, humanize.Percent(owner.Share)))
	}
	return strings.Join(parts, ", ")
}
