package display

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"shardsh/balancer/humanize"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/report"
	"shardsh/bindings/plaintext"
)

// MapOptions are the options of a chunk map.
type MapOptions struct {
	Width int // width of the screen
	Color bool
}

// A chunk map has at most maxStrips rows, with labels of labelWidth.
const (
	maxStrips  = 8
	labelWidth = 16
)

func (o MapOptions) width() int { return max(o.Width, minColumns) - 2 }

// cellsPerRow returns the number of cells in a row. Rows have labels if there are many chunks.
func (o MapOptions) cellsPerRow(chunks int) int {
	if chunks <= o.width() {
		return o.width()
	}
	return o.width() - labelWidth
}

// CellCount returns the number of cells of a map with so many chunks.
func (o MapOptions) CellCount(chunks int) int {
	n := o.cellsPerRow(chunks)
	return n * min(maxStrips, max(1, (chunks+n-1)/n))
}

// marks identify shards without colours: one character each, and # for all others.
var marks = []rune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" +
	"ΓΔΘΛΞΠΣΦΨΩαβγδεζηθλμπρστφψωБГДЖЗИЛЦЧШЩЭЮЯ")

// Mark returns the character of a shard, by its index in the map.
func Mark(shard int) string {
	if shard >= len(marks) {
		return "#"
	}
	return string(marks[shard])
}

// shardStyle returns the colour of a shard. The first colours are backgrounds on which characters are
// legible on both dark and light terminals. Neighbours in the list differ.
func shardStyle(shard int) string {
	styles := []string{"97;44", "30;43", "30;42", "97;45", "30;46", "97;41", "35", "32", "31", "36"}
	return styles[shard%len(styles)]
}

// Characters in cells besides marks.
const (
	continuedGlyph = "─" // a chunk that began in an earlier cell
	mixedGlyph     = "░" // several shards, none of which has half of the cell
	zoneFill       = "-"
)

// DrawMap draws a map with the number of cells that the options require. Its chunks are drawn as
// strips, each beginning with the mark of its shard, with zones above and jumbo chunks below. A line
// for each shard follows.
func DrawMap(m report.ChunkMap, o MapOptions) string {
	d := drawing{ChunkMap: m, options: o}
	d.writeHead()
	for row := 0; row < len(m.Cells); row += o.cellsPerRow(m.Chunks) {
		d.writeStrip(row, min(len(m.Cells), row+o.cellsPerRow(m.Chunks)))
	}
	d.writeLegend()
	return d.b.String()
}

type drawing struct {
	report.ChunkMap
	options MapOptions
	b       strings.Builder
}

func (d *drawing) paint(style, text string) string {
	return plaintext.Paint(d.options.Color, style, text)
}

func (d *drawing) writeLine(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *drawing) writeHead() {
	text := fmt.Sprintf("%s on %s", countText(d.Chunks, "chunk"), countText(len(d.Shards), "shard"))
	if d.Bytes >= 0 {
		text = humanize.Bytes(d.Bytes) + " in " + text
	}
	if d.Jumbo > 0 {
		text += fmt.Sprintf(", %d jumbo", d.Jumbo)
	}
	d.writeLine("%s", d.paint("1;33", plaintext.EscapeLine(d.Namespace)))
	d.writeLine("  %s", text)
	if len(d.Cells) == 0 {
		d.writeLine("  no map: the chunks were not read")
		return
	}
	for _, part := range plaintext.Wrap("widths: "+d.Widths.String()+d.glyphKeys(), d.options.width()) {
		d.writeLine("  %s", part)
	}
	d.writeLine("")
}

// glyphKeys explains the characters that are used on the map.
func (d *drawing) glyphKeys() (text string) {
	several, spread := false, false
	for _, c := range d.Cells {
		several = several || c.First != c.Last
		spread = spread || d.glyph(c) == mixedGlyph
	}
	if several {
		text += "; a place has several chunks, and the letter of the shard with half of it or more"
	}
	if spread {
		text += "; " + mixedGlyph + " no shard has half of it"
	}
	if d.Jumbo > 0 {
		text += "; J jumbo"
	}
	if d.hasHeat() {
		text += fmt.Sprintf("; below: the load, at most %s operations a second for a chunk",
			humanize.Number(int64(math.Round(slices.Max(d.Heat.Cells)))))
	}
	return text
}

func (d *drawing) glyph(c report.Cell) string {
	switch {
	case len(c.Owners) > 1 && c.Owners[0].Share < 0.5:
		return mixedGlyph
	case c.ChunkStarts > 0:
		return Mark(c.Owners[0].Shard)
	}
	return continuedGlyph
}

// writeStrip draws a row of cells.
func (d *drawing) writeStrip(from, to int) {
	label, indent := "", ""
	if d.options.cellsPerRow(d.Chunks) < d.options.width() {
		label = Clip(shortKey(d.Cells[from].From.Values()), labelWidth-2)
		label += strings.Repeat(" ", labelWidth-twwidth.Width(label))
		indent = strings.Repeat(" ", labelWidth)
	}
	if zones := d.zonesText(from, to); zones != "" {
		d.writeLine("  %s%s", indent, zones)
	}
	d.writeLine("  %s%s", label, d.cellsText(d.Cells[from:to]))
	if jumbo := d.jumboText(d.Cells[from:to]); jumbo != "" {
		d.writeLine("  %s%s", indent, d.paint("1", jumbo))
	}
	if d.hasHeat() {
		d.writeLine("  %s%s", indent, d.paint("31", strings.TrimRight(d.heatText(from, to), " ")))
	}
}

func (d *drawing) cellsText(cells []report.Cell) string {
	var b strings.Builder
	run, style := "", ""
	for _, c := range cells {
		glyph, own := d.glyph(c), ""
		if glyph != mixedGlyph {
			own = shardStyle(c.Owners[0].Shard)
		}
		if own != style {
			b.WriteString(d.paint(style, run))
			run, style = "", own
		}
		run += glyph
	}
	return b.String() + d.paint(style, run)
}

func (d *drawing) jumboText(cells []report.Cell) string {
	var b strings.Builder
	for _, c := range cells {
		if c.Jumbo > 0 {
			b.WriteString("J")
		} else {
			b.WriteString(" ")
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// hasHeat reports whether the map has load data.
func (d *drawing) hasHeat() bool {
	return d.Heat != nil && len(d.Heat.Cells) == len(d.Cells) && len(d.Cells) > 0
}

// heatText draws the load of each cell, relative to the hottest one.
func (d *drawing) heatText(from, to int) string {
	var b strings.Builder
	most := slices.Max(d.Heat.Cells)
	for _, n := range d.Heat.Cells[from:to] {
		b.WriteString(report.HeatBlock(n, most))
	}
	return b.String()
}

// zonesText draws the parts of zone ranges in a row: [EU----]. A range that continues in another row
// has no bracket there. Where several ranges share a cell, the last one is shown.
func (d *drawing) zonesText(from, to int) string {
	row := slices.Repeat([]string{" "}, to-from)
	found := false
	for _, z := range d.Zones {
		first, last := max(z.FromCell, from)-from, min(z.ToCell, to)-1-from
		if first > last {
			continue
		}
		found = true
		for i := first; i <= last; i++ {
			row[i] = zoneFill
		}
		if z.ToCell <= to && first < last {
			row[last] = "]"
			last--
		}
		if z.FromCell >= from && first < last {
			row[first] = "["
			first++
		}
		copyRunes(row[first:last+1], []rune(plaintext.EscapeLine(z.Zone)))
	}
	if !found {
		return ""
	}
	return strings.TrimRight(strings.Join(row, ""), " ")
}

// copyRunes copies single-width characters into a row; wide ones would shift the rest of the row.
func copyRunes(row []string, text []rune) {
	for i := range min(len(row), len(text)) {
		if twwidth.Width(string(text[i])) == 1 {
			row[i] = string(text[i])
		} else {
			row[i] = "?"
		}
	}
}

// shortKey works like BoundText, but omits the names of types; it is used for narrow columns.
func shortKey(values []bson.RawValue) string {
	parts := make([]string, len(values))
	for i, v := range values {
		switch v.Type {
		case bson.TypeInt64:
			parts[i] = strconv.FormatInt(v.Int64(), 10)
		case bson.TypeObjectID:
			parts[i] = v.ObjectID().Hex()
		case bson.TypeDateTime:
			parts[i] = v.Time().UTC().Format("2006-01-02 15:04:05")
		default:
			parts[i] = BoundText([]bson.RawValue{v})
		}
	}
	return strings.Join(parts, ", ")
}

// countText returns a number of things.
func countText(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// BoundText formats a bound of a chunk or of a zone: its values, without the field names of the shard key.
func BoundText(values []bson.RawValue) string {
	parts := make([]string, len(values))
	for i, v := range values {
		switch v.Type {
		case bson.TypeMinKey:
			parts[i] = "MinKey"
		case bson.TypeMaxKey:
			parts[i] = "MaxKey"
		default:
			parts[i] = OldJSON(v, "", true)
		}
	}
	return strings.Join(parts, ", ")
}
