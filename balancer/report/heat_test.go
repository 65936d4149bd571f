package report_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/report"
)

// warmed is where the load of a collection goes: a fifth of the queries all over its chunks, the
// rest to a place that goes through all of them in an hour.
func warmed(t testing.TB, c *catalog.CollectionState) (heat.Map, heat.Grid) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 27))
	n := c.Table.Len()
	in := heat.Input{Namespace: c.Namespace, Table: c.Table, Span: time.Hour}
	for i := range 20_000 {
		at := i * n / 20_000
		if i%5 == 0 {
			at = r.IntN(n)
		}
		kind := heat.Kind(i % 2)
		in.Samples = append(in.Samples, heat.Sample{Kind: kind, Key: key(t, c, at-1),
			At: noon.Add(-time.Hour + time.Duration(i)*time.Hour/20_000)})
	}
	m := heat.Estimate(in)
	course := heat.MakeGrid(in, &m, 40, 60)
	for i := range course.Ranges {
		course.Ranges[i].MinText = fmt.Sprintf("{ k: %d }", i)
	}
	return m, course
}

// heated adds the heat of a collection of ten chunks on each shard to an overview.
func heated(t testing.TB, o *report.Overview) *report.Overview {
	var owners []string
	for i := range 10 * len(o.Shards) {
		owners = append(owners, string(o.Shards[i/10].ID))
	}
	c := laid(t, owners, nil)
	m, course := warmed(t, c)
	o.Heat = append(o.Heat, report.NewHeat(&m, heat.ByMixed, &course, []string{"the newest documents could not be read"}))
	return o
}

// The heat of a page: a box for each range and time with load, and the hottest as dark as can be.
func TestHeatOnThePage(t *testing.T) {
	o := report.NewOverview(crowd(t, 3, 4))
	var b bytes.Buffer
	if err := report.WritePage(&b, o); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), `id="heat"`) {
		t.Error("nobody asked for the heat, and the page has it")
	}
	b.Reset()
	if err := report.WritePage(&b, heated(t, o)); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.Contains(text, `<section id="heat">`) || !strings.Contains(text, `<a href="#heat">`) ||
		strings.Count(text, `class="heat6"`) < 2*60 { // wide and narrow, one a minute at least
		t.Errorf("%d of the hottest", strings.Count(text, `class="heat6"`))
	}
}

// The last part of the time has just begun: its one query is all of its load, and is not drawn. The
// marks of the time are not all of the same minute, and none is cut off.
func TestPartsThatHaveJustBegun(t *testing.T) {
	o := report.NewOverview(crowd(t, 3, 4))
	course := heat.Grid{From: noon, Step: 10 * time.Second, Samples: []int{500, 400, 600, 500, 1},
		Ranges: []heat.GridRange{
			{MinText: "a", Chunks: 1, Shard: o.Shards[0].ID, Shares: []float64{0.6, 0.6, 0.6, 0.6, 0}},
			{MinText: "b", Chunks: 1, Shard: o.Shards[1].ID, Shares: []float64{0.4, 0.4, 0.4, 0.4, 1}},
		}}
	o.Heat = append(o.Heat, report.Heat{Namespace: "db.c", OverTime: &course})
	var b bytes.Buffer
	if err := report.WritePage(&b, o); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), `class="heat6"`); n != 2*4 { // wide and narrow
		t.Errorf("%d cells are of the hottest", n)
	}
	if text := b.String(); !strings.Contains(text, "12:00:10</text>") {
		t.Error("marks of the time do not tell seconds apart")
	}
}

// Degrees are monotonic, nothing is 0, and the most is the darkest.
func TestDegree(t *testing.T) {
	for _, tt := range []struct {
		share, most float64
		want        int
	}{{0, 1, 0}, {0, 0, 0}, {1, 1, 6}, {0.5, 0.5, 6}, {0.001, 1, 1}, {0.25, 1, 3}, {2, 1, 6}} {
		if got := report.HeatShade(tt.share, tt.most); got != tt.want {
			t.Errorf("%v of %v is %d, not %d", tt.share, tt.most, got, tt.want)
		}
	}
}

// A place of a map is as hot as the hottest chunk in it.
func TestHeatOnTheMap(t *testing.T) {
	c := laid(t, strings.Fields("a a b b"), nil)
	in := heat.Input{Namespace: "x.y", Table: c.Table, Span: 10 * time.Second}
	for i := range 100 {
		at := -1 // the first chunk
		if i >= 30 {
			at = 1 // the third one
		}
		in.Samples = append(in.Samples, heat.Sample{Key: key(t, c, at), At: noon})
	}
	h := heat.Estimate(in)
	m := report.NewChunkMap(c, 1, 2)
	if m.Heat != nil {
		t.Fatal("nobody asked for the heat")
	}
	m.AddHeat(&h)
	if got := fmt.Sprintf("%.0f %.0f", m.Heat.Cells, m.Heat.Shards); got != "[3 7] [3 7]" {
		t.Error(got)
	}
	in.Samples = nil
	h = heat.Estimate(in)
	if m.AddHeat(&h); len(m.Heat.Cells) != 0 {
		t.Errorf("without samples: %v", m.Heat.Cells)
	}
}
