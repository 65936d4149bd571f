package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diff"
)

// made is a way to change a cluster, by commands, and the changes that this is: their kinds
// and what they are about.
type made struct {
	name string
	do   func(w *world)
	want []string
}

// commands are made on the cluster. Each is independent of the others.
func commands() []made {
	maxKey := bson.MaxKey{}
	configure := func(collection, option string, value any) func(*world) {
		return func(w *world) {
			w.admin("configureCollectionBalancing", "app."+collection, e(option, value))
		}
	}
	bounds := func(a, b any) bson.E { return e("bounds", bson.A{x(a), x(b)}) }
	return []made{
		{"addShard", func(w *world) { w.admin("addShard", "rs9/h9:27018", e("name", "s9")) }, []string{"shard-added s9"}},
		{"removeShard", func(w *world) { w.admin("removeShard", "s3") }, []string{"draining-started s3"}},
		{"removeShard, empty", func(w *world) { w.admin("removeShard", "s6") }, []string{"shard-removed s6"}},
		{"stop draining", func(w *world) {
			w.run("config", "update", "shards", e("updates", bson.A{bson.D{e("q", bson.D{e("_id", "s4")}),
				e("u", bson.D{e("$unset", bson.D{e("draining", true)})})}}))
		}, []string{"draining-stopped s4"}},
		{"addShardToZone", func(w *world) { w.admin("addShardToZone", "s5", e("zone", "ASIA")) }, []string{"zone-shard-added s5 ASIA"}},
		{"removeShardFromZone", func(w *world) { w.admin("removeShardFromZone", "s2", e("zone", "OLD")) },
			[]string{"zone-shard-removed s2 OLD"}},
		{"updateZoneKeyRange", func(w *world) {
			w.admin("updateZoneKeyRange", "app.zoned", e("min", x(100)), e("max", x(maxKey)), e("zone", "US"))
		}, []string{"zone-range-added app.zoned US"}},
		{"updateZoneKeyRange, null", func(w *world) {
			w.admin("updateZoneKeyRange", "app.zoned", e("min", x(50)), e("max", x(70)), e("zone", nil))
		}, []string{"zone-range-removed app.zoned US"}},
		{"another zone", func(w *world) {
			w.admin("updateZoneKeyRange", "app.zoned", e("min", x(0)), e("max", x(5)), e("zone", nil))
			w.admin("updateZoneKeyRange", "app.zoned", e("min", x(0)), e("max", x(5)), e("zone", "US"))
		}, []string{"zone-range-changed app.zoned US"}},

		{"window", func(w *world) {
			w.setting("balancer", bson.D{e("activeWindow", bson.D{e("start", "22:00"), e("stop", "6:00")})})
		}, []string{"window"}},
		{"chunk size", func(w *world) { w.setting("chunksize", bson.D{e("value", 64)}) }, []string{"chunk-size"}},
		{"auto-merger", func(w *world) { w.setting("automerge", bson.D{e("enabled", false)}) }, []string{"auto-merge"}},
		{"secondary throttle", func(w *world) { w.setting("balancer", bson.D{e("_secondaryThrottle", true)}) }, []string{"throttle"}},
		{"wait for delete", func(w *world) { w.setting("balancer", bson.D{e("_waitForDelete", true)}) }, []string{"wait-for-delete"}},
		{"jumbo chunks", func(w *world) { w.setting("balancer", bson.D{e("attemptToBalanceJumboChunks", true)}) },
			[]string{"attempt-jumbo"}},
		// balancerStart would switch the auto-merger on as well.
		{"balancer", func(w *world) { w.setting("balancer", bson.D{e("mode", "full")}) }, []string{"balancer"}},
		{"fcv", func(w *world) { w.admin("setFeatureCompatibilityVersion", "7.0", e("confirm", true)) }, []string{"fcv"}},

		{"enableSharding", func(w *world) { w.admin("enableSharding", "fresh", e("primaryShard", "s1")) }, []string{"database-added fresh"}},
		{"dropDatabase", func(w *world) { w.run("gone", "dropDatabase", 1) }, []string{"database-dropped gone"}},
		{"movePrimary", func(w *world) { w.admin("movePrimary", "moving", e("to", "s1")) }, []string{"primary-moved moving"}},

		{"shardCollection", func(w *world) { w.admin("shardCollection", "app.toshard", e("key", x(1))) }, []string{"sharded app.toshard"}},
		{"shardCollection, unique", func(w *world) { w.admin("shardCollection", "app.new", e("key", x(1)), e("unique", true)) },
			[]string{"sharded app.new"}},
		{"drop", func(w *world) { w.run("app", "drop", "dropped") }, []string{"dropped app.dropped"}},
		{"renameCollection", func(w *world) { w.admin("renameCollection", "app.renamed", e("to", "app.other")) },
			[]string{"renamed app.other"}},
		{"refineCollectionShardKey", func(w *world) {
			w.run("app", "createIndexes", "refined", e("indexes", bson.A{bson.D{e("key", bson.D{e("x", 1), e("y", 1)}), e("name", "xy")}}))
			w.admin("refineCollectionShardKey", "app.refined", e("key", bson.D{e("x", 1), e("y", 1)}))
		}, []string{"key-refined app.refined"}},
		{"reshardCollection", func(w *world) {
			w.admin("reshardCollection", "app.resharded", e("key", bson.D{e("y", 1)}), e("numInitialChunks", 1))
		},
			[]string{"resharded app.resharded"}},
		{"drop, shardCollection", func(w *world) {
			w.run("app", "drop", "recreated")
			w.admin("shardCollection", "app.recreated", e("key", x(1)))
		}, []string{"recreated app.recreated"}},
		{"unshardCollection", func(w *world) { w.admin("unshardCollection", "app.unsharded", e("toShard", "s1")) },
			[]string{"unsharded app.unsharded"}},
		{"moveCollection", func(w *world) { w.admin("moveCollection", "app.plain", e("toShard", "s1")) },
			[]string{"collection-moved app.plain"}},
		{"createCollection, moved", func(w *world) {
			w.run("app", "create", "fresh")
			w.admin("moveCollection", "app.fresh", e("toShard", "s1"))
		}, []string{"tracked app.fresh"}},
		{"chunk size of a collection", configure("sized", "chunkSize", 32), []string{"collection-chunk-size app.sized"}},
		{"disableBalancing", configure("balanced", "enableBalancing", false), []string{"balancing-off app.balanced"}},
		{"enableBalancing", configure("unbalanced", "enableBalancing", true), []string{"balancing-on app.unbalanced"}},
		{"auto-merger of a collection", configure("merging", "enableAutoMerger", false), []string{"collection-auto-merge app.merging"}},
		{"defragmentCollection", configure("defragmented", "defragmentCollection", true),
			[]string{"defragmentation-started app.defragmented"}},

		{"moveChunk", func(w *world) { w.admin("moveChunk", "app.moved", e("find", x(15)), e("to", "s5")) },
			[]string{"chunks-moved app.moved 1"}},
		{"moveRange with a split", func(w *world) {
			w.admin("moveRange", "app.moverange", e("min", x(12)), e("max", x(20)), e("toShard", "s5"))
		}, []string{"chunks-moved app.moverange 1", "chunks-split app.moverange 1"}},
		{"split", func(w *world) {
			w.admin("split", "app.split", e("middle", x(15)))
			w.admin("split", "app.split", e("middle", x(17)))
		}, []string{"chunks-split app.split 2"}},
		{"mergeChunks", func(w *world) { w.admin("mergeChunks", "app.merged", bounds(10, 30)) }, []string{"chunks-merged app.merged 1"}},
		{"jumbo", func(w *world) {
			w.run("config", "update", "chunks", e("updates", bson.A{bson.D{e("q", bson.D{e("uuid", uuidOf(w, "app.jumbo")), e("min", x(10))}),
				e("u", bson.D{e("$set", bson.D{e("jumbo", true)})})}}))
		}, []string{"jumbo-set app.jumbo 1"}},
		{"clearJumboFlag", func(w *world) { w.admin("clearJumboFlag", "app.flagged", e("find", x(1))) },
			[]string{"jumbo-cleared app.flagged 1"}},
		{"nothing", func(w *world) {
			w.admin("split", "app.still", e("middle", x(15)))
			w.admin("mergeChunks", "app.still", bounds(10, 20))
		}, nil},
	}
}

func uuidOf(w *world, ns string) bson.Binary {
	var doc struct {
		UUID bson.Binary `bson:"uuid"`
	}
	if err := w.client.Database("config").Collection("collections").FindOne(t0(), bson.D{e("_id", ns)}).Decode(&doc); err != nil {
		w.t.Fatalf("%v", err)
	}
	return doc.UUID
}

// edits are changes that no command of the mock makes: those of processes and of what
// shardsh itself notes.
func edits() []edit {
	return []edit{
		{"another cluster", func(p *catalog.SnapshotParts) { p.ClusterID[0]++ }, "other-cluster"},
		{"router's version", func(p *catalog.SnapshotParts) { p.Version = "8.0.99" }, "version"},
		{"member added", func(p *catalog.SnapshotParts) {
			p.Members = append(p.Members, catalog.Member{Shard: "s0", Host: "new:1", Version: "8.0.10"})
		}, "member-added s0 new:1"},
		{"member removed", func(p *catalog.SnapshotParts) {
			p.Members = slices.DeleteFunc(p.Members, func(m catalog.Member) bool { return m.Host == "m:0" })
		}, "member-removed s0 m:0"},
		{"member's version", member("m:1", func(m *catalog.Member) { m.Version = "8.0.11" }), "member-version s0 m:1"},
		{"member down", member("m:2", func(m *catalog.Member) { m.Version, m.Problem = "", "refused" }), "member-down s1 m:2"},
		{"member up", member("m:3", func(m *catalog.Member) { m.Version, m.Problem = "8.0.10", "" }), "member-up s1 m:3"},
		{"primary", func(p *catalog.SnapshotParts) {
			member("m:4", func(m *catalog.Member) { m.Primary = false })(p)
			member("m:5", func(m *catalog.Member) { m.Primary = true })(p)
		}, "primary s5"},
		{"router added", func(p *catalog.SnapshotParts) {
			p.Routers = append(slices.Clone(p.Routers), catalog.Router{ID: "new:27017", Version: "8.0.10"})
		}, "router-added new:27017"},
		{"router removed", func(p *catalog.SnapshotParts) {
			p.Routers = slices.DeleteFunc(slices.Clone(p.Routers), func(r catalog.Router) bool { return r.ID == "old:27017" })
		}, "router-removed old:27017"},
		{"router's version", func(p *catalog.SnapshotParts) {
			p.Routers = slices.Clone(p.Routers)
			for i := range p.Routers {
				if p.Routers[i].ID == "kept:27017" {
					p.Routers[i].Version = "8.0.11"
				}
			}
		}, "router-version kept:27017"},
		{"shard's hosts", shard("s1", func(s *catalog.ShardState) { _, h, _ := strings.Cut(s.Host, "/"); s.Host = "other/" + h }),
			"shard-host s1"},
		{"shard down", shard("s0", func(s *catalog.ShardState) { s.Unreachable = "refused" }), "shard-down s0"},
		{"shard up", shard("s2", func(s *catalog.ShardState) { s.Unreachable = "" }), "shard-up s2"},
		{"maxSize", shard("s5", func(s *catalog.ShardState) { s.MaxSizeMB = 100 }), "shard-limit s5"},
		{"auto-split", func(p *catalog.SnapshotParts) { p.Settings.AutoSplit = !p.Settings.AutoSplit }, "auto-split"},
		{"settings", func(p *catalog.SnapshotParts) { p.SettingsProblem = "chunksize" }, "settings-problem"},
		{"days", func(p *catalog.SnapshotParts) {
			p.Settings.Days = []catalog.DayWindow{{Day: time.Monday, Window: catalog.Window{Start: 60, Stop: 120}}}
		}, "day-windows"},
		{"lease", func(p *catalog.SnapshotParts) {
			p.Lease = &catalog.Lease{Doing: "drain s3", Host: "h", PID: 7, Running: true}
		}, "run-started"},
		{"pause", func(p *catalog.SnapshotParts) {
			p.RunsPause = &catalog.RunsPause{Reason: "backup", User: "ann", Active: true}
		}, "pause-set"},
		{"blocked", collection("app.blocked", func(c *catalog.CollectionState) { c.PermitMigrations = false }),
			"migrations-blocked app.blocked"},
		{"resharding", collection("app.still", func(c *catalog.CollectionState) { c.Resharding = true }), "resharding-started app.still"},
		{"unique", collection("app.zoned", func(c *catalog.CollectionState) { c.Unique = true }), "unique app.zoned"},
		{"time series", func(p *catalog.SnapshotParts) { // the mock has none
			like := *p.Collections[0]
			like.Namespace, like.UUID = "app.system.buckets.series", bson.Binary{Subtype: 4, Data: make([]byte, 16)}
			p.Collections = append(slices.Clone(p.Collections), &like)
		}, "sharded app.system.buckets.series"},
		{"index", collection("app.split", func(c *catalog.CollectionState) { c.Unindexed = []catalog.ShardID{"s1"} }),
			"index-missing app.split s1"},
	}
}

type edit struct {
	name string
	do   func(p *catalog.SnapshotParts)
	want string
}

func member(host string, do func(*catalog.Member)) func(*catalog.SnapshotParts) {
	return func(p *catalog.SnapshotParts) {
		p.Members = slices.Clone(p.Members)
		for i := range p.Members {
			if p.Members[i].Host == host {
				do(&p.Members[i])
			}
		}
	}
}

func shard(id catalog.ShardID, do func(*catalog.ShardState)) func(*catalog.SnapshotParts) {
	return func(p *catalog.SnapshotParts) {
		p.Shards = slices.Clone(p.Shards)
		for i := range p.Shards {
			if p.Shards[i].ID == id {
				do(&p.Shards[i])
			}
		}
	}
}

func collection(ns string, do func(*catalog.CollectionState)) func(*catalog.SnapshotParts) {
	return func(p *catalog.SnapshotParts) {
		p.Collections = slices.Clone(p.Collections)
		for i, c := range p.Collections {
			if c.Namespace == ns {
				next := *c
				do(&next)
				p.Collections[i] = &next
			}
		}
	}
}

// furnish gives a snapshot what a mock has not: members and routers, and a shard that is
// down.
func furnish(s *catalog.Snapshot) *catalog.Snapshot {
	p := s.Parts()
	for i, id := range []catalog.ShardID{"s0", "s0", "s1", "s1", "s5", "s5"} {
		m := catalog.Member{Shard: id, Host: fmt.Sprintf("m:%d", i), Version: "8.0.10", Primary: i == 4}
		if i == 3 {
			m.Version, m.Problem = "", "refused"
		}
		p.Members = append(p.Members, m)
	}
	p.Routers = append(slices.Clone(p.Routers), catalog.Router{ID: "old:27017", Version: "8.0.10"},
		catalog.Router{ID: "kept:27017", Version: "8.0.10"})
	shard("s2", func(s *catalog.ShardState) { s.Unreachable = "refused" })(&p)
	for i, c := range p.Collections {
		next := *c
		next.IndexesKnown, next.Unindexed = true, nil
		p.Collections[i] = &next
	}
	return catalog.NewSnapshot(p)
}

// told are the changes of a result: their kinds and what they are about.
func told(r diff.Result) (list []string) {
	for _, c := range r.Changes {
		words := []string{string(c.Kind)}
		for _, word := range []string{c.Database, c.Namespace, string(c.Shard), c.Host, c.Zone} {
			if word != "" && (c.Database == "" || word != string(c.Shard)) {
				words = append(words, word)
			}
		}
		if c.Count > 0 {
			words = append(words, fmt.Sprint(c.Count))
		}
		list = append(list, strings.Join(words, " "))
	}
	slices.Sort(list)
	return list
}

// checkChanges makes changes on a cluster and compares what is told of them with what was
// made.
func checkChanges(t tester, w *world, do []made, with []edit) {
	was := furnish(w.read())
	var want []string
	for _, m := range do {
		m.do(w)
		want = append(want, m.want...)
	}
	parts := furnish(w.read()).Parts()
	for _, one := range with {
		one.do(&parts)
		want = append(want, one.want)
	}
	is := catalog.NewSnapshot(parts)
	slices.Sort(want)
	if got := told(diff.Compare(was, is)); !slices.Equal(got, want) {
		t.Fatalf("%s\nare told as\n%s\nwant\n%s", namesOf(do, with), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	checkBack(t, diff.Compare(was, is), diff.Compare(is, was))
	for _, s := range []*catalog.Snapshot{was, is} {
		if got := told(diff.Compare(s, s)); len(got) > 0 {
			t.Fatalf("a snapshot differs from itself by %v", got)
		}
	}
}

// checkBack compares the kinds of changes with those of taking the changes back.
func checkBack(t tester, there, back diff.Result) {
	t.Helper()
	var want, got []string
	for _, c := range there.Changes {
		kind := string(c.Kind)
		for one, other := range takenBack {
			if kind == one {
				kind = other
				break
			} else if kind == other {
				kind = one
				break
			}
		}
		// The other way around no log has a drop, and a key has fewer fields.
		if c.Kind != diff.Recreated && c.Kind != diff.Resharded && c.Kind != diff.KeyRefined && c.Kind != diff.Unsharded {
			want = append(want, kind)
		}
	}
	for _, c := range back.Changes {
		switch {
		case c.Kind == diff.Recreated, c.Kind == diff.Resharded, c.Kind == diff.KeyRefined, strings.HasSuffix(c.Namespace, ".unsharded"),
			strings.HasPrefix(c.Namespace, "gone."): // that came with its database
		default:
			got = append(got, string(c.Kind))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("taken back, the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func namesOf(do []made, with []edit) string {
	var names []string
	for _, m := range do {
		names = append(names, m.name)
	}
	for _, m := range with {
		names = append(names, m.name)
	}
	return strings.Join(names, "; ")
}

// Each change alone is told as its kind, and as nothing else.
func TestEachKindAlone(t *testing.T) {
	t.Parallel()
	for _, m := range commands() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, catalog.Release80)
			checkChanges(t, w, []made{m}, nil)
		})
	}
	w := newWorld(t, catalog.Release80)
	for _, m := range edits() {
		t.Run(m.name, func(t *testing.T) {
			checkChanges(t, w, nil, []edit{m})
		})
	}
}

// Any of them together, in any order, are told as what each is alone.
func TestKindsTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred clusters, each in one goroutine")
	}
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, catalog.Release80)
		w.t = r
		do := rapid.Permutation(commands()).Draw(r, "commands")
		with := rapid.Permutation(edits()).Draw(r, "edits")
		do = do[:rapid.IntRange(0, len(do)).Draw(r, "of commands")]
		slices.SortStableFunc(do, func(a, b made) int { return strings.Compare(starts(a), starts(b)) })
		checkChanges(r, w, do, with[:rapid.IntRange(0, len(with)).Draw(r, "of edits")])
	})
}

// starts is for the order: a balancer that is on would move chunks while other commands
// take their time.
func starts(m made) string {
	if m.name == "balancer" {
		return "last"
	}
	return ""
}

// Every kind is made by some change, or by taking one back.
func TestAllKindsAreMade(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range commands() {
		for _, want := range m.want {
			seen[kindOf(want)] = true
		}
	}
	for _, m := range edits() {
		seen[kindOf(m.want)] = true
	}
	for _, back := range takenBack {
		seen[back] = true
	}
	for _, k := range diff.Kinds() {
		if !seen[string(k.Kind)] {
			t.Errorf("%s is not made", k.Kind)
		}
	}
}

func kindOf(told string) string {
	kind, _, _ := strings.Cut(told, " ")
	return kind
}

// takenBack are what some kinds are the other way around.
var takenBack = map[string]string{
	"member-added": "member-removed", "member-down": "member-up", "router-added": "router-removed", "shard-added": "shard-removed",
	"draining-started": "draining-stopped", "shard-down": "shard-up", "zone-shard-added": "zone-shard-removed",
	"zone-range-added": "zone-range-removed", "database-added": "database-dropped", "tracked": "untracked", "sharded": "dropped",
	"balancing-off": "balancing-on", "defragmentation-started": "defragmentation-ended", "migrations-blocked": "migrations-allowed",
	"resharding-started": "resharding-ended", "index-missing": "index-built", "run-started": "run-ended", "pause-set": "pause-ended",
	"chunks-split": "chunks-merged", "jumbo-set": "jumbo-cleared",
}
