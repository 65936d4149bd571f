package policy

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// workedExamples reads the lines of spec 01 §11.2, as they stand there.
func workedExamples(t testing.TB) []scene {
	t.Helper()
	f, err := os.Open("testdata/selection.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var scenes []scene
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		scenes = append(scenes, stage(t, lines.Text()))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return scenes
}

func workedExample(t testing.TB, id string) scene {
	t.Helper()
	for _, s := range workedExamples(t) {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no worked example %s", id)
	return scene{}
}

// Spec 01 §11.2.
func TestWorkedExamples(t *testing.T) {
	scenes := workedExamples(t)
	if len(scenes) != 72 {
		t.Errorf("%d worked examples, the spec has 54 of kind dataSize and 18 of chunkCount", len(scenes))
	}
	for _, s := range scenes {
		t.Run(s.ID, func(t *testing.T) {
			t.Log(s.Why)
			if s.Kind == "dataSize" {
				s.play(t)
			} else {
				s.playCount(t)
			}
		})
	}
}

// play checks everything a scene expects.
func (s scene) play(t *testing.T) {
	t.Helper()
	sit := s.situation(t)

	var splits, wantSplits []string
	for _, split := range SplitsAtZones(sit.Namespace, sit.Table, sit.Zones) {
		points := []string{}
		for _, p := range split.Points {
			points = append(points, show(p))
		}
		splits = append(splits, fmt.Sprint(show(split.Min), " at ", points))
	}
	for _, split := range s.Expect.Splits {
		wantSplits = append(wantSplits, fmt.Sprint(split.ChunkMin, " at ", split.At))
	}
	same(t, "splits", splits, wantSplits)

	if s.Expect.Status != "" {
		status, err := CollectionStatus(sit, Defragmentation{})
		if err != nil {
			t.Fatal(err)
		}
		got := status.Violation
		if status.Compliant {
			got = "compliant"
		}
		if got != s.Expect.Status || status.Compliant != (status.Violation == "") {
			t.Errorf("status %+v, want %s", status, s.Expect.Status)
		}
	}

	err := CheckAligned(sit.Table, sit.Zones)
	if string(s.Expect.Migrations) == `"refused: IllegalOperation"` {
		if !mongoerr.Is(err, mongoerr.IllegalOperation) {
			t.Errorf("CheckAligned: %v, want IllegalOperation", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}

	var why Report
	got, first, err := SelectMigrations(sit, s.available(sit), &why)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "migrations", choices(got), s.Expect.choices(t))
	same(t, "log", logged(&why), s.Expect.logged())
	if s.Expect.FirstReason != "" && string(first) != s.Expect.FirstReason {
		t.Errorf("first reason %s, want %s", first, s.Expect.FirstReason)
	}
	for _, m := range got {
		c := sit.Table.Find(m.Min)
		if m.ChunkVersion != c.Version || !m.Max.IsZero() || m.Namespace != sit.Namespace || m.MaxChunkSizeBytes != sit.maxChunkSize() {
			t.Errorf("migration %+v does not fit its chunk %+v", m, c)
		}
	}

	// What is reported must not change what is chosen.
	silent, _, _ := SelectMigrations(sit, s.available(sit), nil)
	same(t, "migrations without a report", choices(silent), choices(got))
	events := Report{EventsOnly: true}
	_, _, _ = SelectMigrations(sit, s.available(sit), &events)
	same(t, "log of an events-only report", logged(&events), logged(&why))
	if len(events.Rejected) > 0 {
		t.Error("an events-only report has rejections")
	}
}

// Spec 01 §11.3, at the level of the policy: several collections in processing
// order share the available shards.
func TestSeveralCollectionsInOneRound(t *testing.T) {
	collections := map[string]string{
		"c1": `{"id":"c1","shards":[{"id":"a","size":1000},{"id":"b","size":0},{"id":"c","size":500},{"id":"d","size":500}],
			"chunks":[["a","Min",10],["b",10,20],["c",20,30],["d",30,"Max"]]}`,
		"c2": `{"id":"c2","shards":[{"id":"a","size":2000},{"id":"b","size":0},{"id":"c","size":900},{"id":"d","size":0}],
			"chunks":[["a","Min",10],["b",10,20],["c",20,30],["d",30,"Max"]]}`,
		"c3": `{"id":"c3","shards":[{"id":"a","size":0},{"id":"b","size":0},{"id":"c","size":0},{"id":"d","size":1000}],
			"chunks":[["d","Min",10],["a",10,20],["b",20,30],["c",30,"Max"]]}`,
	}
	for _, tt := range []struct {
		id          string
		order       []string
		unavailable []catalog.ShardID
		want        []string
	}{
		{"M01", []string{"c1", "c2"}, nil, []string{"c1: [a→b at Min, force 0]", "c2: [c→d at 20, force 0]"}},
		{"M02", []string{"c2", "c1"}, nil, []string{"c2: [a→b at Min, force 0 c→d at 20, force 0]"}},
		{"M03", []string{"c1", "c3"}, nil, []string{"c1: [a→b at Min, force 0]", "c3: [d→c at Min, force 0]"}},
		{"M04", []string{"c1", "c2"}, []catalog.ShardID{"c", "d"}, []string{"c1: [a→b at Min, force 0]"}},
		{"M05", []string{"c1", "c2"}, []catalog.ShardID{"b", "c", "d"}, nil},
	} {
		t.Run(tt.id, func(t *testing.T) {
			available := NewAvailable(stage(t, collections["c1"]).situation(t).Shards)
			available.Take(tt.unavailable...)
			var got []string
			for _, name := range tt.order {
				if available.Len() < 2 {
					break // the round examines nothing more
				}
				migrations, _, err := SelectMigrations(stage(t, collections[name]).situation(t), available, nil)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%s: %v", name, choices(migrations)))
			}
			same(t, "rounds", got, tt.want)
		})
	}
}

// Spec 01 §11.4: rounds in which every migration moves one step.
func TestMultiRoundSequences(t *testing.T) {
	for _, tt := range []struct {
		id     string
		scene  string
		step   int64
		rounds []string // migrations, then the sizes after them
		end    []string // log of the round that finds nothing
	}{
		{"Q01", `{"shards":[{"id":"a","size":1000},{"id":"b","size":0},{"id":"c","size":0}],"layout":[["a",8]]}`, 128,
			[]string{
				"a→b [872 128 0]",
				"a→c [744 128 128]",
				"a→b [616 256 128]",
				"a→c [488 256 256]",
			}, []string{}},
		{"Q02", `{"maxChunk":100,"shards":[{"id":"g","size":300,"draining":true},{"id":"p","size":0},{"id":"q","size":0}],"layout":[["g",3]]}`, 100,
			[]string{
				"g→p [200 100 0]",
				"g→q [100 100 100]",
				"g→p [0 200 100]",
			}, []string{"[21890 g 0]"}},
		{"Q03", `{"shards":[{"id":"a","size":2000},{"id":"b","size":1200},{"id":"c","size":0},{"id":"d","size":0}],"layout":[["a",16],["b",10]]}`, 128,
			[]string{
				"a→c b→d [1872 1072 128 128]",
				"a→c b→d [1744 944 256 256]",
				"a→c b→d [1616 816 384 384]",
				"a→c b→d [1488 688 512 512]",
				"a→c [1360 688 640 512]",
				"a→d [1232 688 640 640]",
				"a→c [1104 688 768 640]",
				"a→d [976 688 768 768]",
			}, []string{}},
	} {
		t.Run(tt.id, func(t *testing.T) {
			sit := stage(t, tt.scene).situation(t)
			for i := 0; ; i++ {
				var why Report
				migrations, _, err := SelectMigrations(sit, NewAvailable(sit.Shards), &why)
				if err != nil {
					t.Fatal(err)
				}
				if len(migrations) == 0 {
					if i != len(tt.rounds) {
						t.Errorf("ended after %d rounds, want %d", i, len(tt.rounds))
					}
					same(t, "log at the end", logged(&why), tt.end)
					return
				}
				line := ""
				for _, m := range migrations {
					line += fmt.Sprintf("%s→%s ", m.From, m.To)
					moveChunk(t, &sit, m, tt.step*mib)
				}
				var sizes []int64
				for _, s := range sit.Shards {
					sizes = append(sizes, sit.Sizes.ByShard[s.ID]/mib)
				}
				line += fmt.Sprint(sizes)
				if i == len(tt.rounds) || line != tt.rounds[i] {
					t.Fatalf("round %d: %s, want one of %v", i+1, line, tt.rounds)
				}
			}
		})
	}
}

// moveChunk carries a migration out: the whole chunk, and so many bytes.
func moveChunk(t testing.TB, sit *Situation, m Migration, bytes int64) {
	t.Helper()
	c := sit.Table.Find(m.Min)
	c.Shard = m.To
	c.Version = catalog.ChunkVersion{Major: sit.Table.Version().Major + 1}
	next, err := sit.Table.Apply([]catalog.Chunk{c})
	if err != nil {
		t.Fatal(err)
	}
	sit.Table = next
	sit.Sizes.ByShard[m.From] -= bytes
	sit.Sizes.ByShard[m.To] += bytes
}

// Spec 01 §11.6, iteration order.
func TestZoneVisitingOrder(t *testing.T) {
	sit := stage(t, `{"shards":[{"id":"p"},{"id":"q"}],
		"chunks":[["p","Min",100],["q",100,150],["p",150,200],["q",200,300],["q",300,350],["p",350,400],["q",400,"Max"]],
		"zones":[[100,200,"north"],[300,400,"north"]]}`).situation(t)
	layout := newZoneLayout(sit.Table, sit.Zones)
	const north, none = 0, 1
	for _, tt := range []struct {
		shard catalog.ShardID
		zone  int
		want  []string
	}{
		{"p", north, []string{"150", "350"}},
		{"q", north, []string{"100", "300"}},
		{"q", none, []string{"200", "400"}},
		{"p", none, []string{"Min"}},
	} {
		var got []string
		for c := range layout.chunks(tt.shard, tt.zone) {
			got = append(got, show(c.Min))
		}
		same(t, fmt.Sprintf("chunks of %s in zone %q", tt.shard, layout.names[tt.zone]), got, tt.want)
	}
	same(t, "zones of q", slices.Collect(layout.zonesOf("q")), []int{north, none})
	same(t, "zones of p", slices.Collect(layout.zonesOf("p")), []int{none, north})
}

func TestNegativeTotalIsAnInternalError(t *testing.T) {
	sit := stage(t, `{"shards":[{"id":"a","size":-5},{"id":"b","size":1}],"layout":[["a",1]]}`).situation(t)
	if _, _, err := SelectMigrations(sit, NewAvailable(sit.Shards), nil); !mongoerr.Is(err, mongoerr.InternalError) {
		t.Errorf("got %v, want InternalError", err)
	}
}
