package report

import (
	"fmt"
	"math"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
)

// Heat describes the distribution of a collection's load.
type Heat struct {
	Namespace string      `json:"ns"`
	Total     heat.Load   `json:"perSecond"`
	Shards    []HeatShard `json:"shards"`
	// OverTime is the load by key range and time; nil without samples.
	OverTime *heat.Grid          `json:"overTime,omitzero"`
	Findings []diagnosis.Finding `json:"findings"`
	// Notes name what could not be read, and the remedy.
	Notes []string `json:"notes"`
}

// HeatShard is the load of a shard.
type HeatShard struct {
	Shard      catalog.ShardID `json:"shard"`
	Load       heat.Load       `json:"perSecond"`
	LoadOfMean float64         `json:"ofMean"`
}

// NewHeat returns the description of a collection's load.
func NewHeat(m *heat.Map, by heat.LoadKind, course *heat.Grid, notes []string) Heat {
	w := m.WeightsFor(by)
	mean := m.Mean(w)
	h := Heat{Namespace: m.Namespace, Total: m.Total, OverTime: course, Shards: []HeatShard{},
		Findings: append([]diagnosis.Finding{}, diagnosis.HeatFindings(m, by)...), Notes: append([]string{}, notes...)}
	for _, s := range m.Shards {
		one := HeatShard{Shard: s.Shard, Load: s.Load}
		if mean > 0 {
			one.LoadOfMean = w.Weigh(s.Load) / mean
		}
		h.Shards = append(h.Shards, one)
	}
	return h
}

// Hottest returns the shard with the largest load as a multiple of the mean.
func (h Heat) Hottest() (most HeatShard) {
	for _, s := range h.Shards {
		if s.LoadOfMean > most.LoadOfMean {
			most = s
		}
	}
	return most
}

// LoadChart draws a column for each shard, and a line at the mean.
func (p page) LoadChart(h Heat) []Chart {
	return wideAndNarrow(func(width float64) Chart { return p.loadChart(h, width) })
}

func (p page) loadChart(h Heat, chartWidth float64) Chart {
	const height = 70.0
	c := Chart{W: chartWidth, H: height}
	most := max(1, h.Hottest().LoadOfMean)
	step := chartWidth / float64(max(1, len(h.Shards)))
	width := min(step*0.8, 120)
	for i, s := range h.Shards {
		tall := roundToTenth(s.LoadOfMean / most * height)
		c.Boxes = append(c.Boxes, Box{roundToTenth(float64(i)*step + (step-width)/2), roundToTenth(height - tall),
			roundToTenth(width), tall,
			p.Hue(s.Shard), fmt.Sprintf("%s: %.2f of the mean, %s", s.Shard, s.LoadOfMean, diagnosis.LoadText(s.Load))})
	}
	c.Lines = []Box{{Y: roundToTenth(height - height/most), W: chartWidth, Title: "mean"}}
	return c
}

// heatShades is the number of shades of heat.
const heatShades = 6

// HeatShade returns the shade of a share, from 0 for no load to heatShades for the largest share. It uses
// the square root, so that a tenth of the largest share is still visible.
func HeatShade(share, most float64) int {
	if share <= 0 || most <= 0 {
		return 0
	}
	return max(1, min(heatShades, int(math.Ceil(math.Sqrt(share/most)*heatShades))))
}

// HeatBlock draws the HeatShade of a part, as a block of that height.
func HeatBlock(share, most float64) string {
	return [heatShades + 1]string{" ", "▁", "▂", "▃", "▅", "▆", "█"}[HeatShade(share, most)]
}

// maxShare is the largest share of a key range in any time slot with enough samples.
func maxShare(c *heat.Grid) (most float64) {
	for _, r := range c.Ranges {
		for at, share := range r.Shares {
			if !hasFewSamples(c, at) {
				most = max(most, share)
			}
		}
	}
	return most
}

// hasFewSamples reports whether a time slot has less than a tenth of the samples of the others. The
// last slot has often just begun, and a single query would make up its whole load.
func hasFewSamples(c *heat.Grid, slot int) bool {
	all := 0
	for _, n := range c.Samples {
		all += n
	}
	return 10*c.Samples[slot]*len(c.Samples) < all
}

// HeatMap draws keys against time: a row for each key range, the lowest at the top, with its shard on
// the left, and a column for each time slot.
func (p page) HeatMap(h Heat) []Chart {
	if h.OverTime == nil || len(h.OverTime.Ranges) == 0 {
		return nil
	}
	return wideAndNarrow(func(width float64) Chart { return p.heatMap(*h.OverTime, width) })
}

func (p page) heatMap(course heat.Grid, chartWidth float64) Chart {
	const line, strip = 11.0, 10.0
	left := min(200, chartWidth*0.3) // room for the bounds of ranges
	c := Chart{W: chartWidth, H: line*float64(len(course.Ranges)) + axisHeight}
	step := (chartWidth - left) / float64(len(course.Samples))
	most := maxShare(&course)
	for i, r := range course.Ranges {
		y := line * float64(i)
		c.Boxes = append(c.Boxes, Box{left - strip - 2, y, strip, line, p.Hue(r.Shard), string(r.Shard)})
		if i%2 == 0 || len(course.Ranges) < 20 {
			c.Labels = append(c.Labels, Label{0, y + line - 1.5, truncate(r.MinText, int((left-strip-6)/letterWidth)), ""})
		}
		for at, share := range r.Shares {
			if degree := HeatShade(share, most); degree > 0 && !hasFewSamples(&course, at) {
				c.Boxes = append(c.Boxes, Box{roundToTenth(left + float64(at)*step), y, roundToTenth(step + 0.1), line,
					fmt.Sprintf("heat%d", degree), cellText(course, r, at)})
			}
		}
	}
	marks := max(1, len(course.Samples)/max(1, int((chartWidth-left)/90)))
	layout := "15:04"
	if time.Duration(marks)*course.Step < time.Minute {
		layout = time.TimeOnly
	}
	for at := 0; at < len(course.Samples); at += marks {
		x := roundToTenth(left + float64(at)*step)
		if x+letterWidth*float64(len(layout)) > chartWidth {
			break // it would be truncated
		}
		text := course.From.Add(time.Duration(at) * course.Step).UTC().Format(layout)
		c.Labels = append(c.Labels, Label{x, c.H - 5, text, ""})
	}
	return c
}

func cellText(course heat.Grid, r heat.GridRange, slot int) string {
	chunks := ""
	if r.Chunks > 1 {
		chunks = ", " + humanize.Count(int64(r.Chunks), "chunk")
	}
	return fmt.Sprintf("%s UTC, from %s on %s%s: %s of the queries", clockText(course.From.Add(
		time.Duration(slot)*course.Step)), r.MinText, r.Shard, chunks, humanize.Percent(r.Shares[slot]))
}

// MapHeat is the load of a collection for its map.
type MapHeat struct {
	// Cells are the operations a second of the hottest chunk in each cell; empty if no query is
	// sampled. Shards are the operations a second of the map's shards.
	Cells  []float64 `json:"cells"`
	Shards []float64 `json:"shards"`
}

// AddHeat adds the load to a map of the same chunks.
func (m *ChunkMap) AddHeat(h *heat.Map) {
	m.Heat = &MapHeat{Cells: []float64{}, Shards: make([]float64, len(m.Shards))}
	for i, shard := range m.Shards {
		for _, s := range h.Shards {
			if s.Shard == shard.ID {
				m.Heat.Shards[i] = s.Load.Total()
			}
		}
	}
	if h.Samples == h.InsertSamples || len(h.Chunks) == 0 {
		return // the chunks of the load are unknown
	}
	for _, cell := range m.Cells {
		most := 0.0
		for _, c := range h.Chunks[cell.First:min(cell.Last+1, len(h.Chunks))] {
			most = max(most, c.Load.Total())
		}
		m.Heat.Cells = append(m.Heat.Cells, most)
	}
}
