package display_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/report"
	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
)

// mapped is a map with a cell for each letter of a text: A is the first shard;
// "-" goes on with the chunk before, "!" makes the cell before jumbo, "%" is of
// both a and b, and some of c.
func mapped(cells string, shards ...report.MapShard) report.ChunkMap {
	m := report.ChunkMap{Namespace: "x.y", Widths: report.ByShard, Bytes: -1, Shards: shards}
	for _, s := range shards {
		m.Chunks, m.Jumbo, m.Bytes = m.Chunks+s.Chunks, m.Jumbo+s.Jumbo, m.Bytes+s.Bytes
	}
	m.Bytes++
	for _, r := range cells {
		cell := report.Cell{First: len(m.Cells), Last: len(m.Cells), ChunkStarts: 1}
		switch r {
		case '-':
			cell, cell.ChunkStarts = m.Cells[len(m.Cells)-1], 0
		case '!':
			m.Cells[len(m.Cells)-1].Jumbo++
			continue
		case '%':
			cell.Owners = []report.Owner{{Shard: 1, Share: 0.4}, {Shard: 0, Share: 0.4}, {Shard: 2, Share: 0.2}}
		default:
			cell.Owners = []report.Owner{{Shard: int(r - 'A'), Share: 1}}
		}
		m.Cells = append(m.Cells, cell)
	}
	return m
}

func shard(id string, chunks, jumbo int, bytes int64) report.MapShard {
	return report.MapShard{ID: catalog.ShardID(id), Chunks: chunks, Jumbo: jumbo, Bytes: bytes}
}

func TestDrawMap(t *testing.T) {
	zoned := mapped("AAAABBBB", shard("s0", 4, 0, 30), shard("s1", 4, 0, 10))
	zoned.Zones = []report.MapZone{{Zone: "EU", FromCell: 0, ToCell: 4}, {Zone: "Mars", FromCell: 5, ToCell: 7}, {Zone: "X", FromCell: 7, ToCell: 8}}
	warm := mapped("A--B-A", shard("s0", 2, 0, 30), shard("s1", 1, 0, 10))
	warm.Heat = &report.MapHeat{Cells: []float64{2500, 2500, 2500, 10, 10, 0}, Shards: []float64{2500, 10}}
	for _, tt := range []struct {
		name string
		m    report.ChunkMap
		want string
	}{
		{"heat", warm, `
x.y
  40 B in 3 chunks on 2 shards
  widths: bytes, averaged over each shard's chunks; below: the load, at most
  2,500 operations a second for a chunk

  A──B─A
  ███▁▁

    shard  chunks  jumbo  data  share  ops/s  where (densest: most of it)
  A s0          2      0  30 B  75.0%  2,500  ███  █
  B s1          1      0  10 B  25.0%     10     ██
`},
		{"chunks as strips", mapped("A--B-A", shard("s0", 2, 0, 30), shard("s1", 1, 0, 10)), `
x.y
  40 B in 3 chunks on 2 shards
  widths: bytes, averaged over each shard's chunks

  A──B─A

    shard  chunks  jumbo  data  share  where (densest: most of it)
  A s0          2      0  30 B  75.0%  ███  █
  B s1          1      0  10 B  25.0%     ██
`},
		{"jumbo", mapped("AB!-!A", shard("s0", 2, 0, 30), shard("s1", 1, 1, 10)), `
x.y
  40 B in 3 chunks on 2 shards, 1 jumbo
  widths: bytes, averaged over each shard's chunks; J jumbo

  AB─A
   JJ

    shard  chunks  jumbo  data  share  where (densest: most of it)
  A s0          2      0  30 B  75.0%  █  █
  B s1          1      1  10 B  25.0%   ██
`},
		{"zones", zoned, `
x.y
  40 B in 8 chunks on 2 shards
  widths: bytes, averaged over each shard's chunks

  [EU] M]X
  AAAABBBB

    shard  chunks  jumbo  data  share  where (densest: most of it)
  A s0          4      0  30 B  75.0%  ████
  B s1          4      0  10 B  25.0%      ████
`},
		{"nobody has half", mapped("A%C", shard("s0", 9, 0, 1), shard("s1", 9, 0, 1), shard("s2", 9, 0, 2)), `
x.y
  4 B in 27 chunks on 3 shards
  widths: bytes, averaged over each shard's chunks; ░ no shard has half of it

  A░C

    shard  chunks  jumbo  data  share  where (densest: most of it)
  A s0          9      0   1 B  25.0%  █▒
  B s1          9      0   1 B  25.0%   █
  C s2          9      0   2 B  50.0%   ░█
`},
		{"where data lie", mapped("AAAAAAAAAAAAAAABBBBBBBBBBBBBBB", shard("s0", 15, 0, 1), shard("s1", 15, 0, 1)), `
x.y
  2 B in 30 chunks on 2 shards
  widths: bytes, averaged over each shard's chunks

  AAAAAAAAAAAAAAABBBBBBBBBBBBBBB

    shard  chunks  jumbo  data  share  where (densest: most of it)
  A s0         15      0   1 B  50.0%  ███████████████
  B s1         15      0   1 B  50.0%                 ███████████████
`},
		{"names that terminals obey", mapped("", shard("s\x1b[2J", 1, 0, 1)), `
x.y
  1 B in 1 chunk on 1 shard
  no map: the chunks were not read

    shard     chunks  jumbo  data   share
  A s\x1B[2J       1      0   1 B  100.0%
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := "\n" + display.DrawMap(tt.m, display.MapOptions{Width: 80}); got != tt.want {
				t.Errorf("got%s\nwant%s", got, tt.want)
			}
		})
	}
}

// A map of many chunks has rows, each with the key it begins with; a zone has
// its brackets where it begins and ends.
func TestMapOfSeveralRows(t *testing.T) {
	m := mapped(strings.Repeat("A", 50), shard("s0", 50, 0, 1))
	m.Zones = []report.MapZone{{Zone: "EU", FromCell: 20, ToCell: 30}}
	o := display.MapOptions{Width: 40}
	if n := o.CellCount(50); n != 66 {
		t.Errorf("%d cells, want 3 rows of 22", n)
	}
	want := []string{
		strings.Repeat(" ", 18+20) + "[E",
		strings.Repeat(" ", 18) + strings.Repeat("A", 22),
		strings.Repeat(" ", 18) + "EU-----]",
	}
	got := strings.Split(display.DrawMap(m, o), "\n")
	for _, line := range want {
		if !strings.Contains(strings.Join(got, "\n")+"\n", line+"\n") {
			t.Errorf("no line %q in\n%s", line, strings.Join(got, "\n"))
		}
	}
}

// Every shard can be told from the others without colours, and a drawing is no
// wider than the screen, with colours either.
func TestMapOfManyShards(t *testing.T) {
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, shards := range []int{1, 3, 100, 200} {
		var m report.ChunkMap
		seen := map[string]bool{}
		for i := range shards {
			m.Shards = append(m.Shards, shard(fmt.Sprintf("a-shard-with-a-very-long-name-%d", i), 10, 0, 1<<40))
			m.Cells = append(m.Cells, report.Cell{ChunkStarts: 1, Owners: []report.Owner{{Shard: i, Share: 1}}})
			if mark := display.Mark(i); i < 100 && (seen[mark] || twwidth.Width(mark) != 1) {
				t.Errorf("shard %d has the mark %s", i, mark)
			}
			seen[display.Mark(i)] = true
		}
		m.Chunks = 1000 * shards
		for _, width := range []int{40, 80, 200} {
			o := display.MapOptions{Width: width, Color: true}
			plain := display.DrawMap(m, display.MapOptions{Width: width})
			if got := escapes.ReplaceAllString(display.DrawMap(m, o), ""); got != plain {
				t.Errorf("%d shards on %d columns: with colours\n%s\nwithout\n%s", shards, width, got, plain)
			}
			for line := range strings.Lines(plain) {
				if n := twwidth.Width(strings.TrimSuffix(line, "\n")); n > width && width > 40 {
					t.Errorf("%d shards: %d of %d columns: %s", shards, n, width, line)
				}
			}
		}
	}
}

// All colours of a map are the shell's own: they pass where others are escaped.
func TestMapColoursAreOwn(t *testing.T) {
	var m report.ChunkMap
	for i := range 20 {
		m.Shards = append(m.Shards, shard(fmt.Sprint("s", i), 1, 0, 1))
		m.Cells = append(m.Cells, report.Cell{ChunkStarts: 1, Jumbo: 1, Owners: []report.Owner{{Shard: i, Share: 1}}})
	}
	m.Namespace, m.Chunks = "x\x1b[97;44my", 20
	text := display.DrawMap(m, display.MapOptions{Width: 80, Color: true})
	if plaintext.EscapeStyled(text) != text || !strings.Contains(text, "\x1b[97;44mA") {
		t.Errorf("%q", text)
	}
	if strings.Contains(text, "x\x1b") {
		t.Errorf("a name has colours: %q", text)
	}
}

func TestLabelsOfRows(t *testing.T) {
	for want, value := range map[string]any{
		"-461168601842…": int64(-4611686018427387904), "7": int32(7), "2026-11-20 12…": time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		"65a0000000000…": bson.ObjectID{0x65, 0xa0}, `"abc"`: "abc",
	} {
		pattern, err := catalog.ParseKeyPattern(raw(t, bson.D{{Key: "k", Value: int32(1)}}))
		if err != nil {
			t.Fatal(err)
		}
		key, err := pattern.ParseKey(raw(t, bson.D{{Key: "k", Value: value}}))
		if err != nil {
			t.Fatal(err)
		}
		m := mapped(strings.Repeat("A", 50), shard("s0", 50, 0, 1))
		m.Cells[0].From = key
		if got := display.DrawMap(m, display.MapOptions{Width: 40}); !strings.Contains(got, "\n  "+want+" ") {
			t.Errorf("%v: no label %q in\n%s", value, want, got)
		}
	}
}

func raw(t *testing.T, doc bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
