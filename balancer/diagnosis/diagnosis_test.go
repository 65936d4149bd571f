package diagnosis

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// TestFindings has a cluster for each code, and all that is said about it.
func TestFindings(t *testing.T) {
	even, uneven := reported(""), reported("chunksImbalance")
	for _, tc := range []struct {
		name string
		c    *cluster
		want []string // code, severity, scope: text
	}{
		{"healthy", newCluster(t).collection("x.y", []string{"a", "b"}, even), nil},
		{"gap", newCluster(t).with(func(c *cluster) {
			c.Source.Gaps = []catalog.Gap{{What: "sizes", Shard: "a", Reason: "no right"}}
		}), []string{"notRead info shard: sizes could not be read: no right"}},
		{"setting", newCluster(t).with(func(c *cluster) { c.SettingsProblem = "bad chunksize" }),
			[]string{"settingsUnreadable critical cluster: the balancer skips its rounds: bad chunksize"}},

		{"off", newCluster(t).collection("x.y", []string{"a"}, uneven).with(off), []string{
			"balancerOff warning cluster: the balancer is off: sh.startBalancer()",
			"notBalanced info collection: x.y is not balanced (chunksImbalance)"}},
		{"off with nothing to do", newCluster(t).collection("x.y", []string{"a"}, even).with(off),
			[]string{"balancerOff info cluster: the balancer is off: sh.startBalancer()"}},
		{"off by a mode it does not know", newCluster(t).with(off, func(c *cluster) { c.Settings.UnknownMode = "ful" }),
			[]string{`balancerOff info cluster: the balancer is off: unknown mode "ful": ` +
				`sh.startBalancer()`}},
		{"splits only",
			newCluster(t).with(func(c *cluster) { c.Balancer.Mode, c.Settings.Mode = "", catalog.ModeAutoSplitOnly }),
			[]string{"balancerOff info cluster: the balancer is in mode autoSplitOnly: it moves " +
				"nothing: sh.startBalancer()"}},
		{"window",
			newCluster(t).with(shut),
			[]string{"windowShut info cluster: the balancing window 22:00-06:00 UTC is closed; it opens in 10h, at Friday " +
				"22:00"}},
		{"window in an unknown time zone",
			newCluster(t).with(func(c *cluster) { c.Settings.Window = &catalog.Window{Start: 22 * 60, Stop: 6 * 60} }),
			[]string{"windowZoneUnknown info cluster: the balancing window is 22:00-06:00 in an unknown time zone, because the " +
				"config servers' logs do not show it: it may be open now, or open in up to 15h45m"}},
		{"open window",
			newCluster(t).with(func(c *cluster) {
				shut(c)
				c.Settings.Window = &catalog.Window{Start: 11 * 60, Stop: 13 * 60}
			}), nil},
		{"rounds",
			newCluster(t).round(time.Minute).round(2*time.Minute, bson.E{Key: "errorOccurred", Value: true},
				bson.E{Key: "errmsg", Value: "newer"}).
				round(3*time.Minute, bson.E{Key: "errorOccured", Value: true}, bson.E{Key: "errmsg", Value: "older"}),
			[]string{"roundsFailing warning cluster: 2 of the last 3 rounds of the balancer failed: newer"}},

		{"failed migrations", newCluster(t).migrated(time.Minute, "aborted", "").migrated(2*time.Minute, "aborted", "").
			migrated(3*time.Minute, "aborted", "full disk").migrated(time.Minute, "success", "").
			migrated(11*time.Minute, "aborted", ""),
			[]string{
				"migrationsFailing warning shard: migrations from a to b failed in the last 10 minutes: aborted, 2 times",
				"migrationsFailing warning shard: migrations from a to b failed in the last 10 minutes: full disk, once"}},
		{"under way", newCluster(t).with(func(c *cluster) {
			c.Migrations = []catalog.ActiveMigration{{Namespace: "x.y", From: "a", To: "b"}, {Namespace: "x.z"}}
			c.Reshardings = []catalog.ActiveResharding{
				{Namespace: "x.w", Kind: "moveCollection", State: "cloning", TotalBytes: 9},
			}
		}), []string{
			"migrationUnderWay info shard: a chunk of x.y is being moved from a to b",
			"migrationUnderWay info collection: a chunk of x.z is being moved",
			"resharding info collection: moveCollection of x.w is in progress (cloning), 0 B of 9 B copied"}},

		{"held and uneven", newCluster(t).collection("x.y", []string{"a"}, uneven, noBalance), []string{
			`notBalancedHeld warning collection: x.y is not balanced (chunksImbalance), but balancing is ` +
				`disabled for it: sh.enableBalancing("x.y")`}},
		{"held",
			newCluster(t).collection("x.y", []string{"a"}, even, noBalance).
				collection("x.z", []string{"a"}, even, forbidden), []string{
				`balancingOff info collection: balancing is disabled for x.y: sh.enableBalancing("x.y")`,
				`migrationsForbidden info collection: migrations are disabled for x.z: sh.enableMigrations("x.z")`}},
		{"paused by a run that is gone", newCluster(t).collection("x.y", []string{"a"}, even, noBalance).
			collection("x.z", []string{"a"}, uneven, noBalance).collection("x.w", []string{"a"}, even, noBalance).
			pausedBy(false, "x.v", "x.y", "x.z"), []string{
			"leftPaused warning cluster: balancing of x.y, x.z was disabled by a run that is gone: balance shop.*, " +
				"process 42 on ops1: shardsh balance --give-back",
			"notBalancedHeld warning collection: x.z is not balanced (chunksImbalance), but a run of shardsh has its " +
				"balancing disabled: shardsh balance --give-back",
			`balancingOff info collection: balancing is disabled for x.w: sh.enableBalancing("x.w")`}},
		{"paused by a run that is running", newCluster(t).collection("x.y", []string{"a"}, even, noBalance).
			collection("x.z", []string{"a"}, uneven, noBalance).pausedBy(true, "x.y", "x.z"), []string{
			"pausedByRun info cluster: balancing of x.y, x.z is disabled by a run that is running: balance shop.*, " +
				"process 42 on ops1",
			"notBalancedPaused info collection: x.z is not balanced (chunksImbalance), but a run of shardsh has its " +
				"balancing disabled"}},
		{"a run that has paused nothing", newCluster(t).collection("x.y", []string{"a"}, even).pausedBy(false), nil},
		{"no violation named",
			newCluster(t).collection("x.y", []string{"a"},
				func(c *catalog.CollectionState) { c.ReportedStatus = &catalog.ReportedStatus{} }),
			[]string{"notBalanced info collection: x.y is not balanced (the server does not say why)"}},
		{"unknown", newCluster(t).collection("x.y", []string{"a"}, withoutTable), []string{
			"balanceUnknown warning collection: unknown whether x.y is balanced: its chunks were not read"}},
		{"no sizes", newCluster(t).collection("x.y", []string{"a"}), []string{
			"balanceUnknown warning collection: unknown whether x.y is balanced: its data sizes were not read"}},
		{"defragmenting",
			newCluster(t).collection("x.y", []string{"a"}, mergingPhase(3)).
				collection("x.z", []string{"a"}, defragmented),
			[]string{
				"defragmenting info collection: x.y is being defragmented (mergeChunks, 3 chunks left)",
				"defragmentationIdle info collection: x.z is being defragmented (waiting for the balancer)"}},
		{"jumbo", newCluster(t).collection("x.y", []string{"!a", "a", "!b"}, even),
			[]string{`jumboChunks warning collection: x.y has 2 jumbo chunks, which the balancer does not move: ` +
				`sh.chunks("x.y", { jumbo: true })`}},
		{"orphans", newCluster(t).collection("x.y", []string{"a", "b"}, sized(nil), orphaned, even),
			[]string{"orphans info collection: x.y has 7 orphans on 1 shard"}},
		{"unsharded ones are not looked at",
			newCluster(t).collection("x.y", []string{"!a"}, unsplittable, noBalance), nil},

		{"zone without shards", newCluster(t).tag("x.y", "Z", 0, 5),
			[]string{`zoneWithoutShards warning zone: zone Z has ranges but no shard: their chunks do not ` +
				`move: sh.addShardToZone(<shard>, "Z")`}},
		{"zone without ranges", newCluster(t).shard("c", "Z"),
			[]string{"zoneWithoutRanges info zone: zone Z has no range: it has no effect"}},
		{"draining zone", newCluster(t).shard("c", "Z").draining().tag("x.y", "Z", 0, 5), []string{
			`zoneDraining warning zone: zone Z has only shards that are draining: c: sh.addShardToZone(<shard>, "Z")`,
			`onlyShardOfZone warning zone: shard c is the only shard of zone Z, which has ranges of x.y: it can't be removed: ` +
				`sh.addShardToZone(<shard>, "Z")`}},
		{"drained", newCluster(t).shard("c").draining(), []string{
			`drainComplete info shard: shard c is empty and can be removed: sh.drain("c", { remove: true })`}},
		{"overlap",
			newCluster(t).shard("c", "Z").collection("x.y", []string{"c"}, even).tag("x.y", "Z", 0, 5).
				tag("x.y", "Z", 4, 9),
			[]string{`zoneRangesOverlap warning zone: x.y: zone range {"k": 4} to {"k": 9} on Z overlaps the existing ` +
				`{"k": 0} to {"k": 5} on Z: sh.removeRangeFromZone("x.y", {"k": 4}, {"k": 9})`}},

		{"unreachable", newCluster(t).shard("c").change(func(s *catalog.ShardState) { s.Unreachable = "no route" }),
			[]string{"shardUnreachable critical shard: shard c does not answer: no route"}},
		{"draining",
			newCluster(t).shard("c").draining().collection("x.y", []string{"c", "!c", "a"}, reported("draining")),
			[]string{
				`jumboChunks warning collection: x.y has 1 jumbo chunk, which the balancer does not move: sh.chunks("x.y", ` +
					`{ jumbo: true })`,
				`drainNeedsOperator warning shard: shard c is draining; you must move 1 jumbo chunk by force: ` +
					`sh.moveRange("x.y", <shard>, {"k": 0}, {"k": 1}, { forceJumbo: true })`,
				"notBalanced info collection: x.y is not balanced (draining)",
				"draining info shard: shard c is draining, 2 chunks left (1 jumbo)"}},
		{"draining as the server says", newCluster(t).shard("c").draining().change(func(s *catalog.ShardState) {
			s.ReportedDrain = &catalog.ReportedDrain{State: "ongoing", Chunks: 4, Databases: []string{"d"}}
		}), []string{
			`drainNeedsOperator warning shard: shard c is draining; you must move 1 database: ` +
				`sh.movePrimary("d", <shard>)`,
			"draining info shard: shard c is draining, 4 chunks left, databases to move: d"}},
		{"draining with an unknown rest", newCluster(t).shard("c").draining().change(func(s *catalog.ShardState) {
			s.ReportedDrain = &catalog.ReportedDrain{State: "ongoing", Chunks: -1}
		}), []string{"draining info shard: shard c is draining"}},
		{"stuck", newCluster(t).shard("c").draining().collection("x.y", []string{"c", "c"}, even, noBalance).
			collection("x.z", []string{"c"}, unsplittable).
			with(func(c *cluster) { c.Databases = []catalog.Database{{Name: "d", Primary: "c"}} }),
			[]string{
				`drainNeedsOperator warning shard: shard c is stuck draining; you must enable balancing of 1 collection, ` +
					`move 1 unsharded collection, move 1 database: ` +
					`sh.enableBalancing("x.y"), sh.moveCollection("x.z", <shard>), ` +
					`sh.movePrimary("d", <shard>)`,
				`balancingOff info collection: balancing is disabled for x.y: sh.enableBalancing("x.y")`,
				"draining info shard: shard c is draining, 2 chunks left, databases to move: d"}},
	} {
		var got []string
		for _, f := range Diagnose(tc.c.snapshot()).Findings {
			got = append(got, string(f.Code)+" "+f.Severity.String()+" "+string(f.Scope.Kind())+": "+f.Text())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: found\n%s\nwant\n%s", tc.name, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
}

func (c *cluster) with(alter ...func(*cluster)) *cluster {
	for _, f := range alter {
		f(c)
	}
	return c
}

func off(c *cluster) { c.Balancer.Mode, c.Settings.Mode = catalog.ModeOff, catalog.ModeOff }

// TestDefinitions: every code has one, complete; nothing else has.
func TestDefinitions(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[Code]bool{
		BalancerOff: true, WindowShut: true, BalancingOff: true, MigrationsForbidden: true, ChunkOperationsForbidden: true,
		Resharding:        true,
		ZoneWithoutShards: true, UnalignedZones: true, NoSizeEntry: true, NoRecipient: true, ShardAtMaxSize: true,
		LargestOutsideZone: true, OnlyJumboChunks: true, BelowThreshold: true,
		NoChunkInZone: true, NoRoom: true,
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			code := Code(strings.Trim(lit.Value, `"`))
			if codes[code] = true; code.Info().Meaning != "" {
				t.Errorf("%s means something else as a decision", code)
			}
		}
		return true
	})
	last := Critical
	for _, d := range Definitions() {
		if !codes[d.Code] {
			t.Errorf("%s is not a code, or has two definitions", d.Code)
		}
		delete(codes, d.Code)
		if d.Severity == 0 || d.Actor == 0 || d.Meaning == "" || d.Remedy == "" || d.Severity > last {
			t.Errorf("incomplete or out of order: %+v", d)
		}
		last = d.Severity
		if DefinitionOf(d.Code) != d {
			t.Errorf("Define(%s) is %+v", d.Code, DefinitionOf(d.Code))
		}
	}
	for code := range codes {
		t.Errorf("%s has no definition", code)
	}
}

var update = flag.Bool("update", false, "write docs/findings.md again")

const findingsPage = "../../docs/findings.md"

// TestFindingsPage holds docs/findings.md to the table: go test -run
// FindingsPage -update writes it.
func TestFindingsPage(t *testing.T) {
	want := pageOfFindings()
	if *update {
		if err := os.WriteFile(findingsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(findingsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/findings.md is not what the table says: rewrite it with -update")
	}
}

func pageOfFindings() string {
	var own strings.Builder
	shared, kinds := map[string][]string{}, []string(nil)
	for _, d := range Definitions() {
		kind := fmt.Sprintf("%s, %s", d.Severity, d.Actor)
		if slices.ContainsFunc(policy.Codes(), func(i policy.CodeInfo) bool { return i.Code == d.Code }) {
			if shared[kind] == nil {
				kinds = append(kinds, kind)
			}
			shared[kind] = append(shared[kind], fmt.Sprintf("`%s`", d.Code))
		} else {
			remedy := strings.TrimPrefix(strings.TrimPrefix(d.Remedy, "No action needed."), "No action needed: ")
			fmt.Fprintf(&own, "| `%s` | %s | %s | %s |\n", d.Code, kind, d.Meaning, remedy)
		}
	}
	var decisions strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&decisions, "- %s: %s\n", kind, strings.Join(shared[kind], ", "))
	}
	return "# Codes of findings\n\n" +
		"What can be wrong with a cluster, or worth knowing? Codes are stable: scripts may compare with them. A finding can be\n" +
		"milder than it says here, never more severe. Where nothing stands under what to do, no action is needed. Written from\n" +
		"`balancer/diagnosis/codes.go`.\n\n" +
		"| code | severity, who acts | meaning | what to do |\n|---|---|---|---|\n" + own.String() +
		"\n## Codes of decisions\n\n" +
		"These keep the balancer from choosing a move; [codes.md](codes.md) explains them.\n\n" + decisions.String()
}

func TestNumbers(t *testing.T) {
	d := Diagnose(newCluster(t).collection("x.y", []string{"a"}, reported("chunksImbalance"),
		sized(map[catalog.ShardID]int64{"a": 900, "b": 100})).snapshot())
	f := d.FindingsWithCodes(NotBalanced)[0]
	if n, ok := f.Number("misplaced"); !ok || n != 400*mib {
		t.Errorf("misplaced %d %v", n, ok)
	}
	if _, ok := f.Number("other"); ok {
		t.Error("has a number it has not")
	}
	for _, tc := range []struct {
		release catalog.Release
		want    []Number
	}{
		{catalog.Release80, []Number{
			{"misplaced", 400 * mib, Bytes}, {"donor", 900 * mib, Bytes}, {"recipient", 100 * mib, Bytes},
			{"ideal", 500 * mib, Bytes}, {"threshold", 384 * mib, Bytes}}},
		{catalog.Release50, []Number{
			{"misplaced", 400 * mib, Bytes}, {"donor", 4, Count}, {"recipient", 0, Count},
			{"ideal", 2, Count}, {"threshold", 1, Count}}},
	} {
		sizes := sized(map[catalog.ShardID]int64{"a": 900, "b": 100})
		c := newCluster(t).collection("x.y", []string{"a", "a", "a", "a"}, sizes)
		c.Release = tc.release
		if f := Diagnose(c.snapshot()).FindingsWithCodes(NotBalanced)[0]; !slices.Equal(f.Numbers, tc.want) {
			t.Errorf("%s: numbers %v, want %v", tc.release, f.Numbers, tc.want)
		}
	}
}

// TestComputedBalance: without the server's word the rules of the release decide.
func TestComputedBalance(t *testing.T) {
	sizes := sized(map[catalog.ShardID]int64{"a": 900, "b": 0})
	for _, tc := range []struct {
		name    string
		c       *cluster
		release catalog.Release
		want    Balance
	}{
		{"by size", newCluster(t).collection("x.y", []string{"a", "a"}, sizes), catalog.Release80,
			Balance{Violation: "chunksImbalance", ChunkSizeMB: 128}},
		{"by size, with chunks too large to count", newCluster(t).collection("x.y", []string{"a", "a"}, sizes,
			func(c *catalog.CollectionState) { c.MaxChunkSizeBytes = 512 * mib }), catalog.Release80,
			Balance{Balanced: true, ChunkSizeMB: 512}},
		{"by count",
			newCluster(t).collection("x.y", []string{"a", "b"}, sizes), catalog.Release50, Balance{Balanced: true}},
		{"by count, uneven",
			newCluster(t).collection("x.y", []string{"a", "a", "a", "b"}), catalog.Release50,
			Balance{Violation: "chunksImbalance"}},
		{"draining",
			newCluster(t).shard("c").draining().collection("x.y", []string{"c"},
				sized(map[catalog.ShardID]int64{"a": 0, "b": 0, "c": 1})),
			catalog.Release80, Balance{Violation: "draining", ChunkSizeMB: 128}},
	} {
		tc.c.Release = tc.release
		tc.want.Namespace, tc.want.Known, tc.want.Computed, tc.want.Defragmentation.RemainingChunks = "x.y", true, true, -1
		got := Balances(tc.c.snapshot())[0]
		if first := got.FirstMove; (first == nil) != got.Balanced || first != nil && string(first.Reason) == "" {
			t.Errorf("%s: the first move is %+v", tc.name, first)
		}
		got.FirstMove = nil
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// TestGapsOfABalance: what could not be read is why a balance is not known, unless
// it can be told without.
func TestGapsOfABalance(t *testing.T) {
	sizes := sized(map[catalog.ShardID]int64{"a": 1, "b": 1})
	for _, tc := range []struct {
		what  string
		alter []func(*catalog.CollectionState)
		want  string // the reason; empty = known
	}{
		{"zones", []func(*catalog.CollectionState){sizes}, "gap"},
		{"zones", []func(*catalog.CollectionState){reported("")}, ""},
		{"sizes", nil, "gap"},
		{"chunks", []func(*catalog.CollectionState){sizes}, ""},
		{"chunks", []func(*catalog.CollectionState){sizes, withoutTable}, "gap"},
	} {
		c := newCluster(t).collection("x.y", []string{"a"}, tc.alter...)
		c.Source.Gaps = []catalog.Gap{
			{What: tc.what, Namespace: "x.z", Reason: "other"}, {What: tc.what, Namespace: "x.y", Reason: "gap"},
		}
		if b := Balances(c.snapshot())[0]; b.Reason != tc.want || b.Known != (tc.want == "") {
			t.Errorf("without %s: %+v, want the reason %q", tc.what, b, tc.want)
		}
	}
}

func TestMisplaced(t *testing.T) {
	sizes := sized(map[catalog.ShardID]int64{"a": 10, "b": 2, "c": 6})
	zoned := func(c *catalog.CollectionState) {
		c.Zones = catalog.NewZoneSet(c.Pattern)
		all := catalog.ZoneRange{Min: c.Pattern.GlobalMin(), Max: c.Pattern.GlobalMax(), Zone: "Z"}
		if err := c.Zones.Add(all); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		violation string
		alter     []func(*catalog.CollectionState)
		want      int64 // MiB; -1 = not known
	}{
		{"draining", []func(*catalog.CollectionState){sizes}, 6},
		{"chunksImbalance", []func(*catalog.CollectionState){sizes}, 1}, // 18 MiB on the two that stay
		{"chunksImbalance", []func(*catalog.CollectionState){sizes, zoned}, -1},
		{"zoneViolation", []func(*catalog.CollectionState){sizes}, -1},
		{"chunksImbalance", nil, -1},
	} {
		s := newCluster(t).shard("c").draining().collection("x.y", []string{"a"}, tc.alter...).snapshot()
		got, known := MisplacedBytes(s, s.Collection("x.y"), tc.violation)
		if !known {
			got = -mib
		}
		if got != tc.want*mib {
			t.Errorf("%s: %d bytes, want %d MiB", tc.violation, got, tc.want)
		}
	}
	tagged := newCluster(t).collection("x.y", []string{"a"}, sizes).tag("x.y", "Z", 0, 1).snapshot()
	if _, known := MisplacedBytes(tagged, tagged.Collection("x.y"), "chunksImbalance"); known {
		t.Error("zones of an overview are overlooked")
	}
}

// TestOutcomes: of an overview those that were counted, else those of the log.
func TestOutcomes(t *testing.T) {
	c := newCluster(t).migrated(time.Hour, "success", "").migrated(time.Hour, "success", "odd").
		migrated(2*time.Hour, "aborted", "").
		migrated(25*time.Hour, "success", "").migrated(time.Hour, "success", "")
	want := []catalog.MigrationOutcome{
		{Count: 2},
		{Error: "aborted", From: "a", To: "b", Count: 1},
		{Error: "odd", From: "a", To: "b", Count: 1},
	}
	if got := OutcomesSince(c.snapshot(), noon.Add(-24*time.Hour)); !slices.Equal(got, want) {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	c.Outcomes = &catalog.MigrationOutcomes{Counts: want[:1]}
	if got := OutcomesSince(c.snapshot(), noon); !slices.Equal(got, want[:1]) {
		t.Errorf("got %+v, want what the reader counted", got)
	}
}

// TestRounds: the newest five, and of those the newest error.
func TestRounds(t *testing.T) {
	c := newCluster(t)
	for i := range 9 {
		c.round(time.Duration(i)*time.Minute, bson.E{Key: "errorOccured", Value: i >= 4},
			bson.E{Key: "errmsg", Value: "error " + string(rune('0'+i))})
		logged(t, &c.Actions, "other", 0, nil)
	}
	if got := RoundsOf(c.snapshot()); got.Seen != 5 || got.Failed != 1 || got.Message() != "error 4" {
		t.Errorf("rounds %+v, error %s", got, got.Message())
	}
}

// TestZones: those of a ZoneSet go before those of config.tags, which may be
// older.
func TestZones(t *testing.T) {
	c := newCluster(t).shard("c", "Z", "Y").tag("x.y", "Z", 0, 5).tag("other.z", "Z", 0, 5).tag("x.w", "W", 0, 5)
	c.collection("x.y", []string{"a"}, func(c *catalog.CollectionState) { c.Zones = catalog.NewZoneSet(c.Pattern) })
	s := c.snapshot()
	bound := func(n int) bson.Raw { return raw(t, bson.D{{Key: "k", Value: int32(n)}}) }
	want := []Zone{
		{Name: "W", Ranges: []ZoneRange{{"x.w", bound(0), bound(5)}}},
		{Name: "Y", Shards: []catalog.ShardID{"c"}},
		{Name: "Z", Shards: []catalog.ShardID{"c"}, Ranges: []ZoneRange{{"other.z", bound(0), bound(5)}}},
	}
	if got := Zones(s, ""); !reflect.DeepEqual(got, want) {
		t.Errorf("zones %+v", got)
	}
	if got := Zones(s, "x.w"); !reflect.DeepEqual(got, want[:1]) {
		t.Errorf("zones of x.w %+v", got)
	}
}

// randomCluster has some of everything.
func randomCluster(t *rapid.T, tb testing.TB) *cluster {
	c := newCluster(tb)
	ids := []string{"a", "b"}
	for i := range rapid.IntRange(0, 3).Draw(t, "more shards") {
		id := string(rune('c' + i))
		ids = append(ids, id)
		c.shard(catalog.ShardID(id), rapid.SliceOfDistinct(rapid.SampledFrom([]string{"Y",
			"Z"}), rapid.ID).Draw(t, "zones")...)
		if rapid.Bool().Draw(t, "draining") {
			c.draining()
		}
	}
	if rapid.Bool().Draw(t, "off") {
		off(c)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "collections") {
		ns := "x." + string(rune('0'+i))
		owner := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "!"}).Draw(t, "jumbo") + rapid.SampledFrom(ids).Draw(t, "owner")
		})
		changes := []func(*catalog.CollectionState){
			noBalance, forbidden, unsplittable, defragmented, reported("draining"), reported(""), mergingPhase(4),
			sized(map[catalog.ShardID]int64{"a": 900, "b": 1}),
		}
		c.collection(ns, rapid.SliceOfN(owner, 1, 6).Draw(t,
			"chunks"), rapid.SliceOfN(rapid.SampledFrom(changes), 0, 3).Draw(t, "changes")...)
		if rapid.Bool().Draw(t, "zoned") {
			c.tag(ns, rapid.SampledFrom([]string{"X", "Y", "Z"}).Draw(t, "zone"), 0, 2)
		}
	}
	for _, db := range rapid.SliceOfN(rapid.SampledFrom(ids), 0, 3).Draw(t, "primaries") {
		c.Databases = append(c.Databases, catalog.Database{Name: "db" + db, Primary: catalog.ShardID(db)})
	}
	return c
}

// TestFindingsAreWellFormed, of whatever cluster: the gravest first, none graver
// than its definition, one sentence each, something to do for each that waits for
// an operator to act. An operator who has to is named a shard, a collection or a
// command.
func TestFindingsAreWellFormed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := randomCluster(rt, t).snapshot()
		d := Diagnose(s)
		last := Critical
		for _, f := range d.Findings {
			def := DefinitionOf(f.Code)
			if def.Code == "" || f.Severity > def.Severity || f.Severity == 0 || f.Severity > last || f.Actor != def.Actor {
				rt.Errorf("%+v against %+v", f, def)
			}
			last = f.Severity
			if f.Sentence == "" || strings.HasSuffix(f.Sentence, ".") || strings.Contains(f.Sentence, "%!") {
				rt.Errorf("%s says %q", f.Code, f.Sentence)
			}
			if f.Actor == Operator && len(f.Commands) == 0 && f.Code != BalanceUnknown {
				rt.Errorf("%s tells the operator nothing to do: %s", f.Code, f.Text())
			}
		}
		if again := Diagnose(s); !reflect.DeepEqual(again.Findings, d.Findings) {
			rt.Error("a second look finds something else")
		}
		if d.IsBalanced() && len(d.FindingsWithCodes(NotBalanced, Draining, DrainNeedsOperator)) > 0 {
			rt.Errorf("balanced, with %v", d.Findings)
		}
	})
}

// TestOverviewTellsTheSame: chunks that a server counted serve as well as a
// routing table, wherever nothing has to be computed.
func TestOverviewTellsTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		full := randomCluster(rt, t)
		for _, c := range full.Collections {
			if c.ReportedStatus == nil {
				reported("chunksImbalance")(c)
			}
		}
		overview := *full
		overview.Collections = nil
		for _, c := range full.Collections {
			one := *c
			one.Table, one.Counts = nil, map[catalog.ShardID]catalog.ChunkCount{}
			for _, id := range c.Owners() {
				one.Counts[id] = c.CountOn(id)
			}
			overview.Collections = append(overview.Collections, &one)
		}
		want, got := Diagnose(full.snapshot()), Diagnose(overview.snapshot())
		for _, d := range []*Diagnosis{want, got} {
			for i, f := range d.Findings {
				if f.Code == DrainNeedsOperator {
					d.Findings[i].Commands = nil // they name the bounds of jumbo chunks, which only tables have
				}
			}
		}
		if !reflect.DeepEqual(got.Findings, want.Findings) || !reflect.DeepEqual(got.Balances, want.Balances) {
			rt.Errorf("an overview finds\n%+v\nwhat it was made from\n%+v", got.Findings, want.Findings)
		}
	})
}

// What a resharding copies into has migrations disabled and may be uneven: nobody is
// advised to change that.
func TestTemporaryCollectionOfAResharding(t *testing.T) {
	c := newCluster(t)
	c.Collections = append(c.Collections, &catalog.CollectionState{
		Collection:     catalog.Collection{Namespace: "shop.system.resharding.fa431a05-70ec-41f3-84f7-b82fc61544d5"},
		ReportedStatus: &catalog.ReportedStatus{Violation: "chunksImbalance"},
	})
	d := Diagnose(catalog.NewSnapshot(c.SnapshotParts))
	if len(d.Findings)+len(d.Balances) > 0 {
		t.Errorf("%+v, %+v", d.Findings, d.Balances)
	}
}
