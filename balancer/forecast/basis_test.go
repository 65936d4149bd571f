package forecast_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
)

func uneven(t *testing.T) *catalog.Snapshot {
	t.Helper()
	return snaptest.SnapshotOfChunks(t, 3, 60, func(int) (int, int64) { return 0, 128 * mib })
}

func says(f forecast.Forecast, part string) bool {
	return slices.ContainsFunc(f.Basis, func(line string) bool { return strings.Contains(line, part) })
}

// Without a migration to measure the range is wide, and the basis says why.
func TestNoEvidence(t *testing.T) {
	f := of(t, uneven(t), forecast.Options{})
	if f.High < 5*f.Low || !says(f, "no migration in the change log") {
		t.Errorf("%v to %v: %q", f.Low, f.High, f.Basis)
	}
}

// Migrations of empty chunks tell no rate: 7.5 GiB to move are then no matter of years. What
// they tell, the steps of each migration, counts.
func TestEmptyChunksTellNoRate(t *testing.T) {
	s := uneven(t)
	assumed := of(t, s, forecast.Options{})
	for _, bytes := range []int64{0, 20, 4000, 100_000} {
		f := of(t, logged(s, 40, bytes, 300*time.Millisecond), forecast.Options{})
		if !says(f, "copied too little to tell a rate: assuming 4 to 64 MiB/s") {
			t.Errorf("of %d bytes: %q", bytes, f.Basis)
		}
		if f.High > 2*assumed.High || f.Low < assumed.Low/2 || f.High < 5*f.Low {
			t.Errorf("of %d bytes: %v to %v, without a log %v to %v", bytes, f.Low, f.High, assumed.Low, assumed.High)
		}
	}
}

// The _id of what config servers log tells their clock. This one is a recorded one
// but for its offset.
func TestTheLogsTellTheClock(t *testing.T) {
	server := `vm:{ remote: "127.0.0.1:56478", local: "127.0.0.1:27119" }`
	raw, err := bson.Marshal(bson.D{
		{Key: "_id", Value: server + "-2026-11-20T14:35:28.620+05:30-6b005ab005916c297b17d24f"},
		{Key: "server", Value: server}, {Key: "shard", Value: "config"},
	})
	if err != nil {
		t.Fatal(err)
	}
	parts := uneven(t).Parts()
	parts.Actions = []catalog.LogEntry{{Time: noon, What: "balancer.stop", Raw: raw}}
	parts.Settings.Window = &catalog.Window{Start: 22 * 60, Stop: 23 * 60}
	f := of(t, catalog.NewSnapshot(parts), forecast.Options{})
	if f.At.Format("15:04 MST") != "17:30 +05:30" || f.At.Add(f.Low).Hour() != 22 || !says(f, "(+05:30)") {
		t.Errorf("at %v, %q", f.At, f.Basis)
	}
	if text := f.Headline(); !strings.Contains(text, "+05:30, if the balancer window does not change") {
		t.Error(text)
	}
}

// Between noon of the 28th of March and ten in the evening of the 29th clocks in
// Berlin go forward by an hour.
func TestSummerTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	parts := measured(uneven(t), 40, 60*time.Second).Parts()
	parts.Time = time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC) // 23:00 there
	for i := range parts.Changes {
		parts.Changes[i].Time = parts.Changes[i].Time.Add(parts.Time.Sub(noon))
	}
	parts.Settings.Window = &catalog.Window{Start: 22 * 60, Stop: 23 * 60}
	f := of(t, catalog.NewSnapshot(parts).WithClock(berlin), forecast.Options{})
	if first := parts.Time.Add(f.Low).In(berlin); first.Day() != 29 || first.Hour() != 22 || f.Low > 23*time.Hour {
		t.Errorf("the earliest is %v, after %v", first, f.Low)
	}
}

// A fifth of the migrations fails, after they took as long as others: a fifth more
// rounds are needed.
func TestFailuresGoOn(t *testing.T) {
	s := measured(uneven(t), 40, 10*time.Second)
	without := of(t, s, forecast.Options{})
	parts := s.Parts()
	for i := range 10 {
		at := noon.Add(-time.Duration(i+1) * time.Minute)
		parts.Changes = append(parts.Changes, entry(at, "moveChunk.from", bson.D{
			{Key: "step 1 of 6", Value: int32(0)}, {Key: "step 2 of 6", Value: int32(20)}, {Key: "step 3 of 6", Value: int32(1)},
			{Key: "step 4 of 6", Value: int32(9900)}, {Key: "to", Value: "s01"}, {Key: "from", Value: "s00"},
			{Key: "note", Value: "aborted"},
		}), entry(at, "moveChunk.from", bson.D{ // refused for its size: a simulation has that itself
			{Key: "step 1 of 6", Value: int32(0)}, {Key: "step 2 of 6", Value: int32(20)}, {Key: "to", Value: "s01"},
			{Key: "from", Value: "s00"}, {Key: "note", Value: "aborted"},
		}))
	}
	f := of(t, catalog.NewSnapshot(parts), forecast.Options{})
	more := float64(f.Likely) / float64(without.Likely)
	if more < 1.12 || more > 1.4 || !says(f, "20% of the migrations failed") {
		t.Errorf("%v, without failures %v; %q", f.Likely, without.Likely, f.Basis)
	}
}

// What the balancer does not move stays, and is named; the times are until then.
func TestWhatStays(t *testing.T) {
	s := measured(snaptest.SnapshotOfChunks(t, 3, 30, func(i int) (int, int64) { return i % 3, 100 * mib }), 40, 10*time.Second)
	coll := s.Collection("db.c")
	chunk := coll.Table.At(1)
	chunk.Jumbo = catalog.JumboTrue
	table, err := coll.Table.Apply([]catalog.Chunk{chunk})
	if err != nil {
		t.Fatal(err)
	}
	f := of(t, s.WithCollection(coll.WithTable(table)), forecast.Options{Goal: plan.Goal{Kind: plan.Drain, Shard: "s01"}})
	jumbo := slices.ContainsFunc(f.BlockedBy, func(x diagnosis.Finding) bool {
		return x.Code == diagnosis.DrainNeedsOperator && strings.Contains(x.Sentence, "move 1 jumbo chunk by force")
	})
	if !f.Never || f.AssumesBalancerOn || f.StuckChunks != 1 || f.Moves != 9 || f.High == 0 || !jumbo || len(f.BlockedBy) != 1 { // said once
		t.Errorf("%s; %+v", f.Headline(), f)
	}
}
