package display

import (
	"fmt"
	"math"
	"strings"

	"shardsh/balancer/humanize"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// shades show how much of a shard's data is at a position, relative to the position with the most data.
var shades = []string{" ", "░", "▒", "▓", "█"}

// minLaneWidth is the minimum width of the column that shows where a shard's data is.
const minLaneWidth = 10

// writeLegend draws a line for each shard, with its amount of data and its position.
func (d *drawing) writeLegend() {
	header := []string{"shard", "chunks", "jumbo", "data", "share"}
	if d.Heat != nil {
		header = append(header, "ops/s")
	}
	rows := [][]string{header}
	for i, s := range d.Shards {
		share, data := float64(s.Chunks)/float64(max(1, d.Chunks)), "?"
		if s.Bytes >= 0 {
			data = humanize.Bytes(s.Bytes)
		}
		if s.Bytes >= 0 && d.Bytes > 0 {
			share = float64(s.Bytes) / float64(d.Bytes)
		}
		rows = append(rows, []string{
			Clip(string(s.ID), max(12, d.options.width()/4)), fmt.Sprint(s.Chunks), fmt.Sprint(s.Jumbo), data,
			fmt.Sprintf("%.1f%%", 100*share),
		})
		if d.Heat != nil {
			rows[i+1] = append(rows[i+1], humanize.Number(int64(math.Round(d.Heat.Shards[i]))))
		}
	}
	widths := make([]int, len(header))
	taken := 3
	for i := range header {
		for _, row := range rows {
			widths[i] = max(widths[i], twwidth.Width(row[i]))
		}
		taken += widths[i] + 2
	}
	lanes := d.shardLanes(d.options.width() - taken)
	d.writeLine("")
	for i, row := range rows {
		text, mark, where := "", " ", ""
		for column, cell := range row {
			pad := strings.Repeat(" ", widths[column]-twwidth.Width(cell))
			if column == 0 {
				text += cell + pad + "  "
			} else {
				text += pad + cell + "  "
			}
		}
		switch {
		case i > 0:
			mark = d.paint(shardStyle(i-1), Mark(i-1))
			if lanes != nil {
				where = lanes[i-1]
			}
		case lanes != nil:
			where = laneTitle(d.options.width() - taken)
		}
		d.writeLine("%s", strings.TrimRight("  "+mark+" "+text+where, " "))
	}
}

func laneTitle(room int) string {
	const long = "where (densest: most of it)"
	if room < len(long) {
		return "where"
	}
	return long
}

// shardLanes draws for each shard where its data is along the shard key; nil if there is no room.
func (d *drawing) shardLanes(width int) []string {
	if width < minLaneWidth || len(d.Cells) == 0 {
		return nil
	}
	width = min(width, len(d.Cells))
	shares := make([][]float64, len(d.Shards))
	for i := range shares {
		shares[i] = make([]float64, width)
	}
	for at := range width {
		cells := d.Cells[at*len(d.Cells)/width : (at+1)*len(d.Cells)/width]
		for _, c := range cells {
			for _, o := range c.Owners {
				shares[o.Shard][at] += o.Share / float64(len(cells))
			}
		}
	}
	lanes := make([]string, len(shares))
	for i, lane := range shares {
		lanes[i] = shadeBar(lane)
	}
	return lanes
}

// shadeBar draws amounts as shades; any amount above 0 is visible.
func shadeBar(amounts []float64) string {
	most := 0.0
	for _, a := range amounts {
		most = max(most, a)
	}
	var b strings.Builder
	for _, a := range amounts {
		shade := 0
		if a > 0 {
			shade = max(1, int(a/most*float64(len(shades)-1)+0.5))
		}
		b.WriteString(shades[shade])
	}
	return strings.TrimRight(b.String(), " ")
}
