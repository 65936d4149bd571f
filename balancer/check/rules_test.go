package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const gib = 1 << 30

// cluster is a Snapshot in the making, and what else a check was told.
type cluster struct {
	catalog.SnapshotParts
	found     []catalog.Inconsistency
	unasked   string
	audited   *check.AuditSummary
	unaudited string
	refused   string
}

// coll makes a balanced collection with two chunks and a GiB on each of a and b.
func coll(ns string, change ...func(*catalog.CollectionState)) *catalog.CollectionState {
	c := &catalog.CollectionState{
		Collection:     catalog.Collection{Namespace: ns, AllowMigrations: true, PermitMigrations: true},
		Counts:         map[catalog.ShardID]catalog.ChunkCount{"a": {Chunks: 2}, "b": {Chunks: 2}},
		Sizes:          map[catalog.ShardID]catalog.ShardData{"a": {Bytes: gib}, "b": {Bytes: gib}},
		ReportedStatus: &catalog.ReportedStatus{Compliant: true, ChunkSizeMB: 128},
	}
	for _, alter := range change {
		alter(c)
	}
	return c
}

func violates(what string) func(*catalog.CollectionState) {
	return func(c *catalog.CollectionState) { c.ReportedStatus = &catalog.ReportedStatus{Violation: what} }
}

func bytesOn(a, b int64) func(*catalog.CollectionState) {
	return func(c *catalog.CollectionState) {
		c.Sizes = map[catalog.ShardID]catalog.ShardData{"a": {Bytes: a}, "b": {Bytes: b}}
	}
}

func raw(t *testing.T, v any) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func newCluster(colls ...*catalog.CollectionState) *cluster {
	c := &cluster{}
	c.Time, c.Settings, c.Collections = noon, catalog.DefaultSettings(), colls
	c.Release, c.Version = catalog.Release80, "8.0.23"
	c.Balancer.Mode = catalog.ModeFull
	c.Config = map[string][]bson.Raw{}
	c.Outcomes = &catalog.MigrationOutcomes{}
	c.Source.Kind = catalog.SourceLive
	for _, id := range []catalog.ShardID{"a", "b"} {
		c.Shards = append(c.Shards, catalog.ShardState{Shard: catalog.Shard{ID: id, Host: "rs/h"}})
	}
	return c
}

// with changes the parts of a cluster.
func (c *cluster) with(change func(*catalog.SnapshotParts)) *cluster {
	change(&c.SnapshotParts)
	return c
}

func (c *cluster) gap(what, ns string) *cluster {
	c.Source.Gaps = append(c.Source.Gaps, catalog.Gap{What: what, Namespace: ns, Reason: "not allowed"})
	return c
}

func (c *cluster) draining(id catalog.ShardID) *cluster {
	for i := range c.Shards {
		c.Shards[i].Draining = c.Shards[i].Draining || c.Shards[i].ID == id
	}
	return c
}

func (c *cluster) report(p *check.Policy) check.Report {
	of := check.Cluster{Diagnosis: diagnosis.Diagnose(catalog.NewSnapshot(c.SnapshotParts)), Inconsistencies: c.found,
		MetadataUnsupported: c.unasked, MetadataError: c.refused, Audit: c.audited, NotAuditedReason: c.unaudited}
	return p.Check("h:27017", of)
}

// policy has one rule hold, as options would say: a threshold, and work to allow.
func policy(t *testing.T, rule, limit string, allow ...string) *check.Policy {
	t.Helper()
	p := check.Default()
	if err := p.EnableOnly([]string{rule}); err != nil {
		t.Fatal(err)
	}
	choice, err := p.Choice(rule)
	if err == nil && limit != "" {
		err = choice.SetMax(limit)
	}
	if err == nil {
		err = p.SetAllow(allow)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shownAs is a report in short: the status, and a line for each finding with what it is
// about, its number and its excuse.
func shownAs(r check.Report) string {
	lines := []string{string(r.Status())}
	for _, f := range r.Result.Findings {
		line := f.Severity.String()
		if f.Unknown {
			line = "unknown"
		}
		if about := f.About.Namespace + string(f.About.Shard) + f.About.Zone; about != "" {
			line += " " + about
		}
		if f.Number != nil {
			line += " " + f.Number.String()
		}
		if f.Excuse != "" {
			line += " (" + f.Excuse + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

type ruleCase struct {
	name  string
	rule  string
	max   string
	allow []string
	of    *cluster
	want  string
}

// TestRules: each rule fires, does not, is right at its threshold, is excused, and
// says when it does not know.
func TestRules(t *testing.T) {
	var all []ruleCase
	for _, list := range [][]ruleCase{balancerCases(t), shardCases(t), balanceCases(), sizeCases(t), otherCases(), diskCases(), auditCases()} {
		all = append(all, list...)
	}
	tested := map[string]bool{}
	for _, c := range all {
		tested[c.rule] = true
		t.Run(c.rule+": "+c.name, func(t *testing.T) {
			r := c.of.report(policy(t, c.rule, c.max, c.allow...))
			if got := shownAs(r); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			for _, f := range r.Result.Findings {
				if f.Rule != c.rule || f.Sentence == "" || strings.HasSuffix(f.Sentence, ".") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
	for _, name := range check.RuleNames() {
		if !tested[name] {
			t.Errorf("no case for the rule %s", name)
		}
	}
}

func balancerCases(t *testing.T) []ruleCase {
	off := func(last *catalog.Switch) *cluster {
		return newCluster().with(func(p *catalog.SnapshotParts) {
			p.Balancer.Mode, p.Balancer.Switched = catalog.ModeOff, last
		})
	}
	before := func(ago time.Duration) *cluster { return off(&catalog.Switch{Time: noon.Add(-ago)}) }
	rounds := func(failed int) *cluster {
		return newCluster().with(func(p *catalog.SnapshotParts) {
			for i := range 5 {
				p.Actions = append(p.Actions, catalog.LogEntry{Time: noon, What: "balancer.round",
					Raw: raw(t, bson.D{{Key: "details", Value: bson.D{{Key: "errorOccurred", Value: i < failed}}}})})
			}
		})
	}
	moves := func(list ...catalog.MigrationOutcome) *cluster {
		return newCluster().with(func(p *catalog.SnapshotParts) { p.Outcomes.Counts = list })
	}
	return []ruleCase{
		{"on", "balancer", "", nil, newCluster(), "passed"},
		{"off for two hours", "balancer", "", nil, before(2 * time.Hour), "failed; warning 2h"},
		{"off for less", "balancer", "3h", nil, before(2 * time.Hour), "passed"},
		{"off for just so long", "balancer", "2h", nil, before(2 * time.Hour), "passed"},
		{"off since nobody knows when", "balancer", "24h", nil, off(nil), "failed; warning"},
		{"turned off by hand after a start", "balancer", "24h", nil, off(&catalog.Switch{Time: noon, On: true}),
			"failed; warning"},
		{"settings nobody can read", "balancer", "24h", nil,
			newCluster().with(func(p *catalog.SnapshotParts) { p.SettingsProblem = "a field" }), "failed; warning"},
		{"not allowed", "balancer", "", nil, newCluster().gap("balancer", "").gap("settings", "").with(
			func(p *catalog.SnapshotParts) { p.Balancer.Mode, p.Settings.Mode = "", "" }), "unknown; unknown"},

		{"none failed", "rounds", "", nil, rounds(0), "passed"},
		{"one failed", "rounds", "", nil, rounds(1), "failed; warning 1"},
		{"two failed, two are fine", "rounds", "2", nil, rounds(2), "passed"},
		{"not allowed", "rounds", "", nil, rounds(0).gap("actionlog", ""), "unknown; unknown"},

		{"all succeeded", "moves", "", nil, moves(catalog.MigrationOutcome{Count: 7}), "passed"},
		{"one failed", "moves", "", nil, moves(catalog.MigrationOutcome{Error: "x", From: "a", To: "b", Count: 1}),
			"failed; warning a 1"},
		{"by pairs of shards", "moves", "3", nil, moves(catalog.MigrationOutcome{Error: "x", From: "a", To: "b", Count: 2},
			catalog.MigrationOutcome{Error: "y", From: "a", To: "b", Count: 2},
			catalog.MigrationOutcome{Error: "x", From: "b", To: "a", Count: 3}),
			"failed; warning a 4"},
		{"not allowed", "moves", "", nil, moves().gap("changelog", ""), "unknown; unknown"},
	}
}

func shardCases(t *testing.T) []ruleCase {
	down := newCluster()
	down.Shards[1].Unreachable = "no answer"
	file := newCluster().with(func(p *catalog.SnapshotParts) { p.Source.Kind = catalog.SourceFile })
	empty := func(c *catalog.CollectionState) { c.Counts = map[catalog.ShardID]catalog.ChunkCount{"b": {Chunks: 4}} }
	jumbo := func(n int64) func(c *catalog.CollectionState) {
		return func(c *catalog.CollectionState) { c.Counts["a"] = catalog.ChunkCount{Chunks: 2, Jumbo: n} }
	}
	primary := func(p *catalog.SnapshotParts) { p.Databases = []catalog.Database{{Name: "x", Primary: "a"}} }
	zone := func(name string) func(*catalog.SnapshotParts) {
		return func(p *catalog.SnapshotParts) {
			p.Config["tags"] = []bson.Raw{raw(t, bson.D{{Key: "ns", Value: "x.y"}, {Key: "tag", Value: name},
				{Key: "min", Value: bson.D{{Key: "k", Value: 0}}}, {Key: "max", Value: bson.D{{Key: "k", Value: 5}}}})}
		}
	}
	early := func(p *catalog.SnapshotParts) {
		p.Config["tags"] = []bson.Raw{raw(t, bson.D{{Key: "ns", Value: "x.y"}, {Key: "tag", Value: "EU"},
			{Key: "min", Value: bson.D{{Key: "k", Value: 0}, {Key: "j", Value: bson.MinKey{}}}},
			{Key: "max", Value: bson.D{{Key: "k", Value: bson.MaxKey{}}, {Key: "j", Value: bson.MinKey{}}}}})}
	}
	inZone := func(p *catalog.SnapshotParts) { p.Shards[0].Zones = []string{"EU"} }
	return []ruleCase{
		{"all answer", "shards", "", nil, newCluster(), "passed"},
		{"one does not", "shards", "", nil, down, "failed; critical b"},
		{"a file does not tell", "shards", "", nil, file, "unknown; unknown"},
		{"not allowed", "shards", "", nil, newCluster().gap("reach", ""), "unknown; unknown"},

		{"under way", "draining", "", nil, newCluster(coll("x.y")).draining("a"), "passed"},
		{"under way and allowed", "draining", "", []string{"draining"}, newCluster(coll("x.y")).draining("a"),
			"passed; info a (draining is allowed)"},
		{"a database is left", "draining", "", nil, newCluster(coll("x.y", empty)).draining("a").with(primary),
			"failed; warning a"},
		{"stuck although allowed", "draining", "", []string{"draining"},
			newCluster(coll("x.y", empty)).draining("a").with(primary), "failed; warning a"},
		{"only jumbo chunks are left", "draining", "", nil, newCluster(coll("x.y", jumbo(2))).draining("a"),
			"failed; warning a"},
		{"one jumbo chunk of two", "draining", "", nil, newCluster(coll("x.y", jumbo(1))).draining("a"), "passed"},
		{"empty", "draining", "", nil, newCluster(coll("x.y", empty)).draining("a"), "passed; info a"},
		{"not allowed", "draining", "", nil, newCluster().gap("chunks", ""), "unknown; unknown"},

		{"a shard for each", "zones", "", nil, newCluster(coll("x.y")).with(zone("EU")).with(inZone), "passed"},
		{"no shard", "zones", "", nil, newCluster(coll("x.y")).with(zone("US")).with(inZone), "failed; warning US"},
		{"all draining", "zones", "", nil, newCluster(coll("x.y")).with(zone("EU")).with(inZone).draining("a"),
			"failed; warning EU"},
		{"an end before MaxKey", "zones", "", nil, newCluster(coll("x.y")).with(zone("EU")).with(inZone).with(early),
			"failed; warning x.yEU"},
		{"not allowed", "zones", "", nil, newCluster().gap("tags", ""), "unknown; unknown"},

		{"just as many", "chunks", "2", nil, newCluster(coll("x.y")), "passed"},
		{"too many of two collections", "chunks", "3", nil, newCluster(coll("x.y"), coll("x.z")),
			"failed; warning a 4; warning b 4"},
		{"not allowed", "chunks", "", nil, newCluster().gap("chunks", ""), "unknown; unknown"},
	}
}

func balanceCases() []ruleCase {
	held := func(c *catalog.CollectionState) { c.NoBalance = true }
	unknown := func(c *catalog.CollectionState) { c.ReportedStatus = nil }
	uncounted := func(c *catalog.CollectionState) { c.Counts = nil }
	jumbo := func(n int64) func(c *catalog.CollectionState) {
		return func(c *catalog.CollectionState) { c.Counts["b"] = catalog.ChunkCount{Chunks: 9, Jumbo: n} }
	}
	resharding := func(p *catalog.SnapshotParts) {
		p.Reshardings = []catalog.ActiveResharding{{Namespace: "x.y", Kind: "reshardCollection"}}
	}
	uneven := violates("chunksImbalance")
	return []ruleCase{
		{"balanced", "compliant", "", nil, newCluster(coll("x.y")), "passed"},
		{"not balanced", "compliant", "", nil, newCluster(coll("x.y"), coll("x.z", uneven)), "failed; warning x.z"},
		{"switched off", "compliant", "", nil, newCluster(coll("x.z", uneven, held)),
			"passed; warning x.z (balancing is disabled)"},
		{"draining", "compliant", "", nil, newCluster(coll("x.y", violates("draining"))).draining("a"),
			"failed; warning x.y"},
		{"draining is allowed", "compliant", "", []string{"draining"},
			newCluster(coll("x.y", violates("draining"))).draining("a"), "passed; warning x.y (draining is allowed)"},
		{"another work is allowed", "compliant", "", []string{"resharding", "defragmenting"},
			newCluster(coll("x.y", violates("draining"))).draining("a"), "failed; warning x.y"},
		{"allowed, and nothing drains", "compliant", "", []string{"draining"}, newCluster(coll("x.y", uneven)),
			"failed; warning x.y"},
		{"defragmenting is allowed", "compliant", "", []string{"defragmenting"},
			newCluster(coll("x.y", violates("defragmentingChunks"))), "passed; warning x.y (defragmenting is allowed)"},
		{"resharding is allowed", "compliant", "", []string{"resharding"}, newCluster(coll("x.y", uneven)).with(resharding),
			"passed; warning x.y (resharding is allowed)"},
		{"the resharding of another", "compliant", "", []string{"resharding"},
			newCluster(coll("x.z", uneven)).with(resharding), "failed; warning x.z"},
		{"not allowed to ask, and its shares are even", "compliant", "", nil,
			newCluster(coll("x.y", unknown)).gap("balance", "x.y"), "passed"},
		{"not allowed to ask, and its shares differ", "compliant", "", nil,
			newCluster(coll("x.y", unknown, bytesOn(3*gib, gib))).gap("balance", "x.y"), "unknown; unknown x.y"},
		{"not allowed to ask nor to count", "compliant", "", nil,
			newCluster(coll("x.y", unknown, uncounted)).gap("balance", "x.y"), "unknown; unknown x.y"},

		{"none", "jumbo", "", nil, newCluster(coll("x.y")), "passed"},
		{"one", "jumbo", "", nil, newCluster(coll("x.y", jumbo(1))), "failed; warning x.y 1"},
		{"just as many", "jumbo", "3", nil, newCluster(coll("x.y", jumbo(3))), "passed"},
		{"one more", "jumbo", "3", nil, newCluster(coll("x.y", jumbo(4))), "failed; warning x.y 4"},
		{"switched off", "jumbo", "", nil, newCluster(coll("x.y", jumbo(1), held)),
			"passed; warning x.y 1 (balancing is disabled)"},
		{"not allowed", "jumbo", "", nil, newCluster().gap("chunks", ""), "unknown; unknown"},

		{"one", "collections", "", nil, newCluster(coll("x.y")), "passed"},
		{"none", "collections", "", nil, newCluster(), "failed; critical"},
	}
}

func sizeCases(t *testing.T) []ruleCase {
	orphans := func(c *catalog.CollectionState) {
		c.Sizes["a"] = catalog.ShardData{Bytes: gib, Orphans: 60}
		c.Sizes["b"] = catalog.ShardData{Bytes: gib, Orphans: 40}
	}
	chunks := func(n int64) func(c *catalog.CollectionState) {
		return func(c *catalog.CollectionState) { c.Counts["a"] = catalog.ChunkCount{Chunks: n} }
	}
	zoned := func(p *catalog.SnapshotParts) {
		p.Config["tags"] = []bson.Raw{raw(t, bson.D{{Key: "ns", Value: "x.y"}, {Key: "tag", Value: "EU"}})}
	}
	held := func(c *catalog.CollectionState) { c.NoBalance = true }
	// 3 GiB on a and 1 on b: a is 1 GiB, half of its share, above it.
	half := bytesOn(3*gib, gib)
	return []ruleCase{
		{"just as many", "orphans", "100", nil, newCluster(coll("x.y", orphans)), "passed"},
		{"one more", "orphans", "99", nil, newCluster(coll("x.y", orphans)), "failed; warning x.y 100"},
		{"not allowed", "orphans", "", nil, newCluster(coll("x.y")).gap("sizes", ""), "unknown; unknown"},
		{"not of one", "orphans", "", nil, newCluster(coll("x.y")).gap("sizes", "x.y"), "unknown; unknown x.y"},

		{"even", "uneven", "0%", nil, newCluster(coll("x.y")), "passed"},
		{"just so far", "uneven", "50%", nil, newCluster(coll("x.y", half)), "passed"},
		{"further", "uneven", "49.9%", nil, newCluster(coll("x.y", half)), "failed; warning x.ya 50%"},
		{"just so many bytes", "uneven", "1GiB", nil, newCluster(coll("x.y", half)), "passed"},
		{"more bytes", "uneven", "1023MiB", nil, newCluster(coll("x.y", half)), "failed; warning x.ya 1 GiB"},
		{"too little to move", "uneven", "10%", nil, newCluster(coll("x.y", bytesOn(gib/2, 0))), "passed"},
		{"as little as the balancer moves", "uneven", "10%", nil, newCluster(coll("x.y", bytesOn(3*gib/4, 0))),
			"failed; warning x.ya 100%"},
		{"with zones", "uneven", "10%", nil, newCluster(coll("x.y", half)).with(zoned), "passed"},
		{"switched off", "uneven", "10%", nil, newCluster(coll("x.y", half, held)),
			"passed; warning x.ya 50% (balancing is disabled)"},
		{"what drains is others' share", "uneven", "20%", nil, newCluster(coll("x.y", half)).draining("b"),
			"failed; warning x.ya 25%"},
		{"draining is allowed", "uneven", "20%", []string{"draining"}, newCluster(coll("x.y", half)).draining("b"),
			"passed; warning x.ya 25% (draining is allowed)"},
		{"not allowed", "uneven", "", nil, newCluster(coll("x.y")).gap("sizes", ""), "unknown; unknown"},

		// 2 GiB fill 16 chunks of 128 MiB, and there are two shards: 18 are needed.
		{"few", "fragmentation", "0%", nil, newCluster(coll("x.y", chunks(36))), "passed"},
		{"many", "fragmentation", "50%", nil, newCluster(coll("x.y", chunks(70))), "failed; warning x.y 75%"},
		{"the server's own", "fragmentation", "50%", nil, newCluster(coll("config.system.sessions", chunks(512))), "passed"},
		{"just as many", "fragmentation", "75%", nil, newCluster(coll("x.y", chunks(70))), "passed"},
		{"not allowed", "fragmentation", "", nil, newCluster(coll("x.y")).gap("sizes", ""), "unknown; unknown"},
		{"not allowed to count", "fragmentation", "", nil, newCluster(coll("x.y")).gap("chunks", ""), "unknown; unknown"},
	}
}

func otherCases() []ruleCase {
	routers := func(versions ...string) *cluster {
		return newCluster().with(func(p *catalog.SnapshotParts) {
			for i, v := range versions {
				p.Routers = append(p.Routers, catalog.Router{ID: fmt.Sprint(i), Version: v,
					Ping: noon.Add(-time.Duration(i) * 6 * time.Minute)})
			}
		})
	}
	members := func(versions ...string) *cluster {
		return newCluster().with(func(p *catalog.SnapshotParts) {
			for i, v := range versions {
				p.Members = append(p.Members, catalog.Member{Shard: "a", Host: fmt.Sprint("h", i), Version: v})
			}
		})
	}
	ofVersion := func(version string) *cluster {
		return newCluster().with(func(p *catalog.SnapshotParts) { p.Version = version })
	}
	bad := newCluster(coll("x.y"), coll("x.z"))
	for range 3 {
		bad.found = append(bad.found, catalog.Inconsistency{Type: "MisplacedCollection", Namespace: "x.y", Shard: "a"})
	}
	old := newCluster()
	old.unasked = "a file does not tell"
	refused := newCluster()
	refused.refused = "not allowed"
	paused := func(running bool) *cluster {
		off := coll("x.y")
		off.NoBalance = true
		return newCluster(off).with(func(p *catalog.SnapshotParts) {
			p.Lease = &catalog.Lease{Doing: "balance", Host: "h", Running: running, PausedCollections: []string{"x.y"}}
		})
	}
	return []ruleCase{
		{"nothing", "paused", "", nil, newCluster(), "passed"},
		{"by a run that is running", "paused", "", nil, paused(true), "passed"},
		{"by a run that is gone", "paused", "", nil, paused(false), "failed; warning"},
		{"not read", "paused", "", nil, newCluster().gap("lease", ""), "unknown; unknown"},

		{"equal", "versions", "", nil, routers("8.0.10", "8.0.10"), "passed"},
		{"another patch", "versions", "", nil, routers("8.0.10", "8.0.12"), "failed; warning"},
		{"one that is gone", "versions", "", nil, routers("8.0.10", "8.0.10", "7.0.1"), "passed"},
		{"not allowed", "versions", "", nil, newCluster().gap("mongos", ""), "unknown; unknown"},
		{"members alone", "versions", "", nil, members("8.0.20", "8.0.20", "").gap("mongos", ""), "passed"},
		{"members that differ", "versions", "", nil, members("8.0.20", "8.0.23"), "failed; warning"},
		{"members that nobody reaches", "versions", "", nil, members("", "").gap("mongos", ""), "unknown; unknown"},
		{"members before routers", "versions", "", nil, members("8.2.6", "8.2.6").with(func(p *catalog.SnapshotParts) {
			p.Routers = []catalog.Router{{ID: "r", Version: "8.0.20", Ping: noon}}
		}), "failed; warning"},

		{"consistent", "metadata", "", nil, newCluster(), "passed"},
		{"not consistent", "metadata", "", nil, bad, "failed; critical x.ya 3"},
		{"as many as may be", "metadata", "3", nil, bad, "passed"},
		{"not asked", "metadata", "", nil, old, "unknown; unknown"},
		{"not allowed", "metadata", "", nil, refused, "unknown; unknown"},

		{"no known fault", "advisories", "", nil, newCluster(), "passed"},
		{"a version with one", "advisories", "", nil, ofVersion("8.0.22"), "failed; critical"},
		{"one of an old router", "advisories", "", nil, routers("8.0.23", "8.0.22"), "failed; critical"},
		{"a version that is not recorded", "advisories", "", nil, ofVersion(""), "unknown; unknown"},

		{"no window", "window", "", nil, newCluster(coll("x.y")), "passed"},
		{"no settings", "window", "", nil, newCluster(coll("x.y")).gap("settings", ""), "unknown; unknown"},
	}
}

// TestSilentSources: what no source of a kind can tell does not matter for those who did
// not ask for this very rule.
func TestSilentSources(t *testing.T) {
	file := newCluster().with(func(p *catalog.SnapshotParts) { p.Source.Kind = catalog.SourceFile })
	file.unasked = "a file does not tell"
	refused := newCluster()
	refused.refused = "not allowed"
	all := check.Default()
	if err := all.EnableOnly([]string{"all"}); err != nil || refused.report(all).Status() != check.Unknown {
		t.Errorf("%v, or what was refused counts as well", err)
	}
	for words, want := range map[string]string{
		"all": "passed", "usual": "passed", "usual,metadata": "unknown", "shards": "unknown", "jumbo": "passed",
	} {
		p := check.Default()
		if err := p.EnableOnly(strings.Split(words, ",")); err != nil {
			t.Fatal(err)
		}
		if got := file.report(p).Status(); string(got) != want {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
}

// The severity of the rule is the most that one of its findings has.
func TestSeverityOfAdvisories(t *testing.T) {
	old := newCluster().with(func(p *catalog.SnapshotParts) { p.Version = "8.0.22" })
	p := policy(t, "advisories", "")
	choice, err := p.Choice("advisories")
	if err != nil {
		t.Fatal(err)
	}
	choice.Severity = diagnosis.Info
	if got := shownAs(old.report(p)); got != "passed; info" {
		t.Error(got)
	}
}

// The helper that merges chunks is one that the release has.
func TestHelperOfFragmentation(t *testing.T) {
	for release, want := range map[catalog.Release]string{
		catalog.Release50: `sh.defragment("x.y", { pauseBalancing: true })`, catalog.Release80: `sh.defragment("x.y")`,
	} {
		c := newCluster(coll("x.y", func(c *catalog.CollectionState) {
			c.Counts = map[catalog.ShardID]catalog.ChunkCount{"a": {Chunks: 70}, "b": {Chunks: 70}}
		}))
		c.Release = release
		p := check.Default()
		if err := p.EnableOnly([]string{"fragmentation"}); err != nil {
			t.Fatal(err)
		}
		report := p.Check("", check.Cluster{Diagnosis: diagnosis.Diagnose(catalog.NewSnapshot(c.SnapshotParts))})
		if f := report.Result.FailingFindings(); len(f) != 1 || len(f[0].Commands) != 1 || f[0].Commands[0] != want {
			t.Errorf("%s: %+v", release, f)
		}
	}
}
