package policy

import (
	"fmt"
	"slices"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mongoerr"
)

// workedExamples reads the lines of rules/01-examples-and-traps §11.2, as they stand there.
func workedExamples(t testing.TB) []scene {
	t.Helper()
	var scenes []scene
	for _, line := range examples.Lines(t, "testdata/selection.jsonl") {
		scenes = append(scenes, stage(t, line))
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

// rules/01-examples-and-traps §11.2.
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
	for _, split := range ZoneSplits(sit.Namespace, sit.Table, sit.Zones) {
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
	if len(events.Decisions) > 0 {
		t.Error("an events-only report has decisions")
	}
	sameChoices(t, &why, got)
}

// rules/01-examples-and-traps §11.6, iteration order.
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
	if _, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), nil); !mongoerr.Is(err, mongoerr.InternalError) {
		t.Errorf("got %v, want InternalError", err)
	}
}
