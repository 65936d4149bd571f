package action

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/preflight"
)

// changing notes the commands that may change something.
type changing struct {
	wire.Handler
	mu    sync.Mutex
	names []string
}

func (h *changing) Handle(ctx context.Context, r wire.Request) bson.Raw {
	for _, c := range commands.All() {
		if c.Effect == commands.Writes && !c.MockOnly && slices.Contains(c.Names(), r.Command) &&
			(r.Command != "aggregate" || commands.WritesResults(r.Body)) {
			h.mu.Lock()
			h.names = append(h.names, r.Command)
			h.mu.Unlock()
		}
	}
	return h.Handler.Handle(ctx, r)
}

// sent returns the commands since the last call.
func (h *changing) sent() (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names, h.names = h.names, nil
	return names
}

// way is a way in which a drain of s0 can't work.
type way struct {
	name string
	// code is what names it, with a word of its sentence.
	code diagnosis.Code
	says string
	// topology is of all clusters but the healthy one.
	topology string
	release  catalog.Release // 8.0 unless set
	prepare  func(w *world)
	drain    Drain
	// waits: the run waits for its end.
	waits bool
	// fits: a mock lets it all the same, as it keeps no data on disks.
	fits bool
	// lacks is what the user lacks of what a run needs; nil is without access control.
	lacks *access.Privilege
}

// healthy is a cluster of which s0 can be drained, with more in its parts.
func healthy(shards, settings, databases, collections string) string {
	if shards == "" {
		shards = `{"id": "s0"}, {"id": "s1"}, {"id": "s2"}`
	}
	if settings == "" {
		settings = `"balancer": {"stopped": true}`
	}
	return fmt.Sprintf(`{"shards": [%s], "settings": {%s}, "databases": [{"name": "db", "primary": "s1"},
		{"name": "shardsh", "primary": "s1"}%s], "collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [
			{"shard": "s0", "max": {"x": 0}, "bytes": 1024000, "docs": 1000},
			{"shard": "s0", "max": {"x": 1000}, "bytes": 1024000, "docs": 1000},
			{"shard": "s1", "bytes": 1024000, "docs": 1000}]}%s]}`, shards, settings, databases, collections)
}

// jumboCollection is a collection with one large chunk of one key on s0.
const jumboCollection = `, {"ns": "db.j", "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [
	{"shard": "s0", "max": {"x": 1000}, "jumbo": true}, {"shard": "s1"}]}`

func admin(command bson.D) func(w *world) { return func(w *world) { w.admin(command) } }

func config(collection string, update bson.D, id any) func(w *world) {
	return func(w *world) {
		got, err := w.client.Database("config").Collection(collection).UpdateOne(w.Context(),
			bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$set", Value: update}}, options.UpdateOne().SetUpsert(true))
		if err != nil || got.MatchedCount+got.UpsertedCount != 1 {
			w.Fatal(got, err)
		}
	}
}

func one(key string, value any) bson.D { return bson.D{{Key: key, Value: value}} }

func (w *world) insert(ns string, docs ...any) {
	w.Helper()
	database, name, _ := strings.Cut(ns, ".")
	if _, err := w.client.Database(database).Collection(name).InsertMany(w.Context(), docs); err != nil {
		w.Fatal(err)
	}
}

// waysNotToDrain are the ways, but for privileges.
func waysNotToDrain() []way {
	whole := Drain{Shard: "s0", Remove: true, MovePrimaries: true}
	large := make([]any, 96)
	for i := range large {
		large[i] = bson.D{{Key: "x", Value: 7}, {Key: "filler", Value: make([]byte, 64<<10)}}
	}
	return []way{
		{name: "no such shard", code: diagnosis.NoPlan, says: `no shard "s9"`, drain: Drain{Shard: "s9", Remove: true}},
		{name: "the only shard", code: diagnosis.LastShard, says: "the only shard of the cluster", drain: whole,
			topology: `{"shards": [{"id": "s0"}], "settings": {"balancer": {"stopped": true}}}`},
		{name: "all others drain", code: diagnosis.LastShard, says: "s1 and s2 are", drain: whole, prepare: func(w *world) {
			config("shards", one("draining", true), "s1")(w)
			config("shards", one("draining", true), "s2")(w)
		}},
		{name: "the only shard of a zone", code: diagnosis.OnlyShardOfZone, says: "zone US", drain: whole, topology: healthy(
			`{"id": "s0", "zones": ["US"]}, {"id": "s1"}, {"id": "s2"}`, "", "",
			`, {"ns": "db.z", "key": {"x": 1}, "zones": [{"zone": "US", "min": {"x": 0}, "max": {"x": 9}}], "chunks": [
				{"shard": "s1"}]}`)},
		{name: "the only shard of a zone, with chunks there, which stays", code: diagnosis.NoRecipient, says: "zone US",
			drain: Drain{Shard: "s0"}, topology: healthy(`{"id": "s0", "zones": ["US"]}, {"id": "s1"}, {"id": "s2"}`, "", "",
				zoned)},
		{name: "the other shard of a zone drains", code: diagnosis.NoRecipient, says: "zone US", drain: whole, topology: healthy(
			`{"id": "s0", "zones": ["US"]}, {"id": "s1", "zones": ["US"]}, {"id": "s2"}`, "", "", zoned),
			prepare: config("shards", one("draining", true), "s1")},
		{name: "a zone without shards", code: diagnosis.NoRecipient, says: "3 outside the zone", drain: whole, topology: healthy(
			`{"id": "s0"}, {"id": "s1"}, {"id": "s2", "zones": ["US"]}`, "", "", zoned),
			prepare: config("shards", one("tags", bson.A{}), "s2")},
		{name: "all others are full", code: diagnosis.NoRecipient, says: "2 full", release: catalog.Release50, drain: whole,
			topology: healthy(`{"id": "s0"}, {"id": "s1", "maxSizeMB": 1}, {"id": "s2", "maxSizeMB": 1}`, "", "",
				`, {"ns": "db.f", "key": {"x": 1}, "chunks": [{"shard": "s1", "max": {"x": 0}, "bytes": 9000000, "docs": 9},
					{"shard": "s2", "bytes": 9000000, "docs": 9}]}`)},
		{name: "a large chunk of one key", code: diagnosis.ChunkUnmovable, says: "6 MiB", drain: whole,
			topology: healthy("", "", "", jumboCollection), prepare: func(w *world) { w.insert("db.j", large...) }},
		{name: "a large chunk of one key, by number of chunks", code: diagnosis.ChunkUnmovable, says: "6 MiB", drain: whole,
			release: catalog.Release50, topology: healthy("", "", "", jumboCollection),
			prepare: func(w *world) { w.insert("db.j", large...) }},
		{name: "no room", code: diagnosis.LittleRoom, says: "before compression", drain: whole, fits: true, topology: healthy(
			`{"id": "s0"}, {"id": "s1", "disk": "20MB"}, {"id": "s2", "disk": "20MB"}`, "", "", `, {"ns": "db.r", "key": {"x": 1},
				"chunks": [{"shard": "s0", "bytes": "500MB", "docs": 500000}]}`)},
		{name: "no index on the shard key", code: diagnosis.ShardKeyIndexMissing, says: "db.c has no index", drain: whole,
			prepare: func(w *world) { w.dropIndexOn("s0", "x_1") }},
		{name: "a recipient lacks an index", code: diagnosis.RecipientIndexMissing, says: "lacks the index y_1", drain: whole,
			topology: strings.Replace(healthy("", "", "", ""), `{"id": "s2"}`, `{"id": "s2", "draining": true}`, 1),
			prepare: func(w *world) {
				w.insert("db.c", one("x", -1), one("x", 5000))
				w.command("db", bson.D{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{
					bson.D{{Key: "key", Value: one("y", 1)}, {Key: "name", Value: "y_1"}}}}})
				w.dropIndexOn("s1", "y_1")
			}},
		{name: "balancing is disabled", code: diagnosis.DrainNeedsOperator, says: "enable balancing of 1 collection", drain: whole,
			prepare: config("collections", one("noBalance", true), "db.c")},
		{name: "migrations are forbidden", code: diagnosis.DrainNeedsOperator, says: "enable balancing of 1 collection",
			drain: whole, prepare: admin(bson.D{{Key: "setAllowMigrations", Value: "db.c"}, {Key: "allowMigrations", Value: false}})},
		{name: "migrations are not permitted", code: diagnosis.DrainNeedsOperator, says: "enable balancing", drain: whole,
			prepare: config("collections", one("permitMigrations", false), "db.c")},
		{name: "a primary of a database", code: diagnosis.DrainNeedsOperator, says: "move 1 database",
			drain: Drain{Shard: "s0", Remove: true}, topology: healthy("", "", `, {"name": "app", "primary": "s0"}`, "")},
		{name: "a primary of a database, of a shard that stays", code: diagnosis.DrainNeedsOperator, says: "move 1 database",
			drain: Drain{Shard: "s0"}, topology: healthy("", "", `, {"name": "app", "primary": "s0"}`, "")},
		{name: "an unsharded collection", code: diagnosis.DrainNeedsOperator, says: "move 1 unsharded collection",
			drain: Drain{Shard: "s0", Remove: true}, prepare: func(w *world) {
				w.insert("db.u", one("_id", 1))
				w.admin(bson.D{{Key: "moveCollection", Value: "db.u"}, {Key: "toShard", Value: "s0"}})
			}},
		{name: "the balancer is on", code: diagnosis.BalancerActive, says: "is on and balances db.c", drain: whole,
			topology: healthy("", `"balancer": {"mode": "full"}`, "", "")},
		{name: "the balancer's window opens", code: diagnosis.BalancerActive, says: "its window", drain: whole, topology: healthy("",
			`"balancer": {"mode": "full", "activeWindow": {"start": "12:01", "stop": "13:00"}}`, "", "")},
		{name: "the balancer defragments", code: diagnosis.BalancerActive, says: "db.c",
			drain: Drain{Shard: "s0", Remove: true, MovePrimaries: true, RunOptions: RunOptions{PauseBalancing: true}},
			prepare: func(w *world) {
				config("collections", one("defragmentCollection", true), "db.c")(w)
				config("settings", bson.D{{Key: "stopped", Value: false}, {Key: "mode", Value: "full"}}, "balancer")(w)
			}},
		{name: "another run", code: diagnosis.LeaseHeld, says: "process 42", drain: whole, prepare: func(w *world) {
			_, err := live.AcquireLease(w.Context(), live.LeaseCollectionOf(w.client), live.LeaseOptions{
				Name: "engine", Duration: time.Hour, Holder: live.Holder{Host: "ops1", PID: 42, Doing: "drain s1"}})
			if err != nil {
				w.Fatal(err)
			}
		}},
		{name: "the cluster is kept quiet", code: diagnosis.Quiesced, says: "quiesce", drain: whole, prepare: func(w *world) {
			record := live.QuiesceRecord{Host: "ops1", PID: 42, Mode: catalog.ModeOff, Until: w.cluster.Clock().Now().Add(time.Hour)}
			if err := record.Save(w.Context(), w.client); err != nil {
				w.Fatal(err)
			}
		}},
		{name: "a pause", code: diagnosis.RunsPaused, says: "backup", waits: true, drain: whole, prepare: func(w *world) {
			if _, err := (PauseRuns{Reason: "backup", For: MaxRunPause}).Run(w.Context(), w.actionCluster()); err != nil {
				w.Fatal(err)
			}
		}},
		{name: "the compatibility version changes", code: diagnosis.VersionChanging, says: "7.0", waits: true, drain: whole,
			prepare: func(w *world) {
				w.cluster.Lock()
				defer w.cluster.Unlock()
				if err := w.cluster.ClusterParameters().SetTransitionalFCV("7.0"); err != nil {
					w.Fatal(err)
				}
			}},
		{name: "a resharding", code: diagnosis.Resharding, says: "db.c", drain: whole,
			prepare: config("collections", one("reshardingFields", one("state", "cloning")), "db.c")},
		{name: "a collection is unsharded", code: diagnosis.Resharding, says: "or abort it", drain: whole,
			prepare: func(w *world) {
				config("collections", one("reshardingFields", one("state", "cloning")), "db.c")(w)
				config("reshardingOperations", bson.D{{Key: "ns", Value: "db.c"}, {Key: "state", Value: "cloning"},
					{Key: "provenance", Value: "unshardCollection"}}, "r")(w)
			}},
		{name: "the shard does not answer", code: diagnosis.ShardUnreachable, says: "s0", drain: whole,
			prepare: admin(one("mockCrash", "s0"))},
		{name: "a recipient does not answer", code: diagnosis.ShardUnreachable, says: "shard s2", drain: whole,
			prepare: admin(one("mockCrash", "s2"))},
	}
}

const zoned = `, {"ns": "db.z", "key": {"x": 1}, "zones": [{"zone": "US", "min": {"x": 0}, "max": {"x": 9}}], "chunks": [
	{"shard": "s1", "max": {"x": 0}}, {"shard": "s0", "max": {"x": 9}, "bytes": 5000, "docs": 5}, {"shard": "s1"}]}`

func (w *world) command(database string, command bson.D) {
	w.Helper()
	if err := w.client.Database(database).RunCommand(w.Context(), command).Err(); err != nil {
		w.Fatal(err)
	}
}

func (w *world) dropIndexOn(shard catalog.ShardID, name string) {
	w.Helper()
	if err := w.cluster.Corrupter().DropIndex(shard, "db.c", name); err != nil {
		w.Fatal(err)
	}
}

// each way is named by the preflight, with its remedy, and the run itself sends nothing
// that changes something.
func TestPreflightNamesEachWay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	ways := append(waysNotToDrain(), waysWithoutPrivileges()...)
	t.Logf("%d ways", len(ways))
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) { way.isNamed(t) })
	}
}

func (way way) isNamed(t *testing.T) {
	if way.release == (catalog.Release{}) {
		way.release = catalog.Release80
	}
	if way.topology == "" {
		way.topology = healthy("", "", "", "")
	}
	w := &world{TB: t, release: way.release}
	w.cluster = mocktest.Cluster(t, way.topology, mock.Config{
		Release: way.release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: 1,
	})
	h := &changing{}
	if way.lacks != nil {
		w.asRunner(h, way.lacks)
	} else {
		h.Handler = router.New(w.cluster, nil)
		w.client = mocktest.Connect(t, h)
	}
	if way.prepare != nil {
		way.prepare(w)
	}
	if w.runner != nil {
		w.client = w.runner
	}
	h.sent()
	run := way.drain
	run.Parallel, run.NoJournal = 1, true
	look := run
	look.PreflightOnly = true
	r, err := look.Run(t.Context(), w.actionCluster(), nil)
	if err != nil || r.Preflight == nil || r.Preflight.Ready {
		t.Fatalf("%+v, %v", r, err)
	}
	named := slices.ContainsFunc(r.Preflight.StoppingObstacles(), func(o preflight.Obstacle) bool {
		return o.Code == way.code && strings.Contains(o.Sentence, way.says)
	})
	for _, o := range r.Preflight.Obstacles {
		if remedy := strings.Join(o.Commands, "; "); o.Code == diagnosis.BalancerActive &&
			(remedy != "sh.stopBalancer()" || strings.Contains(o.Sentence, "sh.")) {
			t.Errorf("sentence %q, commands %q", o.Sentence, remedy)
		}
		if o.Code == diagnosis.PrivilegeMissing &&
			(!strings.HasSuffix(o.Sentence, "; the user has engine@admin") || !strings.Contains(o.Hint, "grant the role shardsh")) {
			t.Errorf("%s (%s)", o.Sentence, o.Hint)
		}
	}
	if !named {
		t.Errorf("it found %v", texts(r.Preflight.Obstacles))
	}
	ctx := t.Context()
	if way.waits { // somebody ends the run meanwhile
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, 500*time.Millisecond)
		defer end()
	}
	result, err := run.Run(ctx, w.actionCluster(), nil)
	if err == nil && (!way.waits || result.Stopped == "" || result.StepsDone > 0) {
		t.Errorf("the run began: %+v", result)
	}
	sent := slices.DeleteFunc(h.sent(), func(name string) bool {
		switch name {
		case "findAndModify", "delete", "update": // of the lease
			return way.code == diagnosis.LeaseHeld || way.waits
		}
		return false
	})
	if len(sent) > 0 {
		t.Errorf("%v were sent, %v", sent, err)
	}
	if !way.waits {
		way.failsIndeed(w, run, r.Preflight.StoppingObstacles())
	}
}

// failsIndeed begins the run all the same: the servers don't let it reach its goal.
func (way way) failsIndeed(w *world, run Drain, stopping []preflight.Obstacle) {
	for _, o := range stopping {
		run.IgnoreObstacles = append(run.IgnoreObstacles, string(o.Code))
	}
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	r, err := run.Run(ctx, w.actionCluster(), nil)
	if err == nil && r.Finished && !way.fits {
		w.Errorf("begun all the same, it reaches its goal: %+v", r)
	}
	if testing.Verbose() {
		w.Logf("begun all the same: %v", err)
	}
}

func texts(list []preflight.Obstacle) (all []string) {
	for _, o := range list {
		all = append(all, fmt.Sprintf("%t %s: %s", o.Stops, o.Code, o.Text(func(option string) string { return option })))
	}
	return all
}

// A collection that is held is one thing in the way of a drain, and moving primaries is no
// remedy for it.
func TestPreflightNamesHeldCollectionsOnce(t *testing.T) {
	w := newWorld(t, healthy("", "", "", ""), catalog.Release80, 1)
	config("collections", one("noBalance", true), "db.c")(w)
	look := Drain{Shard: "s0", RunOptions: RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true}}
	look.PreflightOnly = true
	r, err := look.Run(t.Context(), w.actionCluster(), nil)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, o := range r.Preflight.Obstacles {
		if o.Code == diagnosis.DrainNeedsOperator {
			named++
			if o.Option != "" {
				t.Errorf("%s is offered for %s", o.Option, o.Sentence)
			}
		}
	}
	if named != 1 {
		t.Errorf("it is named %d times: %q", named, texts(r.Preflight.Obstacles))
	}
}

// Whoever has roles that are enough, built-in ones included, is told so, and nobody else.
func TestPreflightGoesByRoles(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, tt := range []struct {
		roles bson.A
		ready bool
	}{
		{bson.A{"root"}, true},
		{bson.A{"__system"}, true},
		{bson.A{"clusterAdmin"}, false},
		{bson.A{"clusterAdmin", bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: "shardsh"}}}, true},
		{bson.A{"clusterManager", "clusterMonitor", "readWriteAnyDatabase"}, true},
		{bson.A{"clusterMonitor", "readWriteAnyDatabase"}, false},
		{bson.A{"clusterManager", "readAnyDatabase"}, false},
		{bson.A{"engine"}, true},
	} {
		for _, release := range []catalog.Release{catalog.Release70, catalog.Release80} {
			w := &world{TB: t, release: release}
			w.cluster = mocktest.Cluster(t, healthy("", `"balancer": {"mode": "full"}`, "", ""), mock.Config{
				Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: 1})
			w.asRunner(&changing{}, &access.Privilege{})
			w.admin(bson.D{{Key: "updateUser", Value: "runner"}, {Key: "roles", Value: tt.roles}})
			w.client = w.runner
			d := Drain{Shard: "s0", Remove: true, MovePrimaries: true, RunOptions: RunOptions{
				Pace: Pace{Parallel: 1}, NoJournal: true, PauseBalancing: true,
			}}
			look := d
			look.PreflightOnly = true
			found, err := look.Run(t.Context(), w.actionCluster(), nil)
			if err != nil || found.Preflight.Ready != tt.ready {
				t.Errorf("%v, %s: %+v, %v", tt.roles, release, texts(found.Preflight.Obstacles), err)
			}
			d.IgnoreObstacles = []string{string(diagnosis.PrivilegeMissing)}
			if done, err := d.Run(t.Context(), w.actionCluster(), nil); (err == nil && done.Finished) != tt.ready {
				t.Errorf("%v, %s: %+v, %v", tt.roles, release, done, err)
			}
		}
	}
}

// drawn is a healthy cluster: with or without users, time series, unsharded collections,
// small chunks that are flagged, volumes, and the balancer on or off.
func drawn(t *testing.T, r *rand.Rand, release catalog.Release, seed uint64) (w *world, d Drain) {
	t.Helper()
	balancer, paused := stopped, r.IntN(2) == 0
	if paused {
		balancer = `"balancer": {"mode": "full"}`
	}
	topology := strings.TrimSuffix(scattered(r, balancer), "]}")
	if release.FCVAtLeast(catalog.Release50) && r.IntN(2) == 0 {
		topology += `, {"ns": "app.system.buckets.ts", "key": {"meta": 1}, "chunks": [
			{"shard": "s0", "max": {"meta": 5}, "bytes": 50000, "docs": 50}, {"shard": "s1"}]}`
	}
	if r.IntN(2) == 0 {
		topology += `, {"ns": "app.flagged", "key": {"x": 1}, "chunks": [
			{"shard": "s0", "max": {"x": 5}, "jumbo": true, "bytes": 5000, "docs": 5}, {"shard": "s1"}]}`
	}
	if r.IntN(2) == 0 {
		topology = strings.ReplaceAll(topology, `{"id": "s`, `{"disk": "100GB", "id": "s`)
	}
	w = &world{TB: t, release: release}
	w.cluster = mocktest.Cluster(t, topology+"]}", mock.Config{
		Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: seed + 1})
	if h := (&changing{Handler: router.New(w.cluster, nil)}); r.IntN(2) == 0 {
		w.asRunner(h, &access.Privilege{})
	} else {
		w.client = mocktest.Connect(t, h)
	}
	if release.FCVAtLeast(catalog.Release80) && r.IntN(2) == 0 {
		w.insert("db.u", one("_id", 1))
		w.admin(bson.D{{Key: "moveCollection", Value: "db.u"}, {Key: "toShard", Value: "s0"}})
	}
	if w.runner != nil {
		w.client = w.runner
	}
	return w, Drain{Shard: "s0", Remove: r.IntN(2) == 0, MovePrimaries: true, RunOptions: RunOptions{
		Pace: Pace{Parallel: 1 + r.IntN(2)}, NoJournal: true, PauseBalancing: paused || r.IntN(2) == 0,
	}}
}

var healthyClusters = flag.Int("preflight.clusters", 20, "how many random healthy clusters a preflight looks at; "+
	"200 is all of them")

// On healthy clusters nothing is named, and the drain works.
func TestPreflightOfHealthyClusters(t *testing.T) {
	t.Parallel()
	seeds := *healthyClusters
	if testing.Short() {
		seeds = min(seeds, 3)
	}
	for seed := range uint64(seeds) {
		release := releases()[seed%uint64(len(releases()))]
		w, d := drawn(t, rand.New(rand.NewPCG(seed, 42)), release, seed)
		look := d
		look.PreflightOnly = true
		found, err := look.Run(t.Context(), w.actionCluster(), nil)
		if err != nil || !found.Preflight.Ready || len(found.Preflight.Unread) > 0 {
			t.Errorf("seed %d, %s: %+v, %q, %v", seed, release, texts(found.Preflight.Obstacles), found.Preflight.Unread, err)
		}
		for _, o := range found.Preflight.Obstacles { // what is so, and stops nothing
			old := o.Code == diagnosis.KnownFault // of the patches that the mock has
			if o.Code != diagnosis.MigrationUnderWay && o.Code != diagnosis.JumboChunks && !old {
				t.Errorf("seed %d, %s: %v", seed, release, texts(found.Preflight.Obstacles))
			}
		}
		if done, err := d.Run(t.Context(), w.actionCluster(), nil); err != nil || !done.Finished {
			t.Errorf("seed %d, %s: %+v, %v", seed, release, done, err)
		}
	}
}
