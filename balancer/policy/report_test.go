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
	if r.Wants() {
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
			"donorIsRecipient: Shard oslo with 700 MiB is both the largest shard left and the smallest one for the unzoned keys.",
		}},
		{"D02", []string{
			"belowThreshold: For the unzoned keys, shards oslo with 883 MiB and bern with 500 MiB differ by 383 MiB, less than the 384 MiB from which on data moves.",
		}},
		{"D04", []string{
			"belowThreshold: For the unzoned keys, shards oslo with 2.99 MiB and bern with 0 B differ by 2.99 MiB, less than the 3 MiB from which on data moves.",
		}},
		{"D12", []string{
			"recipientAtIdeal: The smallest shard left for the unzoned keys, d, has 1000 MiB, which is not below the ideal of 1000 MiB.",
		}},
		{"D13", []string{
			"shardBusy: Shard a already takes part in a migration of this round.",
			"donorAtIdeal: The largest shard left, b, has 600 MiB, which is not above the 600 MiB ideal for the unzoned keys.",
		}},
		{"D16", []string{
			"noSizeEntry: Shard b gave no size for the collection.",
			"noDonor: No measured shard without a migration is left to give chunks of the unzoned keys.",
		}},
		{"D17", []string{
			"noData: The shards for the unzoned keys have no data of the collection.",
		}},
		{"J02", []string{
			"jumboFlag: The chunk at [MinKey] on a is flagged jumbo and never moves by itself.",
			"jumboFlag: The chunk at [10] on a is flagged jumbo and never moves by itself.",
			"onlyJumboChunks: All 2 chunks of the unzoned keys on the largest shard left, a, are flagged jumbo.",
		}},
		{"R04", []string{
			"tooFewShards: It takes 2 shards without a migration to go on, and this round has 1 left.",
		}},
		{"R06", []string{
			"noRecipient: No shard can receive chunks of zone EU: 2 outside the zone, 1 draining.",
			"noRecipient: No shard can receive chunks of zone EU: 2 outside the zone, 1 draining.",
			"donorAtIdeal: The largest shard left, gone, has 100 MiB, which is not above the 100 MiB ideal for the unzoned keys.",
		}},
		{"R09", []string{
			"nothingToDrain: Shard gone is draining but owns no chunk of the collection.",
			"noRecipient: No shard can receive chunks of the unzoned keys: 1 draining, 2 busy this round.",
		}},
		{"Z04", []string{
			"shardBusy: Shard eu1 already takes part in a migration of this round.",
			"noRecipient: No shard can receive chunks of zone EU: 2 outside the zone, 1 busy this round.",
			"noRecipient: No shard can receive chunks of zone EU: 2 outside the zone, 1 busy this round.",
			"donorIsRecipient: Shard v1 with 5 MiB is both the largest shard left and the smallest one for the unzoned keys.",
		}},
		{"Z05", []string{
			"jumboFlag: The chunk at [0] on v1 is flagged jumbo and never moves by itself.",
			"donorIsRecipient: Shard eu1 with 10 MiB is both the largest shard left and the smallest one for zone EU.",
			"belowThreshold: For the unzoned keys, shards eu1 with 10 MiB and v1 with 5 MiB differ by 5 MiB, less than the 384 MiB from which on data moves.",
		}},
		{"Z08", []string{
			"noRecipient: No shard can receive chunks of zone GHOST: 2 outside the zone.",
			"zoneWithoutShards: Zone GHOST has ranges but no measured shard belongs to it.",
			"donorIsRecipient: Shard p with 10 MiB is both the largest shard left and the smallest one for the unzoned keys.",
		}},
		{"Z10", []string{
			"largestOutsideZone: The largest shard left, us1 with 8.78 GiB, has nothing to do with zone EU, and no other may give chunks before it.",
			"donorIsRecipient: Shard us1 with 8.78 GiB is both the largest shard left and the smallest one for zone US.",
			"noChunkInZone: The largest shard left, us1 with 8.78 GiB, owns no chunk of the unzoned keys, and no other may give chunks before it.",
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
	if _, _, err := SelectMigrations(sit, NewAvailable(sit.Shards), &why); err != nil {
		t.Fatal(err)
	}
	want := Decision{
		Code: BelowThreshold, Namespace: "db.D02", Step: ReasonChunksImbalance, Shard: "oslo", Recipient: "bern",
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
		if _, _, err := SelectMigrations(sit, NewAvailable(sit.Shards), &why); err != nil {
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

func TestAvailable(t *testing.T) {
	a := NewAvailable([]catalog.Shard{{ID: "a"}, {ID: "b"}, {ID: "c"}})
	a.Take("a", "nobody")
	if a.Has("a") || !a.Has("b") || a.Len() != 2 {
		t.Errorf("after taking a: a %v, b %v, %d left", a.Has("a"), a.Has("b"), a.Len())
	}
}
