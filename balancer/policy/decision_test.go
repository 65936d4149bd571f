package policy

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// sameChoices holds the decisions of a report to the migrations chosen.
func sameChoices(t *testing.T, why *Report, migrations []Migration) {
	t.Helper()
	var got, want []string
	for d := range why.Chosen() {
		got = append(got, fmt.Sprintf("%s %s %s→%s %s %s", d.Namespace, d.Code, d.Shard, d.Recipient, d.Min, d.Reason))
	}
	for _, m := range migrations {
		want = append(want, fmt.Sprintf("%s %s %s→%s %s %s", m.Namespace, m.Reason, m.From, m.To, m.Min, m.Reason))
	}
	same(t, "chosen", got, want)
}

// texts are the decisions of a report as lines.
func texts(why *Report) []string {
	var lines []string
	for _, d := range why.Decisions {
		lines = append(lines, fmt.Sprintf("%s: %s", d.Code, d.Text()))
	}
	return lines
}

// What is chosen carries its numbers, by sizes and by chunks.
func TestChoicesHaveTheirNumbers(t *testing.T) {
	for _, tt := range []struct {
		name, kind, scene string
		want              Decision
		text              string
	}{
		{"a drain", "", `{"shards":[{"id":"g","size":7,"draining":true},{"id":"p","size":5},{"id":"q","size":6}],
			"layout":[["g",1],["p",1]]}`,
			Decision{Code: ChosenDrain, Shard: "g", Recipient: "p", Numbers: Numbers{Donor: 7 * mib, Recipient: 5 * mib}},
			"Shard g is draining: its chunk at [MinKey] moves to p, the least loaded shard (5 MiB)."},
		{"a zone", "", `{"shards":[{"id":"v","size":9},{"id":"w","size":8,"zones":["EU"]}],"layout":[["v",2]],
			"zones":[[10,"Max","EU"]]}`,
			Decision{Code: ChosenZoneViolation, Shard: "v", Recipient: "w", Zone: "EU", Numbers: Numbers{Donor: 9 * mib, Recipient: 8 * mib}},
			"Shard v is not in zone EU: its chunk at [10] moves to w, the least loaded shard of zone EU (8 MiB)."},
		{"sizes", "", `{"shards":[{"id":"a","size":900},{"id":"b","size":100}],"layout":[["a",2],["b",1]]}`,
			Decision{Code: ChosenImbalance, Shard: "a", Recipient: "b",
				Numbers: Numbers{Donor: 900 * mib, Recipient: 100 * mib, Ideal: 500 * mib, Threshold: 384 * mib}},
			"Shard a has 900 MiB and b has 100 MiB, a difference of 800 MiB (threshold 384 MiB): the chunk at [MinKey] moves."},
		{"chunks of 4.4", "chunkCount-4.4", `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",4]]}`,
			Decision{Code: ChosenImbalance, Shard: "a", Recipient: "b",
				Numbers: Numbers{Unit: UnitChunks, Donor: 4, Ideal: 2, Threshold: 1}},
			"Shard a has 4 chunks, 2 above the ideal of 2, and b has 0 chunks: the chunk at [MinKey] moves."},
		{"chunks of 2.2", "chunkCount-2.2", `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",3],["b",1]]}`,
			Decision{Code: ChosenImbalance, Shard: "a", Recipient: "b",
				Numbers: Numbers{Unit: UnitChunks, Donor: 3, Recipient: 1, Threshold: 2}},
			"Shard a has 3 chunks and b has 1 chunk, a difference of 2 chunks (threshold 2 chunks): the chunk at [MinKey] moves."},
		{"a drain of 5.0", "chunkCount-4.4", `{"shards":[{"id":"g","draining":true},{"id":"p"}],"layout":[["g",3],["p",2]]}`,
			Decision{Code: ChosenDrain, Shard: "g", Recipient: "p", Numbers: Numbers{Unit: UnitChunks, Donor: 3, Recipient: 2}},
			"Shard g is draining: its chunk at [MinKey] moves to p, the least loaded shard (2 chunks)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := stage(t, tt.scene)
			s.Kind = tt.kind
			sit := s.situation(t)
			var why Report
			if tt.kind != "" {
				SelectByCount(s.counting(t), NewAvailableShards(sit.Shards), &why)
			} else if _, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), &why); err != nil {
				t.Fatal(err)
			}
			for got := range why.Chosen() {
				c := sit.Table.Find(got.Min)
				tt.want.Namespace, tt.want.Reason = sit.Namespace, Reason(tt.want.Code)
				tt.want.Min, tt.want.Max = c.Min, c.Max
				if got != tt.want {
					t.Errorf("got %+v\nwant %+v", got, tt.want)
				}
				if got.Text() != tt.text {
					t.Errorf("got %s\nwant %s", got.Text(), tt.text)
				}
				return
			}
			t.Fatal("nothing chosen")
		})
	}
}

// What the rules before 6.0 do not choose carries a code too.
func TestReasonsByCount(t *testing.T) {
	for _, tt := range []struct {
		name, kind, scene string
		want              []string
	}{
		{"balanced, rounded to the nearest", "chunkCount-4.4", `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",2],["b",2]]}`, []string{
			"donorAtIdeal: The available shard with the most chunks, a, has 2 chunks, not above the ideal of 2 chunks.",
		}},
		{"near the ideal", "chunkCount-3.4", `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",11],["b",9]]}`, []string{
			"donorNearIdeal: The available shard with the most chunks, a, has 11 chunks, 1 above the ideal of 10 (threshold 2).",
		}},
		{"a small difference", "chunkCount-2.2", `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",2],["b",1]]}`, []string{
			"belowThreshold: Shard a has 2 chunks and b has 1 chunk, a difference of 1 chunk, below the threshold of 2 chunks.",
		}},
		{"zones", "chunkCount-4.4", `{"shards":[{"id":"a","zones":["Z"]},{"id":"b","zones":["Z"]},{"id":"c"}],
			"chunks":[["a","Min",0],["a",0,10],["a",10,20],["b",20,30],["b",30,40],["a",40,50],["c",50,60],["c",60,70],["c",70,80],["c",80,90],["c",90,"Max"]],
			"zones":[["Min",50,"Z"]]}`, []string{
			"chunksImbalance: Zone Z: shard a has 4 chunks, 1 above the ideal of 3, and b has 2 chunks: the chunk at [MinKey] moves.",
			"noDonor: No available shard has chunks of zone Z.",
			"donorIsRecipient: Only shard c (5 chunks) can give or receive chunks.",
		}},
		{"the recipient has enough", "chunkCount-4.4", `{"shards":[{"id":"a"},{"id":"b"},{"id":"c"}],"layout":[["a",5],["b",4]],"unavailable":["c"]}`, []string{
			"shardBusy: Shard c already takes part in a migration of this round.",
			"recipientAtIdeal: The smallest available shard, b, has 4 chunks, not below the ideal of 3 chunks.",
		}},
		{"full and busy", "chunkCount-4.4", `{"shards":[{"id":"a"},{"id":"b","maxSizeMB":1,"currSizeMB":1},{"id":"c"}],"layout":[["a",3]],"unavailable":["c"]}`, []string{
			"shardFull: Shard b has reached its maxSize.",
			"shardBusy: Shard c already takes part in a migration of this round.",
			"donorIsRecipient: Only shard a (3 chunks) can give or receive chunks.",
		}},
		{"nothing to drain", "chunkCount-4.4", `{"shards":[{"id":"g","draining":true},{"id":"p"}],"layout":[["p",1]]}`, []string{
			"nothingToDrain: Shard g is draining but owns no chunk of the collection.",
			"donorAtIdeal: The available shard with the most chunks, p, has 1 chunk, not above the ideal of 1 chunk.",
		}},
		{"a flagged chunk", "chunkCount-4.4", `{"shards":[{"id":"g","draining":true},{"id":"p"}],"chunks":[["g","Min",0,"jumbo"],["p",0,"Max"]]}`, []string{
			"jumboFlag: The chunk at [MinKey] on g is jumbo: the balancer does not move it.",
			"donorAtIdeal: The available shard with the most chunks, g, has 1 chunk, not above the ideal of 1 chunk.",
		}},
		{"only flagged chunks", "chunkCount-4.4", `{"shards":[{"id":"a"},{"id":"b"}],"chunks":[["a","Min",0,"jumbo"],["a",0,"Max","jumbo"]]}`, []string{
			"jumboFlag: The chunk at [MinKey] on a is jumbo: the balancer does not move it.",
			"jumboFlag: The chunk at [0] on a is jumbo: the balancer does not move it.",
			"onlyJumboChunks: All 2 chunks on a are jumbo.",
		}},
		{"a zone without shards", "chunkCount-4.4", `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",1],["b",1]],"zones":[["Min",10,"GHOST"]]}`, []string{
			"noRecipient: No shard can receive chunks of zone GHOST: 2 outside the zone.",
			"zoneWithoutShards: Zone GHOST has ranges but no shard with a known size.",
			"donorAtIdeal: The available shard with the most chunks, b, has 1 chunk, not above the ideal of 1 chunk.",
		}},
		{"one migration", "chunkCount-2.2", `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",9]]}`, []string{
			"chunksImbalance: Shard a has 9 chunks and b has 0 chunks, a difference of 9 chunks (threshold 2 chunks): the chunk at [MinKey] moves.",
			"oneMigration: Collection db. already has its one migration of this round.",
		}},
		{"no recipient", "chunkCount-2.2", `{"shards":[{"id":"a"},{"id":"b","draining":true}],"layout":[["a",9]]}`, []string{
			"nothingToDrain: Shard b is draining but owns no chunk of the collection.",
			"donorIsRecipient: Only shard a (9 chunks) can give or receive chunks.",
		}},
		{"nobody can receive", "chunkCount-2.2", `{"shards":[{"id":"a","maxSizeMB":1,"currSizeMB":1},{"id":"b","draining":true},{"id":"c"}],"layout":[["a",9]],"unavailable":["c"]}`, []string{
			"shardFull: Shard a has reached its maxSize.",
			"shardBusy: Shard c already takes part in a migration of this round.",
			"nothingToDrain: Shard b is draining but owns no chunk of the collection.",
			"noRecipient: No shard can receive chunks: 1 full, 1 draining, 1 busy this round.",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := stage(t, tt.scene)
			s.Kind = tt.kind
			var why Report
			SelectByCount(s.counting(t), s.available(s.situation(t)), &why)
			same(t, "decisions", texts(&why), tt.want)
		})
	}
}

// The flags and settings that keep a collection where it is.
func TestBlocked(t *testing.T) {
	fine := catalog.Collection{Namespace: "db.c", AllowMigrations: true, PermitMigrations: true}
	v50, v44 := catalog.Release50, catalog.Release44
	for _, tt := range []struct {
		name    string
		change  func(*catalog.Collection)
		release catalog.Release
		want    []string
	}{
		{"nothing", func(*catalog.Collection) {}, catalog.Release{}, nil},
		{"noBalance", func(c *catalog.Collection) { c.NoBalance = true }, catalog.Release{},
			[]string{"balancingOff: Balancing is switched off for db.c."}},
		{"defragmentation", func(c *catalog.Collection) { c.Defragment = true }, catalog.Release{},
			[]string{"defragmentingFirst: Collection db.c is being defragmented."}},
		{"defragmentation before 6.0", func(c *catalog.Collection) { c.Defragment = true }, v50, nil},
		{"permitMigrations", func(c *catalog.Collection) { c.PermitMigrations = false }, catalog.Release{},
			[]string{"migrationsForbidden: Migrations of db.c are forbidden."}},
		{"allowMigrations of 5.0", func(c *catalog.Collection) { c.AllowMigrations = false }, v50,
			[]string{"migrationsForbidden: Migrations of db.c are forbidden."}},
		{"allowMigrations before", func(c *catalog.Collection) { c.AllowMigrations = false }, v44, nil},
		{"allowChunkOperations", func(c *catalog.Collection) { c.NoChunkOperations = true }, catalog.Release90,
			[]string{"chunksFrozen: Splits, merges and migrations of db.c are forbidden."}},
		{"allowChunkOperations before 9.0", func(c *catalog.Collection) { c.NoChunkOperations = true },
			catalog.Release83, nil},
		{"resharding", func(c *catalog.Collection) { c.Resharding, c.AllowMigrations = true, false }, catalog.Release{}, []string{
			"resharding: Collection db.c is being resharded.", "migrationsForbidden: Migrations of db.c are forbidden."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := fine
			tt.change(&c)
			var why Report
			if got := ReportBlocked(c, tt.release, &why); got != (tt.want != nil) || got == c.BalanceableIn(tt.release) {
				t.Errorf("blocked: %v", got)
			}
			if got := ReportBlocked(c, tt.release, nil); got != (tt.want != nil) {
				t.Errorf("without a report: %v", got)
			}
			same(t, "reasons", texts(&why), tt.want)
		})
	}
}

// Explain tells of the switches, and what would move but for them.
func TestExplain(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	s := stage(t, `{"shards":[{"id":"a","size":900},{"id":"b","size":100}],"layout":[["a",2],["b",1]]}`)
	q := ExplainInput{
		Situation: s.situation(t), Settings: catalog.DefaultSettings(), Now: noon,
		Collection: catalog.Collection{Namespace: "db.c", AllowMigrations: true, PermitMigrations: true, NoBalance: true},
	}
	window, err := catalog.ParseWindow(rawValue(t, bson.D{{Key: "start", Value: "01:00"}, {Key: "stop", Value: "02:00"}}))
	if err != nil {
		t.Fatal(err)
	}
	q.Settings.Window = window
	why, err := Explain(q)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, d := range why.Decisions {
		codes = append(codes, string(d.Code))
	}
	same(t, "codes", codes, []string{"windowShut", "balancingOff", "chunksImbalance", "noDonor"})

	q.Settings.Mode = catalog.ModeOff
	if why, _ = Explain(q); why.Decisions[0].Code != BalancerOff {
		t.Errorf("first %s, want %s", why.Decisions[0].Code, BalancerOff)
	}
	q.Situation = stage(t, `{"shards":[{"id":"a","zones":["EU"]}],"layout":[["a",2]],"zones":[["Min",5,"EU"]]}`).situation(t)
	why, err = Explain(q)
	last := why.Decisions[len(why.Decisions)-1]
	if err != nil || last.Code != UnalignedZones || last.Err == nil {
		t.Errorf("last %+v, error %v", last, err)
	}
	q.Settings = catalog.DefaultSettingsOf(catalog.Release44)
	q.Situation = stage(t, `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",4]]}`).situation(t)
	why, _ = Explain(q)
	for d := range why.Chosen() {
		if d.Numbers.Unit != UnitChunks {
			t.Errorf("4.4 counts %+v", d.Numbers)
		}
		return
	}
	t.Error("nothing chosen by count")
}

// One chunk: what became of it.
func TestAboutChunk(t *testing.T) {
	s := stage(t, `{"shards":[{"id":"a","size":900,"zones":["Z"]},{"id":"b","size":100,"zones":["Z"]},{"id":"c","size":100}],"unavailable":["c"],
		"chunks":[["a","Min",0,"jumbo"],["a",0,10],["a",10,20],["b",20,30],["c",30,"Max"]],"zones":[["Min",30,"Z"]]}`)
	sit := s.situation(t)
	var why Report
	if _, _, err := SelectMigrations(sit, s.available(sit), &why); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		chunk int
		want  []string
	}{
		{0, []string{"jumboFlag", "otherChunkFirst", "noDonor"}},
		{1, []string{"chunksImbalance", "noDonor"}},
		{2, []string{"otherChunkFirst", "noDonor"}},
		{3, []string{"noDonor"}},
		{4, []string{"shardBusy", "noDonor"}},
	} {
		c := sit.Table.At(tt.chunk)
		var got []string
		for d := range why.AboutChunk(sit.Namespace, c, sit.Zones.ZoneOf(c.Min, c.Max)) {
			got = append(got, string(d.Code))
		}
		same(t, fmt.Sprintf("chunk %d", tt.chunk), got, tt.want)
	}
	for d := range why.AboutChunk("db.other", sit.Table.At(0), "Z") {
		t.Errorf("%s is about another collection", d.Code)
	}
}

func rawValue(t *testing.T, v any) bson.RawValue {
	t.Helper()
	kind, data, err := bson.MarshalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return bson.RawValue{Type: kind, Value: data}
}

// A report that nobody asked for allocates nothing.
func TestNobodyAskedCostsNothing(t *testing.T) {
	sit := stage(t, `{"shards":[{"id":"a","size":900},{"id":"b","size":100}],"layout":[["a",2],["b",1]]}`).situation(t)
	count := func(why *Report) float64 {
		return testing.AllocsPerRun(100, func() {
			sel := newSelection(sit, NewAvailableShards(sit.Shards), why)
			sel.addDecision(Decision{Code: NoData})
			sel.reportRejectedPair(BelowThreshold, &sel.roundShards[0], &sel.roundShards[1], 0, Numbers{}, 0)
			sel.addMigration(&sel.roundShards[0], &sel.roundShards[1], 0, sit.Table.At(0), ReasonDrain, Numbers{})
		})
	}
	if silent, events := count(nil), count(&Report{EventsOnly: true}); events > silent+1 { // the report itself
		t.Errorf("%v allocations with a report of events, %v without", events, silent)
	}
	if ReportBlocked(catalog.Collection{}, catalog.Release{}, nil); testing.AllocsPerRun(100, func() {
		ReportBlocked(catalog.Collection{NoBalance: true}, catalog.Release{}, nil)
	}) > 0 {
		t.Error("a flag that nobody asked about costs an allocation")
	}
}

func TestTextOfAnUnknownCode(t *testing.T) {
	if got := (Decision{Code: "news", Err: errors.New("x")}).Text(); got != "news" {
		t.Errorf("got %q", got)
	}
}
