package sh_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

// unfolding is a fixture some of whose replies change: each is given once, the
// last one ever after.
type unfolding struct {
	*shelltest.ScriptedServer
	turn    sync.Mutex
	replies map[string][]bson.D
}

func (u *unfolding) Handle(ctx context.Context, r wire.Request) bson.Raw {
	u.turn.Lock()
	list := u.replies[r.Command]
	if len(list) > 1 {
		u.replies[r.Command] = list[1:]
	}
	u.turn.Unlock()
	if len(list) == 0 {
		return u.ScriptedServer.Handle(ctx, r)
	}
	return shelltest.MustMarshal(list[0])
}

// watching is a shell on such a fixture.
func watching(t *testing.T, replies map[string][]bson.D, change ...func(*bindings.Config)) *connected {
	t.Helper()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	u := &unfolding{ScriptedServer: &shelltest.ScriptedServer{Data: shelltest.FixtureData(now), CursorRest: map[int64][]bson.Raw{}, Now: now}, replies: replies}
	u.Data["config.actionlog"] = []bson.Raw{shelltest.MustMarshal(shelltest.Doc(
		field("_id", "cfg-2026-11-20T11:00:00.000+00:00-6b049f1990b60ad9021444fa"), field("server", "cfg"),
		field("shard", "config"), field("time", now.Add(-time.Hour)), field("what", "balancer.start")))}
	return shelltest.Connect(t, append(change, func(cfg *bindings.Config) { cfg.Client = shelltest.Dial(t, u) })...)
}

func collectionStatus(violation string, more ...bson.E) bson.D {
	doc := shelltest.Doc(field("chunkSize", 128.0), field("balancerCompliant", violation == ""))
	if violation != "" {
		doc = append(doc, field("firstComplianceViolation", violation))
	}
	return append(append(doc, more...), field("ok", 1.0))
}

func defragmenting(phase string, left int64) bson.D {
	return collectionStatus("defragmentingChunks", field("details", shelltest.Doc(field("currentPhase", phase),
		field("progress", shelltest.Doc(field("remainingChunksToProcess", left))))))
}

func TestWaitForBalance(t *testing.T) {
	uneven, even := collectionStatus("chunksImbalance"), collectionStatus("")
	off := map[string][]bson.D{"balancerStatus": {ok(field("mode", "off"))}, "balancerCollectionStatus": {uneven}}
	for _, tc := range []struct {
		replies    map[string][]bson.D
		call, want string
		slept      time.Duration
	}{
		{nil, `sh.waitForBalance("app.orders", {timeout: 20000})`,
			"MongoshRuntimeError: after 20s: not balanced: app.orders (chunksImbalance)", 20 * time.Second},
		{map[string][]bson.D{"balancerCollectionStatus": {uneven, uneven, uneven, even}}, `sh.waitForBalance(db.orders)`,
			"{ balanced: true, ns: 'app.orders', moves: 0, waitedMS: 15000 }", 15 * time.Second},
		{map[string][]bson.D{"balancerCollectionStatus": {uneven, even}}, `sh.waitForBalance("all", {interval: 100})`,
			"{\n  balanced: true,\n  collections: 1,\n  leftAlone: [ 'app.users' ],\n  moves: 0,\n  waitedMS: 100\n}", 100 * time.Millisecond},
		{map[string][]bson.D{"balancerCollectionStatus": {ok(field("balancerCompliant", false))}}, `sh.waitForBalance("app.orders", {timeout: 1})`,
			"MongoshRuntimeError: after 1ms: not balanced: app.orders (the server does not say why)", time.Millisecond},
		{map[string][]bson.D{"balancerCollectionStatus": {even}}, `sh.waitForBalance().balanced`, "true", 0},
		{nil, `sh.waitForBalance("app.users")`,
			"StuckError: app.users is not balanced (chunksImbalance), and balancing is disabled: run sh.enableBalancing or sh.enableMigrations", 0},
		{off, `sh.waitForBalance("app.orders")`, "StuckError: not balanced: app.orders (chunksImbalance), and the balancer is off: run sh.startBalancer()", 0},
		{map[string][]bson.D{"balancerCollectionStatus": {defragmenting("mergeChunks", 5), defragmenting("mergeChunks", 2), even}},
			`sh.defragment("app.orders", {wait: true})`, "{ defragmented: true, ns: 'app.orders', waitedMS: 10000 }", 10 * time.Second},
		{map[string][]bson.D{"balancerCollectionStatus": {defragmenting("mergeChunks", 5)}},
			`sh.defragment("app.orders", {wait: true, timeout: 6000})`,
			"MongoshRuntimeError: after 6s: app.orders is being defragmented (mergeChunks, 5 chunks left)", 6 * time.Second},
		{map[string][]bson.D{"balancerCollectionStatus": {collectionStatus("defragmentingChunks", field("details", shelltest.Doc(field("currentPhase", "none"))))}},
			`sh.defragmentStatus("app.orders").note.split(":")[0]`, "not started", 0},
		{map[string][]bson.D{"balancerCollectionStatus": {defragmenting("moveAndMergeChunks", 7)}},
			`sh.defragmentStatus("app.orders")`, "{\n  ns: 'app.orders',\n  running: true,\n  phase: 'moveAndMergeChunks',\n  remainingChunks: 7\n}", 0},
	} {
		c := watching(t, tc.replies)
		if got, _ := c.Show(tc.call); got != tc.want {
			t.Errorf("%s shows %s, want %s", tc.call, got, tc.want)
		}
		if slept := c.JS.Clock.(*shelltest.StillClock).Slept; slept != tc.slept {
			t.Errorf("%s slept %s, want %s", tc.call, slept, tc.slept)
		}
	}
}

// While a collection is resharded the catalog also has the collection that the resharding writes
// to, which counts for no balance: it sorts before others, and may be the only one asked about.
func TestWaitForBalanceDuringResharding(t *testing.T) {
	const temporary = "app.system.resharding.11111111-1111-1111-1111-111111111111"
	for call, want := range map[string]string{
		`sh.waitForBalance().collections`:                          "1",
		`sh.waitForBalance("` + temporary + `").balanced`:          "true",
		`sh.awaitCollectionBalance("` + temporary + `", 1000, 10)`: "Error: " + temporary + " still had orphans after 1s",
	} {
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		u := &unfolding{
			ScriptedServer: &shelltest.ScriptedServer{Data: shelltest.FixtureData(now), CursorRest: map[int64][]bson.Raw{}, Now: now},
			replies:        map[string][]bson.D{"balancerCollectionStatus": {collectionStatus("")}},
		}
		u.Data["config.collections"] = append(u.Data["config.collections"], shelltest.MustMarshal(
			shelltest.Doc(field("_id", temporary), field("key", shelltest.Doc(field("j", int32(1)))))))
		c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Client = shelltest.Dial(t, u) })
		if got, _ := c.Show(call); got != want {
			t.Errorf("%s shows %s, want %s", call, got, want)
		}
	}
}

// TestProgress: one line a minute on the error stream, one line that is written
// again on a terminal, none when it is not wanted.
func TestProgress(t *testing.T) {
	const timeout = ", {timeout: 130000"
	c := watching(t, nil)
	_, _ = c.Show(`sh.waitForBalance("app.orders"` + timeout + `})`)
	line := "app.orders (chunksImbalance): 0 B done\n" // it has a zone: what is left, nobody knows
	if got := c.Errs.String(); got != line+line {
		t.Errorf("elsewhere: %q", got)
	}
	_, _ = c.Show(`sh.waitForBalance("app.orders"` + timeout + `, progress: false})`)
	if c.Errs.Len() > 0 {
		t.Errorf("silenced: %q", c.Errs)
	}
	terminal := watching(t, nil, func(cfg *bindings.Config) { cfg.Terminal = true })
	_, _ = terminal.Show(`sh.waitForBalance("app.orders", {timeout: 11000})`)
	want := "\r\x1b[K" + strings.TrimSuffix(line, "\n")
	if got := terminal.Out.String(); got != want+want+"\r\x1b[K" || terminal.Errs.Len() > 0 {
		t.Errorf("on a terminal: %q and %q", got, terminal.Errs)
	}
}

// TestMidLine: a prompt that wants to say something must know whether a line is
// open.
func TestMidLine(t *testing.T) {
	c := watching(t, nil, func(cfg *bindings.Config) { cfg.Terminal = true })
	for _, tc := range []struct {
		call string
		want bool
	}{
		{`print("a")`, false},
		{`process.stdout.write("a")`, true},
		{`process.stdout.write("")`, true},
		{`print()`, false},
		{`sh.waitForBalance("app.orders", {timeout: 11000})`, false}, // its line is cleared
	} {
		if _, _ = c.Show(tc.call); c.JS.Out.IsMidLine() != tc.want {
			t.Errorf("%s leaves it at %v", tc.call, !tc.want)
		}
	}
}

// TestProgressOfPhases: each phase of a defragmentation has a rate of its own. The
// time to go is that of the forecast, which knows that the window opens at 23:00:
// the clock stands at noon.
func TestProgressOfPhases(t *testing.T) {
	c := watching(t, map[string][]bson.D{"balancerCollectionStatus": {
		defragmenting("moveAndMergeChunks", 90), defragmenting("moveAndMergeChunks", 60), defragmenting("mergeChunks", 4), collectionStatus(""),
	}})
	_, _ = c.Show(`sh.defragment("app.orders", {wait: true, interval: 60000})`)
	want := "app.orders (moveAndMergeChunks): 30 chunks done, 60 chunks left, 30 chunks/min, 10h59m to go\n" +
		"app.orders (mergeChunks): 0 chunks done, 4 chunks left, 10h58m to go\n"
	if got := c.Errs.String(); got != want {
		t.Error(got)
	}
}

// leaving is a clock on which the user presses Ctrl-C instead of waiting.
type leaving struct {
	shelltest.StillClock
	press context.CancelFunc
}

func (l *leaving) Sleep(ctx context.Context, _ time.Duration) error {
	l.press()
	return ctx.Err()
}

func TestCtrlCEndsTheWaiting(t *testing.T) {
	ctx, press := context.WithCancel(context.Background())
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Clock = &leaving{press: press} })
	if _, err := c.Eval(ctx, "repl", `try { sh.waitForBalance("app.orders") } catch (e) { print(e) }`); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if got := c.Errs.String(); got != "Stopped waiting; the balancer continues; sh.balancerSummary() shows its progress.\n" {
		t.Errorf("said %q", got)
	}
}

func draining(state string, chunks, dbs int, dbsToMove ...string) bson.D {
	return ok(field("state", state), field("remaining", shelltest.Doc(field("chunks", int64(chunks)), field("dbs", int64(dbs)))), field("dbsToMove", dbsToMove))
}

// TestDrainOnNewServers waits on shardDrainingStatus and removes the shard with
// commitShardRemoval.
func TestDrainOnNewServers(t *testing.T) {
	newServer := func(statuses ...bson.D) map[string][]bson.D {
		return map[string][]bson.D{
			"buildInfo": {ok(field("version", "8.3.0"))}, "startShardDraining": {ok()}, "commitShardRemoval": {ok()},
			"shardDrainingStatus": statuses,
		}
	}
	// The catalog has what is left in the end.
	const later = `As things stand this will not end by itself: shard sh1 is stuck draining; you must enable balancing of ` +
		`1 collection, move 1 database: sh.enableBalancing("app.users"), sh.enableMigrations("app.users"), sh.movePrimary("test", <shard>)` + "\n"
	for _, tc := range []struct {
		statuses   []bson.D
		call, want string
	}{
		{[]bson.D{draining("ongoing", 4, 0), draining("ongoing", 2, 0), draining("drainingComplete", 0, 0)},
			`sh.drain("sh1", {wait: true})`, later + "{ drained: true, shard: 'sh1', removed: false, waitedMS: 10000 }"},
		{[]bson.D{draining("ongoing", 4, 0), draining("drainingComplete", 0, 0)},
			`sh.drain("sh1", {remove: true, interval: 1})`, later + "{ drained: true, shard: 'sh1', removed: true, waitedMS: 1 }"},
		{[]bson.D{draining("ongoing", 1, 1, "shop")}, `sh.waitForDrain("sh1")`, // app.users has a chunk there, and may not be balanced
			`StuckError: shard sh1 is stuck draining; you must enable balancing of 1 collection, move 1 database: ` +
				`sh.enableBalancing("app.users"), sh.enableMigrations("app.users"), sh.movePrimary("shop", <shard>)`},
		{[]bson.D{draining("ongoing", 4, 1, "shop")}, `sh.waitForDrain("sh1", {timeout: 3000})`,
			later + "MongoshRuntimeError: after 3s: shard sh1 is draining, 4 chunks left, databases to move: shop"},
		{[]bson.D{ok(field("state", "notDraining"))}, `sh.waitForDrain("sh1")`, `MongoshRuntimeError: shard sh1 is not draining: run sh.drain("sh1")`},
	} {
		if got, _ := watching(t, newServer(tc.statuses...)).Show(tc.call); got != tc.want {
			t.Errorf("%s shows %s, want %s", tc.call, got, tc.want)
		}
	}
}

// In the middle of an upgrade commitShardRemoval is refused (20): removeShard removes the shard.
func TestDrainDuringAnUpgrade(t *testing.T) {
	for _, r := range []catalog.Release{catalog.Release83, catalog.Release90} {
		shelltest.Run(t, shelltest.ConnectMock(t, mock.Config{Seed: 7, Release: r, FCV: "8.0"}),
			step{"try { db.adminCommand({commitShardRemoval: 'shard2'}) } catch (e) { e.code }", "20"},
			step{"sh.drain('shard2', {remove: true, progress: false}).removed && sh.listShards().length", "2"},
		)
	}
}

// TestDrainOnOldServers: before 8.3 a second removeShard would remove the shard,
// so looking must never send it.
func TestDrainOnOldServers(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c,
		step{"sh.enableSharding('shop', 'shard0').ok && sh.shardCollection('shop.orders', {k: 1}).ok", "1"},
		step{"sh.splitAt('shop.orders', {k: 0}).ok && sh.moveChunk('shop.orders', {k: 1}, 'shard2').ok", "1"},
		step{"sh.drainStatus('shard2').state", "notDraining"},
		step{"sh.drain('shard2').state", "started"},
		step{"[sh.drain('shard2').state, sh.drainStatus('shard2').remaining.chunks]", "[ 'ongoing', Long('1') ]"},
		step{"sh.startBalancer().ok && sh.disableBalancing('shop.orders').modifiedCount", "1"},
		step{"try { sh.waitForDrain('shard2') } catch (e) { e.message }", "shard shard2 is stuck draining; you must enable balancing of 1 collection: sh.enableBalancing(\"shop.orders\")"},
		step{"sh.enableBalancing('shop.orders').modifiedCount", "1"},
		step{"sh.waitForDrain('shard2', {progress: false}).drained", "true"},
		step{"[sh.drain('shard2').state, sh.drainStatus('shard2').state, sh.listShards().length]", "[ 'drainingComplete', 'drainingComplete', 3 ]"},
		step{"sh.drain('shard2', {remove: true}).removed && sh.listShards().length", "2"},
		step{"sh.waitForBalance('shop.orders').balanced", "true"},
	)
}

// Servers since 8.3 refuse to tell of a shard that does not drain, and leave out what is left when
// there is nothing left.
func TestDrainOnMockOf83(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7, Release: catalog.Release83})
	shelltest.Run(t, c,
		step{"sh.enableSharding('shop', 'shard0').ok && sh.shardCollection('shop.orders', {k: 1}).ok", "1"},
		step{"sh.splitAt('shop.orders', {k: 0}).ok && sh.moveChunk('shop.orders', {k: 1}, 'shard2').ok", "1"},
		step{"db.getSiblingDB('shop').users.insertOne({}).acknowledged", "true"},
		step{"sh.moveCollection('shop.users', 'shard2').ok", "1"},
		step{"sh.drainStatus('shard2').state", "notDraining"},
		step{"try { sh.waitForDrain('shard2') } catch (e) { e.message }",
			`shard shard2 is not draining: run sh.drain("shard2")`},
		step{"sh.stopBalancer().ok && sh.drain('shard2').ok", "1"},
		step{"[sh.drainStatus('shard2').remaining.chunks, sh.drainStatus('shard2').collectionsToMove]",
			"[ Long('1'), [ 'shop.users' ] ]"},
		// A chunk that the balancer moves is left: it is not stuck yet.
		step{"sh.startBalancer().ok && sh.disableBalancing('shop.orders').modifiedCount", "1"},
		step{"sh.moveCollection('shop.users', 'shard0').ok && sh.enableBalancing('shop.orders').modifiedCount", "1"},
		step{"sh.waitForDrain('shard2', {progress: false}).drained", "true"},
		step{"sh.drainStatus('shard2').state", "drainingComplete"},
		step{"sh.drain('shard2', {remove: true}).removed && sh.listShards().length", "2"},
	)
}

// resharding holds reshardCollection back until its progress was asked for.
type resharding struct {
	*shelltest.ScriptedServer
	asked chan struct{}
	once  sync.Once
}

func (r *resharding) Handle(ctx context.Context, q wire.Request) bson.Raw {
	if q.Command == "reshardCollection" {
		select {
		case <-r.asked:
		case <-ctx.Done():
		}
	}
	reply := r.ScriptedServer.Handle(ctx, q)
	if q.Command == "aggregate" && strings.Contains(q.Body.String(), "ReshardingMetrics") {
		r.once.Do(func() { close(r.asked) })
	}
	return reply
}

func TestReshardingTellsHowFarItIs(t *testing.T) {
	now := time.Now()
	h := &resharding{ScriptedServer: &shelltest.ScriptedServer{Data: shelltest.FixtureData(now), CursorRest: map[int64][]bson.Raw{}, Now: now}, asked: make(chan struct{})}
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Client, cfg.Clock = shelltest.Dial(t, h), nil })
	got, _ := c.Show(`config.set("maxTimeMS", 60000); sh.reshardCollection("app.orders", {j: 1}, {numInitialChunks: 2, interval: 1}).ok`)
	if !strings.HasPrefix(got, "resharding app.orders\n") || !strings.HasSuffix(got, "\n1") {
		t.Error(got)
	}
	if sent := strings.Join(h.TakeCommands(), "\n"); !strings.Contains(sent, `admin {"reshardCollection":"app.orders","key":{"j":1},"numInitialChunks":2,"maxTimeMS":60000}`) {
		t.Errorf("sent %s", sent)
	}
}

// A router that goes away is waited for as long as the work: one line says so
// each time that it goes.
func TestWaitsForARouter(t *testing.T) {
	gone := shelltest.Doc(field("ok", 0.0), field("code", int32(6)), field("codeName", "HostUnreachable"), field("errmsg", "no way there"))
	uneven, even := collectionStatus("chunksImbalance"), collectionStatus("")
	const goesOn = "Meanwhile the balancer continues; sh.balancerSummary() shows its progress."
	const line = "The router does not answer (no way there); waiting for it. " + goesOn + "\n"
	for _, tc := range []struct {
		replies    []bson.D // the driver asks twice
		call, want string
		lines      int
	}{
		{[]bson.D{uneven, gone, gone, gone, gone, uneven, gone, gone, even}, `sh.waitForBalance("app.orders").waitedMS`, "25000", 2},
		{[]bson.D{gone}, `sh.waitForBalance("app.orders", {timeout: 20000})`, "MongoServerError[HostUnreachable]: no way there; no answer for 20s. " + goesOn, 1},
		{[]bson.D{shelltest.Doc(field("ok", 0.0), field("code", int32(13)), field("codeName", "Unauthorized"), field("errmsg", "no"))},
			`sh.waitForBalance("app.orders", {timeout: 20000})`, "MongoServerError[Unauthorized]: no", 0},
	} {
		c := watching(t, map[string][]bson.D{"balancerCollectionStatus": tc.replies})
		if got, _ := c.Show(tc.call); got != strings.Repeat(line, tc.lines)+tc.want {
			t.Errorf("%s shows %s", tc.call, got)
		}
	}
}

// skewed is the clock of a client that is wrong.
type skewed struct {
	script.Clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

// Moves are counted from where the change log ended, whatever the client's clock
// says, and not those from before.
func TestMovesAreCountedByTheLog(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, 0, time.Hour} {
		c := shelltest.ConnectMock(t, mock.Config{Seed: 7}, func(shell *bindings.Config) { shell.Clock = skewed{shell.Clock, by} })
		shelltest.Run(t, c,
			step{"sh.enableSharding('shop', 'shard0').ok && sh.shardCollection('shop.orders', {k: 1}).ok", "1"},
			step{"sh.splitAt('shop.orders', {k: 0}).ok && sh.splitAt('shop.orders', {k: 50}).ok", "1"},
			step{"sh.moveChunk('shop.orders', {k: -1}, 'shard1').ok", "1"},
			step{"mock.fill('shop.orders', {bytes: '3GB'}).ok && sh.startBalancer().ok", "1"},
			step{"const w = sh.waitForBalance('shop.orders'); const log = db.getSiblingDB('config').changelog", ""},
			step{"w.moves == log.countDocuments({what: 'moveChunk.commit', ns: 'shop.orders'}) - 1 && w.moves > 3", "true"},
		)
	}
}
