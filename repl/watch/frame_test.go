package watch_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"shardsh/balancer/humanize"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/forecast"
	"shardsh/balancer/heat"
	"shardsh/balancer/report"
	"shardsh/repl/watch"
)

// grown is a cluster ten seconds later: a shard has so much more of a collection.
func grown(s *catalog.Snapshot, ns string, id catalog.ShardID, bytes int64) *catalog.Snapshot {
	c := s.Collection(ns)
	data := c.Sizes[id]
	data.Bytes += bytes
	p := s.WithCollection(c.WithSize(id, data)).Parts()
	p.Time = p.Time.Add(10 * time.Second)
	return catalog.NewSnapshot(p)
}

// Every frame fits the screen and says what it has to, at any size.
func TestFrame(t *testing.T) {
	for _, shards := range []int{3, 100} {
		before := snaptest.Large(t, snaptest.Scale{Shards: shards, Chunks: 2000, Collections: 3, EmptyShards: 1, JumboEvery: 500})
		now := grown(before, "db.c0", "s001", 100<<20)
		v := watch.View{Current: report.NewOverview(now), Earlier: report.NewOverview(before), Every: 2 * time.Second, HasKeys: true}
		v.Forecasts = []forecast.Forecast{{
			At: now.Time(), Low: time.Hour, Likely: 2 * time.Hour, High: 3 * time.Hour, Moves: 5, Bytes: 1 << 30,
		}}
		for _, size := range []watch.Size{
			{Width: 80, Height: 24}, {Width: 200, Height: 50}, {Width: 40, Height: 8}, {Width: 3, Height: 2}, {},
		} {
			for tab := watch.All; tab <= watch.Moves; tab++ {
				v.Tab = tab
				name := fmt.Sprintf("%d shards, %v, tab %d", shards, size, tab)
				lines := watch.Frame(v, size)
				fits(t, name, lines, size)
				if size.Width < 80 {
					continue
				}
				text := strings.Join(lines, "\n")
				wants := []string{
					"mongodb://large:27017/ MongoDB 8.0.10 every 2s", "2026-03-02 12:00:10 UTC", "Balancer full, 1,000 rounds.",
					"db.c0 is not balanced", "Balanced in 1h to 3h, likely by Mon 14:00, 1 GiB in 5 moves", "q quit  p pause",
				}
				if size.Width >= 200 { // 2000 chunks of 32 MiB, and 100 MiB; 4 in 2000 are jumbo
					wants = append(wants, "62.59 GiB in 2,000 chunks on "+fmt.Sprint(shards)+" shards, 4 jumbo")
				}
				for _, want := range wants {
					if !strings.Contains(text, want) {
						t.Errorf("%s: no %q in\n%s", name, want, text)
					}
				}
				if tab == watch.Shards && !strings.Contains(text, "s001") {
					t.Errorf("%s: no shard in\n%s", name, text)
				}
				if shards == 3 && (tab == watch.All || tab == watch.Shards) && !strings.Contains(text, "+10 MiB/s") {
					t.Errorf("%s: no rate in\n%s", name, text)
				}
			}
		}
	}
}

// The operations of shards stand beside them where they were counted, and fit.
func TestFrameShowsOperations(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Shards: 3, Chunks: 300, Collections: 1})
	v := watch.View{Current: report.NewOverview(s)}
	size := watch.Size{Width: 100, Height: 40}
	if text := strings.Join(watch.Frame(v, size), "\n"); strings.Contains(text, "ops/s") {
		t.Errorf("nobody counted:\n%s", text)
	}
	v.Current.Operations = map[catalog.ShardID]heat.Load{"s001": {Reads: 1200.4, Writes: 300}}
	lines := watch.Frame(v, size)
	fits(t, "operations", lines, size)
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, "1,500 ops/s") || strings.Count(text, "     0 ops/s") != 2 {
		t.Error(text)
	}
}

// How full volumes are stands beside the shards where it is known.
func TestFrameShowsVolumes(t *testing.T) {
	parts := snaptest.Large(t, snaptest.Scale{Shards: 3, Chunks: 300, Collections: 1}).Parts()
	parts.Shards = slices.Clone(parts.Shards)
	v := watch.View{Current: report.NewOverview(catalog.NewSnapshot(parts)), Every: 2 * time.Second, Tab: watch.Shards}
	if text := strings.Join(watch.Frame(v, watch.Size{Width: 120, Height: 24}), "\n"); strings.Contains(text, "% full") {
		t.Errorf("nothing is known:\n%s", text)
	}
	parts.Shards[1].Disk = catalog.Disk{Total: 1000 << 30, Used: 950 << 30}
	v.Current = report.NewOverview(catalog.NewSnapshot(parts))
	for _, line := range watch.Frame(v, watch.Size{Width: 120, Height: 24}) {
		if is := strings.Contains(line, string(parts.Shards[1].ID)+" "); is != strings.Contains(line, "95% full") {
			t.Error(line)
		}
	}
}

func fits(t *testing.T, name string, lines []string, size watch.Size) {
	t.Helper()
	if len(lines) > max(1, size.Height) {
		t.Errorf("%s: %d lines", name, len(lines))
	}
	for _, line := range lines {
		if w := twwidth.Width(line); w > max(1, size.Width) || !utf8.ValidString(line) {
			t.Errorf("%s: %d columns: %q", name, w, line)
		}
	}
}

// A wide screen has shards in columns, a tall one all of them: the worst first.
func TestFrameOfManyShards(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Shards: 100, Chunks: 5000})
	v := watch.View{Current: report.NewOverview(s), Tab: watch.Shards, HasKeys: true}
	for _, c := range []struct {
		size    watch.Size
		visible int
		hidden  string
	}{
		{watch.Size{Width: 80, Height: 24}, 18, "82 more"}, {watch.Size{Width: 200, Height: 24}, 38, "31 more"},
		{watch.Size{Width: 200, Height: 60}, 100, ""},
	} {
		text := strings.Join(watch.Frame(v, c.size), "\n")
		if n := strings.Count(text, " chunks") - 1; n != c.visible || !strings.Contains(text, c.hidden) {
			t.Errorf("%v: %d shards in sight, want %d, and %q\n%s", c.size, n, c.visible, c.hidden, text)
		}
		if first := v.Current.Shards[0].ID; !strings.Contains(text, string(first)) {
			t.Errorf("%v: not the fullest, %s, first", c.size, first)
		}
	}
	v.Offset = 90
	text := strings.Join(watch.Frame(v, watch.Size{Width: 80, Height: 24}), "\n")
	if strings.Count(text, " chunks")-1 != 10 {
		t.Errorf("scrolled:\n%s", text)
	}
}

// What the screen does not have to obey is spelled out, and colours are there only
// where they are wanted.
func TestFrameShowsNamesAsText(t *testing.T) {
	hostile := "a\x1b[2J\u202e\nb\xff"
	w := snaptest.Large(t, snaptest.Scale{Shards: 3})
	p := w.Parts()
	p.Source.Name, p.Version = "mongodb://"+hostile, hostile
	p.Shards[0].ID, p.Shards[0].Unreachable = catalog.ShardID(hostile), hostile
	p.Collections[0].Namespace = "db." + hostile
	p.Migrations = []catalog.ActiveMigration{{Namespace: hostile, From: catalog.ShardID(hostile), Since: p.Time}}
	p.Reshardings = []catalog.ActiveResharding{{Namespace: hostile, Kind: hostile, State: hostile}}
	v := watch.View{Current: report.NewOverview(catalog.NewSnapshot(p)), Trouble: hostile, HasKeys: true}
	for v.Tab = range watch.Moves + 1 {
		size := watch.Size{Width: 120, Height: 40}
		lines := watch.Frame(v, size)
		fits(t, "plain", lines, size)
		if text := strings.Join(lines, ""); strings.ContainsAny(text, "\x1b\u202e\n\t") {
			t.Errorf("tab %d: %q", v.Tab, text)
		}
	}
	v.Color, v.Tab = true, watch.All
	if text := strings.Join(watch.Frame(v, watch.Size{Width: 120, Height: 40}), ""); !strings.Contains(text, "\x1b[31m") ||
		strings.Contains(text, "\x1b[2J") {
		t.Errorf("coloured: %q", text)
	}
}

func TestPressed(t *testing.T) {
	type keys = []watch.Key
	for sent, want := range map[string]keys{
		"q": {watch.KeyQuit}, "\x03": {watch.KeyInterrupt}, "p\t": {watch.KeyPause, watch.KeyNext},
		"\x1b[A\x1b[B": {watch.KeyUp, watch.KeyDown}, "\x1bOC\x1b[Z": {watch.KeyNext, watch.KeyPrevious},
		"\x1b[5~\x1b[6~": {watch.KeyPageUp, watch.KeyPageDown}, "": nil, "xyz": {'x', 'y', 'z'}, "\x1b": {watch.KeyEscape},
		"\x1b[200~q": {watch.KeyQuit}, "\x1b[1;5A": nil, "\x1b[": nil, "\x1a": {watch.KeySuspend}, "éq": {'é', watch.KeyQuit},
		"\r": {watch.KeyEnter}, "\x7f": {watch.KeyErase}, "\xff\x00": nil,
	} {
		if got := watch.ParseKeys(sent); !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", sent, got, want)
		}
	}
}

// The page, its JSON and a frame tell the same of one Snapshot.
func TestFrameSaysWhatThePageSays(t *testing.T) {
	o := report.NewOverview(snaptest.Large(t, snaptest.Scale{Shards: 5, Chunks: 1234, Collections: 2, EmptyShards: 1, JumboEvery: 100}))
	frame := strings.Join(watch.Frame(watch.View{Current: o}, watch.Size{Width: 200, Height: 60}), "\n")
	var page strings.Builder
	if err := report.WritePage(&page, o); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Totals struct{ Bytes, Chunks, JumboChunks, NotBalanced int64 }
		Shards []struct {
			ID            string
			Bytes, Chunks int64
		}
		Why struct{ Headline string }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	size := humanize.Bytes[int64]
	if doc.Totals.Chunks != 1234 || doc.Totals.Bytes != 1234*32<<20 || doc.Totals.JumboChunks != 14 {
		t.Errorf("totals %+v", doc.Totals)
	}
	both := []string{size(doc.Totals.Bytes), doc.Why.Headline}
	for _, s := range doc.Shards {
		both = append(both, s.ID, size(s.Bytes))
		if want := fmt.Sprintf("%d chunks", s.Chunks); !strings.Contains(frame, want) {
			t.Errorf("no %q in\n%s", want, frame)
		}
		if want := fmt.Sprintf(`data-v="%d">%d<`, s.Chunks, s.Chunks); !strings.Contains(page.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	for _, want := range both {
		if !strings.Contains(frame, want) || !strings.Contains(page.String(), want) {
			t.Errorf("%q is not on both the page and\n%s", want, frame)
		}
	}
}

// A change of the compatibility version shows: nothing moves meanwhile.
func TestFrameWhileTheVersionIsSet(t *testing.T) {
	p := snaptest.Large(t, snaptest.Scale{Shards: 3, Chunks: 20, Collections: 1}).Parts()
	p.Compatibility = catalog.Compatibility{Version: "8.3", Target: "9.0"}
	v := watch.View{Current: report.NewOverview(catalog.NewSnapshot(p)), Tab: watch.Findings}
	const want = "the feature compatibility version is being changed to 9.0: runs of shardsh wait; no chunk is split"
	if text := strings.Join(watch.Frame(v, watch.Size{Width: 200, Height: 50}), "\n"); !strings.Contains(text, want) {
		t.Errorf("the frame is\n%s", text)
	}
}

// The head is whole on narrow screens: what is wrong is on more lines where it is long. A forecast
// of what can't be reached as things stand does not read as if it were.
func TestTheHeadIsWhole(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Shards: 3, Chunks: 200, Collections: 3})
	p := s.Parts()
	p.Shards[1].Draining = true
	p.Databases = []catalog.Database{{Name: "a-database-with-a-name", Primary: p.Shards[1].ID}, {Name: "x", Primary: p.Shards[1].ID}}
	v := watch.View{Current: report.NewOverview(catalog.NewSnapshot(p))}
	v.Forecasts = []forecast.Forecast{{At: s.Time(), Never: true, Low: time.Minute, Likely: time.Minute, High: time.Hour}}
	text := strings.Join(strings.Fields(strings.Join(watch.Frame(v, watch.Size{Width: 60, Height: 40}), " ")), " ")
	if want := v.Current.Verdict() + ": " + v.Current.Answer.Headline(); len(want) < 70 || !strings.Contains(text, want) {
		t.Errorf("no %q in %s", want, text)
	}
	if !strings.Contains(text, "Balanced: not possible as things stand; the moves that are possible take 1m to 1h") {
		t.Errorf("the forecast: %s", text)
	}
}

// Bars can be compared: as long as the data is much, whatever is said of a shard beside it.
func TestBarsHaveOneScale(t *testing.T) {
	p := snaptest.Large(t, snaptest.Scale{Shards: 2, Chunks: 200}).Parts()
	p.Shards[0].Draining = true
	v := watch.View{Current: report.NewOverview(catalog.NewSnapshot(p)), Tab: watch.Shards}
	bars := map[string]int{}
	for _, l := range watch.Frame(v, watch.Size{Width: 100, Height: 24}) {
		if id := strings.Fields(l + " .")[0]; id == "s000" || id == "s001" {
			bars[id] = strings.Count(l, "█")
		}
	}
	for _, a := range v.Current.Shards {
		for _, b := range v.Current.Shards {
			want := float64(bars[string(b.ID)]) * float64(a.Bytes) / float64(b.Bytes)
			if got := float64(bars[string(a.ID)]); got < want-1.5 || got > want+1.5 {
				t.Errorf("%s has %d blocks for %d B, %s %d for %d", a.ID, bars[string(a.ID)], a.Bytes, b.ID, bars[string(b.ID)], b.Bytes)
			}
		}
	}
}
