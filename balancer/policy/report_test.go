package policy

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

func TestNilReportCollectsNothing(t *testing.T) {
	var r *Report
	r.Log(Event{ID: EventDrainStuck})
	r.Add(Decision{Code: ShardBusy})
	for range r.Chosen() {
		t.Error("nil has chosen something")
	}
	if r.WantsDecisions() {
		t.Error("nil wants rejections")
	}
}

// Every reason code, with a collection that gives it.
func TestReasonCodes(t *testing.T) {
	for _, tt := range []struct {
		scene string // a worked example, or a scene
		want  []string
	}{
		{"D01", []string{
			"donorIsRecipient: Shard oslo (700 MiB) is both the largest and the smallest available shard.",
		}},
		{"D02", []string{
			"belowThreshold: Shard oslo has 883 MiB and bern has 500 MiB, a difference of 383 MiB, below the threshold of 384 MiB.",
		}},
		{"D04", []string{
			"belowThreshold: Shard oslo has 2.99 MiB and bern has 0 B, a difference of 2.99 MiB, below the threshold of 3 MiB.",
		}},
		{"D12", []string{
			"recipientAtIdeal: The smallest available shard, d, has 1000 MiB, not below the ideal of 1000 MiB.",
		}},
		{"D13", []string{
			"shardBusy: Shard a already takes part in a migration of this round.",
			"donorAtIdeal: The largest available shard, b, has 600 MiB, not above the ideal of 600 MiB.",
		}},
		{"D16", []string{
			"noSizeEntry: Shard b reported no size for the collection.",
			"noDonor: No available shard with a known size can give chunks.",
		}},
		{"D17", []string{
			"noData: The shards have no data of the collection.",
		}},
		{"J02", []string{
			"jumboFlag: The chunk at [MinKey] on a is jumbo: the balancer does not move it.",
			"jumboFlag: The chunk at [10] on a is jumbo: the balancer does not move it.",
			"onlyJumboChunks: All 2 chunks on a are jumbo.",
		}},
		{"R04", []string{
			"tooFewShards: A migration needs 2 free shards; this round has 1 left.",
		}},
		{"R06", []string{
			"noRecipient: No shard can receive chunks of zone EU: 2 outside the zone, 1 draining.",
			"noRecipient: No shard can receive chunks of zone EU: 2 outside the zone, 1 draining.",
			"donorAtIdeal: The largest available shard, gone, has 100 MiB, not above the ideal of 100 MiB.",
		}},
		{"R09", []string{
			"nothingToDrain: Shard gone is draining but owns no chunk of the collection.",
			"noRecipient: No shard can receive chunks: 1 draining, 2 busy this round.",
		}},
		{"Z04", []string{
			"shardBusy: Shard eu1 already takes part in a migration of this round.",
			"noRecipient: No shard can receive chunks of zone EU: 2 outside the zone, 1 busy this round.",
			"noRecipient: No shard can receive chunks of zone EU: 2 outside the zone, 1 busy this round.",
			"donorIsRecipient: Shard v1 (5 MiB) is both the largest and the smallest available shard.",
		}},
		{"Z05", []string{
			"jumboFlag: The chunk at [0] on v1 is jumbo: the balancer does not move it.",
			"donorIsRecipient: Zone EU: shard eu1 (10 MiB) is both the largest and the smallest available shard.",
			"belowThreshold: Shard eu1 has 10 MiB and v1 has 5 MiB, a difference of 5 MiB, below the threshold of 384 MiB.",
		}},
		{"Z08", []string{
			"noRecipient: No shard can receive chunks of zone GHOST: 2 outside the zone.",
			"zoneWithoutShards: Zone GHOST has ranges but no shard with a known size.",
			"donorIsRecipient: Shard p (10 MiB) is both the largest and the smallest available shard.",
		}},
		{"Z10", []string{
			"largestOutsideZone: The largest available shard, us1 (8.78 GiB), is not in zone EU, and no other may give chunks before it.",
			"donorIsRecipient: Zone US: shard us1 (8.78 GiB) is both the largest and the smallest available shard.",
			"noChunkInZone: The largest available shard, us1 (8.78 GiB), has no chunk of keys outside all zones, and no other may give chunks before it.",
		}},
	} {
		s := scene{}
		if strings.HasPrefix(tt.scene, "{") {
			s = stage(t, tt.scene)
		} else {
			s = workedExample(t, tt.scene)
		}
		t.Run(s.ID, func(t *testing.T) {
			sit := s.situation(t)
			var why Report
			if _, _, err := SelectMigrations(sit, s.available(sit), &why); err != nil {
				t.Fatal(err)
			}
			var got []string
			for w := range why.Rejected() {
				got = append(got, fmt.Sprintf("%s: %s", w.Code, w.Text()))
				if w.Namespace != sit.Namespace {
					t.Errorf("%s is about %q", w.Code, w.Namespace)
				}
			}
			same(t, "reasons", got, tt.want)
		})
	}
}

// A rejection carries the numbers its sentence shows.
func TestBelowThresholdHasItsNumbers(t *testing.T) {
	sit := workedExample(t, "D02").situation(t)
	var why Report
	if _, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), &why); err != nil {
		t.Fatal(err)
	}
	want := Decision{
		Code: BelowThreshold, Namespace: "db.D02", Reason: ReasonChunksImbalance, Shard: "oslo", Recipient: "bern",
		Numbers: Numbers{Donor: 883 * mib, Recipient: 500 * mib, Ideal: 691*mib + mib/2, Threshold: 402653184},
	}
	if len(why.Decisions) != 1 || why.Decisions[0] != want {
		t.Errorf("got %+v\nwant %+v", why.Decisions, want)
	}
}

// The server's debug events come once for all chunks of a shard in a zone.
func TestDebugEventsComeOnceAZone(t *testing.T) {
	drain := stage(t, `{"shards":[{"id":"g","size":1,"draining":true},{"id":"h","size":1,"draining":true}],"layout":[["g",3],["h",2]]}`)
	repair := stage(t, `{"shards":[{"id":"v","size":1},{"id":"w","size":1}],"layout":[["v",3],["w",2]],"zones":[["Min",20,"EU"]]}`)
	for _, tt := range []struct {
		scene scene
		want  []string
	}{
		{drain, []string{"21889 g ", "21890 g ", "21889 h ", "21890 h ", "6581600  "}},
		{repair, []string{"21892 v EU", "21893  EU"}},
	} {
		sit := tt.scene.situation(t)
		var why Report
		if _, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), &why); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range why.Events {
			got = append(got, fmt.Sprintf("%d %s %s", e.ID, e.Shard, e.Zone))
		}
		same(t, "events", got, tt.want)
	}
}

func TestEventsAsLogLines(t *testing.T) {
	all := Event{Namespace: "db.c", Shard: "s", Zone: "Z", ChunkMin: key(t, 5), Flagged: 3}
	for _, tt := range []struct {
		id    EventID
		level slog.Level
		attrs []string
	}{
		{EventNoDrainRecipient, slog.LevelDebug, []string{"id=21889", "ns=db.c", "shard=s", "zone=Z"}},
		{EventDrainStuck, slog.LevelWarn, []string{"id=21890", "ns=db.c", "shard=s", "flagged=3"}},
		{EventJumboOutsideZone, slog.LevelWarn, []string{"id=21891", "ns=db.c", "chunkMin=[5]", "zone=Z"}},
		{EventNoZoneRecipient, slog.LevelDebug, []string{"id=21892", "ns=db.c", "shard=s", "zone=Z"}},
		{EventZoneWithoutShards, slog.LevelWarn, []string{"id=21893", "ns=db.c", "zone=Z"}},
		{EventNoSizeRecipient, slog.LevelInfo, []string{"id=6581600", "ns=db.c", "zone=Z"}},
		{EventOnlyJumboChunks, slog.LevelWarn, []string{"id=6581602", "ns=db.c", "shard=s", "zone=Z", "flagged=3"}},
	} {
		e := all
		e.ID = tt.id
		var attrs []string
		for _, a := range e.Attrs() {
			attrs = append(attrs, a.String())
		}
		if e.Level() != tt.level || !slices.Equal(attrs, tt.attrs) || e.Text() == "" {
			t.Errorf("event %d: %s %q %v, want %s %v", tt.id, e.Level(), e.Text(), attrs, tt.level, tt.attrs)
		}
	}
}

// That no shard of a zone can receive is a warning from 8.2 on. From 8.2.6 on it does not come: the
// donor is of the zone, and could receive.
func TestNoRecipientIsAWarningFrom82(t *testing.T) {
	draining := sized{catalog.Shard{ID: "a", Zones: []string{"E"}, Draining: true}, 100}
	for r, want := range map[catalog.Release]slog.Level{
		catalog.Release80.WithPatch(10): slog.LevelInfo, catalog.Release82.WithPatch(5): slog.LevelWarn,
	} {
		chunks := []tuple{{"a", "Min", 100}, {"b", 100, "Max"}}
		sit := situationOf(t, r, []sized{draining, {catalog.Shard{ID: "b"}, 4000}}, chunks, []string{"E"})
		report := &Report{}
		if _, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), report); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(report.Events, func(e Event) bool { return e.ID == EventNoSizeRecipient })
		if i < 0 || report.Events[i].Level() != want {
			t.Errorf("%s: %v, want one of level %s", r, report.Events, want)
		}
	}
}

func TestAvailable(t *testing.T) {
	a := NewAvailableShards([]catalog.Shard{{ID: "a"}, {ID: "b"}, {ID: "c"}})
	a.Take("a", "nobody")
	if a.IsFree("a") || !a.IsFree("b") || a.Len() != 2 {
		t.Errorf("after taking a: a %v, b %v, %d left", a.IsFree("a"), a.IsFree("b"), a.Len())
	}
}
