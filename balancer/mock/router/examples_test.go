package router_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

// stateS0 is the state S0 of spec 03 §7, but for the version numbers, which
// begin at 1|0 here.
const stateS0 = `{
  "shards": [
    {"id": "shardA", "host": "rsA/a1:27018,a2:27018"},
    {"id": "shardB", "host": "rsB/b1:27018", "zones": ["EU"]},
    {"id": "shardC", "host": "rsC/c1:27018"}],
  "databases": [{"name": "shop", "primary": "shardA"}, {"name": "logs", "primary": "shardC"}],
  "collections": [
    {"ns": "shop.orders", "key": {"a": 1}, "chunks": [
      {"shard": "shardA", "max": {"a": 0}}, {"shard": "shardA", "max": {"a": 100}}, {"shard": "shardB"}]},
    {"ns": "shop.geo", "key": {"region": 1, "id": 1}, "chunks": [{"shard": "shardA"}]},
    {"ns": "logs.raw", "key": {"k": 1}, "chunks": [{"shard": "shardC"}]}]
}`

func newS0(t *testing.T) *tester {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(stateS0))
	if err != nil {
		t.Fatal(err)
	}
	c, err := mock.New(mock.Config{Topology: topology, Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	x := &tester{t: t, router: router.New(c, nil), cluster: c}
	x.ok("admin", d("balancerStop", 1))
	for i := range 10 {
		x.ok("shop", d("insert", "users", "documents", bson.A{d("_id", i)}))
	}
	return x
}

// Codes of the examples of spec 03 §7: 0 is success, noCode a failure without
// a code.
const noCode = -1

func TestExampleCodes(t *testing.T) {
	one := int32(1)
	tests := []struct {
		id, db  string
		command bson.D
		code    int
	}{
		{"E1", "test", d("ping", 1), 0},
		{"E2", "admin", d("fooBar", 1), 59},
		{"E3", "test", d("balancerStatus", 1), 13},
		{"E4", "test", d("moveRange", "shop.orders", "min", d("a", 0)), 40414},
		{"E5", "admin", d("BalancerStatus", 1), 59},
		{"E6", "admin", d("balancerStop", 1, "writeConcern", d("w", 1)), 72},
		{"E7", "admin", d("clearJumboFlag", "shop.orders", "find", d("a", 1), "apiVersion", "1", "apiStrict", true), 323},
		{"E14", "admin", d("balancerCollectionStatus", "shop.geo"), 0},
		{"E15", "admin", d("balancerCollectionStatus", "shop.users"), 118},
		{"E16", "admin", d("balancerCollectionStatus", "shop"), 73},
		{"E17", "admin", d("balancerCollectionStatus", "shop.geo", "foo", 1), 40415},
		{"E20", "admin", d("configureCollectionBalancing", "shop.orders", "chunkSize", 2000), 72},
		{"E21", "admin", d("configureCollectionBalancing", "shop.orders", "chunkSize", 0.9), 0},
		{"E22", "admin", d("configureCollectionBalancing", "no.such"), 0},
		{"E23", "admin", d("configureCollectionBalancing", "no.such", "enableBalancing", false), 118},
		{"E24", "admin", d("configureCollectionBalancing", "no.such", "defragmentCollection", false), 26},
		{"E31", "admin", d("split", "shop.orders"), noCode},
		{"E32", "admin", d("split", "shop.orders", "middle", d("a", 100)), noCode},
		{"E33", "admin", d("split", "shop.orders", "middle", d("b", 1)), noCode},
		{"E34", "admin", d("split", "shop.users", "middle", d("_id", 1)), 118},
		{"E35", "admin", d("split", "shop.orders", "find", d("a", 10)), 72},
		{"E38", "admin", d("moveChunk", "shop.orders", "find", d("a", 10), "to", "shardA"), 0},
		{"E39", "admin", d("moveChunk", "shop.orders", "find", d("b", 1), "to", "shardB"), 656450},
		{"E40", "admin", d("moveChunk", "shop.orders", "bounds", bson.A{d("a", 0), d("a", 99)}, "to", "shardB"), 656452},
		{"E41", "admin", d("moveChunk", "shop.orders", "find", d("a", 1), "bounds", bson.A{d("a", 0), d("a", 100)}, "to", "shardB"), 72},
		{"E42", "admin", d("moveChunk", "shop.orders", "find", d("a", 1), "to", "nowhere"), 70},
		{"E43", "admin", d("moveChunk", "shop.orders", "find", d("a", 1), "to", "rsB/b1:27018"), 0},
		{"E44", "admin", d("moveChunk", "shop.users", "find", d("_id", 1), "to", "shardB"), 118},
		{"E44b", "admin", d("moveRange", "shop.users", "min", d("_id", 1), "toShard", "shardB"), 26},
		{"E46", "admin", d("moveRange", "shop.orders", "min", d("a", 50), "max", d("a", 150), "toShard", "shardC"), 13388},
		{"E47", "admin", d("moveRange", "shop.orders", "toShard", "shardB"), 72},
		{"E47b", "admin", d("moveRange", "shop.orders", "min", d("a", 0), "toShard", ""), 4},
		{"E48", "admin", d("moveRange", "shop.orders", "min", d("a", 0), "max", nil, "toShard", "shardB"), 0},
		{"E50", "admin", d("mergeChunks", "shop.orders", "bounds", bson.A{d("a", 0), d("a", bson.MaxKey{})}), 13388},
		{"E51", "admin", d("mergeChunks", "shop.orders", "bounds", bson.A{d("a", 100), d("a", 0)}), 8},
		{"E52", "admin", d("mergeChunks", "shop.orders", "bounds", bson.A{d("a", 0)}), noCode},
		{"E54", "admin", d("mergeAllChunksOnShard", "shop.orders"), 40414},
		{"E54b", "admin", d("mergeAllChunksOnShard", "shop.orders", "shard", "nowhere"), 70},
		{"E54c", "admin", d("mergeAllChunksOnShard", "shop.users", "shard", "shardA"), 117},
		{"E56", "admin", d("clearJumboFlag", "shop.orders", "bounds", bson.A{d("a", 1), d("a", 2)}), 51261},
		{"E57", "admin", d("mergeChunks", "shop.orders", "bounds", bson.A{d("a", 0), d("a", 100)}), 0},
		{"E63", "admin", d("shardCollection", "shop.orders", "key", d("a", 1)), 0},
		{"E63b", "admin", d("shardCollection", "shop.orders", "key", d("b", 1)), 23},
		{"E64", "admin", d("shardCollection", "shop.x", "key", d("a", -1)), 2},
		{"E64b", "admin", d("shardCollection", "shop.x", "key", d()), 2},
		{"E64c", "admin", d("shardCollection", "shop.x", "key", d("a", "hashed", "b", "hashed")), 2},
		{"E64d", "admin", d("shardCollection", "shop.x", "key", d("a", 1.9)), 0},
		{"E65", "admin", d("shardCollection", "shop.x", "key", d("a", "hashed"), "unique", true), 72},
		{"E66", "admin", d("shardCollection", "config.foo", "key", d("a", 1)), 20},
		{"E66b", "admin", d("shardCollection", "local.foo", "key", d("a", 1)), 72},
		{"E67", "admin", d("shardCollection", "shop.users", "key", d("mail", 1)), 72},
		{"E69", "admin", d("enableSharding", "shop"), 0},
		{"E69b", "admin", d("enableSharding", "shop", "primaryShard", "shardB"), 48},
		{"E69c", "admin", d("enableSharding", "Shop"), 13297},
		{"E69d", "admin", d("enableSharding", "admin"), 72},
		{"E81", "admin", d("addShardToZone", "shardC", "zone", "US"), 0},
		{"E81b", "admin", d("addShardToZone", "nowhere", "zone", "US"), 70},
		{"E82", "admin", d("addshardtozone", "shardC", "zone", "US"), 4},
		{"E84", "admin", d("updateZoneKeyRange", "shop.geo", "min", d("region", "DE"), "max", d("region", "DF"), "zone", "Mars"), 177},
		{"E86", "admin", d("updateZoneKeyRange", "shop.geo", "min", d("id", one), "max", d("id", 2), "zone", "EU"), 61},
		{"E87", "admin", d("updateZoneKeyRange", "shop.geo", "min", d("region", "Z"), "max", d("region", "A"), "zone", "EU"), 9},
		{"E90", "admin", d("updateZoneKeyRange", "shop.geo", "min", d("region", "A"), "max", d("region", "B")), 4},
		{"E100", "admin", d("getShardVersion", "shop.users"), 26},
		{"E102", "admin", d("flushRouterConfig", 1), 0},
		{"E103", "shop", d("dataSize", "shop.orders", "min", d("a", 0)), 2},
		{"the alias of dataSize", "shop", d("datasize", "shop.orders"), 0},
		{"the alias of moveChunk", "admin", d("movechunk", "shop.orders", "find", d("a", 0), "to", "nowhere"), 70},
		{"E105", "admin", d("aggregate", 1, "pipeline", bson.A{d("$shardedDataDistribution", d("x", 1))}, "cursor", d()), 6789100},
		{"E105b", "shop", d("aggregate", 1, "pipeline", bson.A{d("$shardedDataDistribution", d())}, "cursor", d()), 6789102},
		{"E106", "shop", d("collStats", "orders", "scale", 0), 4390200},
		{"E108", "admin", d("getParameter", 1, "noSuchThing", 1), 72},
		{"E108b", "admin", d("setParameter", 1, "noSuchThing", 1), 72},
		{"E110", "shop", d("listIndexes", "nope"), 26},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			x := newS0(t)
			before := x.state()
			reply := x.run(tt.db, tt.command)
			ok, _ := reply.Lookup("ok").AsFloat64OK()
			got := noCode
			if n, isNumber := reply.Lookup("code").AsInt64OK(); isNumber {
				got = int(n)
			}
			if ok == 1 {
				got = 0
			}
			if got != tt.code {
				t.Errorf("%v answered %s, want code %d", tt.command, reply, tt.code)
			}
			if tt.code != 0 && x.state() != before {
				t.Errorf("%v was refused and changed something:\n%s\n%s", tt.command, before, x.state())
			}
			for _, gossip := range []string{"$clusterTime", "operationTime"} {
				if reply.Lookup(gossip).IsZero() {
					t.Errorf("the reply lacks %s", gossip)
				}
			}
		})
	}
}

// state is the config database, but for logs.
func (x *tester) state() string {
	text := ""
	for _, name := range []string{"collections", "chunks", "tags", "settings", "databases", "shards"} {
		text += fmt.Sprintln(x.ok("config", d("find", name, "batchSize", 1000)).Lookup("cursor"))
	}
	return text
}

// chunks are those of shop.orders: lower bound, shard, version.
func (x *tester) chunks() []string {
	x.t.Helper()
	x.cluster.Lock()
	defer x.cluster.Unlock()
	table := x.cluster.Table("shop.orders")
	var lines []string
	for chunk := range table.All() {
		min := "MinKey"
		if n, ok := table.Pattern().Bound(chunk.Min).Lookup("a").AsInt64OK(); ok {
			min = fmt.Sprint(n)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", min, chunk.Shard, chunk.Version))
	}
	return lines
}

func TestExampleStates(t *testing.T) {
	tests := []struct {
		id      string
		prepare func(*tester)
		command bson.D
		want    []string
	}{
		{"E30 split", nil, d("split", "shop.orders", "middle", d("a", 50)),
			[]string{"MinKey shardA 1|0", "0 shardA 1|3", "50 shardA 1|4", "100 shardB 1|2"}},
		{"E36 median", func(x *tester) {
			for _, a := range []int{10, 20, 30, 40} {
				x.ok("shop", d("insert", "orders", "documents", bson.A{d("a", a)}))
			}
		}, d("split", "shop.orders", "bounds", bson.A{d("a", 0), d("a", 100)}),
			[]string{"MinKey shardA 1|0", "0 shardA 1|3", "30 shardA 1|4", "100 shardB 1|2"}},
		{"E37 move a chunk", nil, d("moveChunk", "shop.orders", "find", d("a", 10), "to", "shardB"),
			[]string{"MinKey shardA 2|1", "0 shardB 2|0", "100 shardB 1|2"}},
		{"E45 move a part of a chunk", nil, d("moveRange", "shop.orders", "min", d("a", 20), "max", d("a", 40), "toShard", "shardB"),
			[]string{"MinKey shardA 2|3", "0 shardA 2|1", "20 shardB 2|0", "40 shardA 2|2", "100 shardB 1|2"}},
		{"E49 merge", nil, d("mergeChunks", "shop.orders", "bounds", bson.A{d("a", bson.MinKey{}), d("a", 100)}),
			[]string{"MinKey shardA 1|3", "100 shardB 1|2"}},
		{"E53 merge all, old enough", func(x *tester) { x.sleep(310 * time.Second) },
			d("mergeAllChunksOnShard", "shop.orders", "shard", "shardA"),
			[]string{"MinKey shardA 1|3", "100 shardB 1|2"}},
		{"E53 merge all, too young", nil, d("mergeAllChunksOnShard", "shop.orders", "shard", "shardA"),
			[]string{"MinKey shardA 1|0", "0 shardA 1|1", "100 shardB 1|2"}},
		{"E19 a new chunk size bumps the newest chunk", nil, d("configureCollectionBalancing", "shop.orders", "chunkSize", 64),
			[]string{"MinKey shardA 1|0", "0 shardA 1|1", "100 shardB 1|3"}},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			x := newS0(t)
			if tt.prepare != nil {
				tt.prepare(x)
			}
			x.ok("admin", tt.command)
			if got := x.chunks(); !slices.Equal(got, tt.want) {
				t.Errorf("chunks %q, want %q", got, tt.want)
			}
			x.cluster.Lock()
			defer x.cluster.Unlock()
			if err := x.cluster.Invariants(); err != nil {
				t.Error(err)
			}
		})
	}
}

// E26: migrations are refused while setAllowMigrations forbids them.
func TestE26MigrationsNotAllowed(t *testing.T) {
	x := newS0(t)
	x.ok("admin", d("setAllowMigrations", "shop.orders", "allowMigrations", false))
	if code := x.code("admin", d("moveChunk", "shop.orders", "find", d("a", 10), "to", "shardC")); code != 117 {
		t.Errorf("code %d, want 117", code)
	}
}

// E27, E28: the validator of config.settings.
func TestE27E28SettingsAreValidated(t *testing.T) {
	x := newS0(t)
	for _, command := range []bson.D{
		d("insert", "settings", "documents", bson.A{d("_id", "chunksize", "value", 0)}),
		d("update", "settings", "updates", bson.A{d("q", d("_id", "autosplit"), "u", d("$set", d("enabled", false)), "upsert", true)}),
	} {
		reply := x.run("config", command)
		code, _ := reply.Lookup("writeErrors", "0", "code").AsInt64OK()
		if code != 121 {
			t.Errorf("%v answered %s", command, reply)
		}
	}
}

// E83, E85, E88, E89: zones of a prefix, overlaps, and a zone in use.
func TestE83ZonesByPrefix(t *testing.T) {
	x := newS0(t)
	zone := func(min, max any, name any) bson.D {
		return d("updateZoneKeyRange", "shop.geo", "min", d("region", min), "max", d("region", max), "zone", name)
	}
	x.ok("admin", zone("DE", "DF", "EU"))
	tag := x.ok("config", d("find", "tags")).Lookup("cursor", "firstBatch", "0").Document()
	if tag.Lookup("min", "id").Type != bson.TypeMinKey || tag.Lookup("max", "id").Type != bson.TypeMinKey {
		t.Errorf("stored %s", tag)
	}
	if code := x.code("admin", zone("DA", "DZ", "EU")); code != 178 {
		t.Errorf("overlap: code %d", code)
	}
	x.ok("admin", zone("DE", "DF", "EU"))
	if code := x.code("admin", d("removeShardFromZone", "shardB", "zone", "EU")); code != 163 {
		t.Errorf("zone in use: code %d", code)
	}
	x.ok("admin", zone("DE", "DF", nil))
	x.ok("admin", zone("DE", "DF", nil))
	x.ok("admin", d("removeShardFromZone", "shardB", "zone", "EU"))
	shard := x.ok("config", d("find", "shards", "filter", d("_id", "shardB"))).Lookup("cursor", "firstBatch", "0").Document()
	if tags, ok := shard.Lookup("tags").ArrayOK(); !ok || len(tags) != 5 {
		t.Errorf("shardB is %s", shard)
	}
}

// E61: hashed collections begin with one chunk a shard.
func TestE61InitialHashedChunks(t *testing.T) {
	x := newS0(t)
	x.ok("admin", d("shardCollection", "shop.h", "key", d("_id", "hashed")))
	x.cluster.Lock()
	defer x.cluster.Unlock()
	table := x.cluster.Table("shop.h")
	if table.Len() != 3 || len(table.Owners()) != 3 {
		t.Fatalf("%d chunks on %v", table.Len(), table.Owners())
	}
	if got := table.Pattern().Bound(table.At(1).Min).Lookup("_id").Int64(); got != -3074457345618258602 {
		t.Errorf("first split point %d", got)
	}
}

// E13 and §3.6: what start and stop write, with upserted fields in order.
func TestE12E13SettingsOfStartAndStop(t *testing.T) {
	x := newS0(t)
	want := `{"_id": "balancer","mode": "off","stopped": true}`
	got := x.ok("config", d("find", "settings", "filter", d("_id", "balancer"))).Lookup("cursor", "firstBatch", "0").Document().String()
	if got != want {
		t.Errorf("settings %s, want %s", got, want)
	}
	x.ok("admin", d("balancerStart", 1, "maxTimeMS", 60000))
	want = `{"_id": "balancer","mode": "full","stopped": false}`
	got = x.ok("config", d("find", "settings", "filter", d("_id", "balancer"))).Lookup("cursor", "firstBatch", "0").Document().String()
	if got != want {
		t.Errorf("settings %s, want %s", got, want)
	}
	reply := x.ok("admin", d("balancerStatus", 1))
	if mode := reply.Lookup("mode").StringValue(); mode != "full" {
		t.Errorf("mode %q", mode)
	}
	if reply.Lookup("numBalancerRounds").Type != bson.TypeInt64 || reply.Lookup("term").Type != bson.TypeInt64 {
		t.Errorf("status %s", reply)
	}
}

// Cursors: batches, their limits, and killing.
func TestCursors(t *testing.T) {
	x := newS0(t)
	for i := range 250 {
		x.ok("shop", d("insert", "many", "documents", bson.A{d("_id", i)}))
	}
	reply := x.ok("shop", d("find", "many"))
	batch, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	id := reply.Lookup("cursor", "id").Int64()
	if len(batch) != 101 || id == 0 {
		t.Fatalf("first batch of %d, id %d", len(batch), id)
	}
	reply = x.ok("shop", d("getMore", id, "collection", "many", "batchSize", 100))
	if batch, _ = reply.Lookup("cursor", "nextBatch").Array().Values(); len(batch) != 100 {
		t.Errorf("second batch of %d", len(batch))
	}
	if code := x.code("shop", d("getMore", id, "collection", "other")); code != 13 {
		t.Errorf("another namespace: code %d", code)
	}
	x.ok("shop", d("killCursors", "many", "cursors", bson.A{id}))
	if code := x.code("shop", d("getMore", id, "collection", "many")); code != 43 {
		t.Errorf("a killed cursor: code %d", code)
	}
	reply = x.ok("shop", d("find", "many", "limit", 3, "sort", d("_id", -1), "projection", d("_id", 1)))
	if got := reply.Lookup("cursor", "firstBatch", "0", "_id").Int32(); got != 249 || reply.Lookup("cursor", "id").Int64() != 0 {
		t.Errorf("sorted: %s", reply)
	}
	for _, backwards := range []bson.D{d("find", "many", "limit", 3, "sort", d("$natural", -1)), d("find", "many", "limit", 3, "hint", d("$natural", -1))} {
		reply = x.ok("shop", backwards)
		if got := reply.Lookup("cursor", "firstBatch", "2", "_id").Int32(); got != 247 {
			t.Errorf("from the end: %s", reply)
		}
	}
	reply = x.ok("shop", d("find", "many", "limit", 3, "sort", d("$natural", 1)))
	if got := reply.Lookup("cursor", "firstBatch", "2", "_id").Int32(); got != 2 {
		t.Errorf("as they come: %s", reply)
	}
	if code := x.code("shop", d("aggregate", "many", "pipeline", bson.A{d("$changeStream", d())}, "cursor", d())); code != 238 {
		t.Errorf("change stream: code %d", code)
	}
	if code := x.code("shop", d("find", "many", "tailable", true)); code != 2 {
		t.Errorf("tailable: code %d", code)
	}
	for _, wrong := range []bson.D{d("$natural", 0), d("$natural", "x"), d("$natural", 1, "a", 1)} {
		if code := x.code("shop", d("find", "many", "sort", wrong)); code != 2 {
			t.Errorf("sort %v: code %d", wrong, code)
		}
	}
}

// An awaitable hello answers when its time is over, and needs both arguments.
func TestHello(t *testing.T) {
	x := newS0(t)
	reply := x.ok("admin", d("hello", 1, "helloOk", true))
	if reply.Lookup("msg").StringValue() != "isdbgrid" || !reply.Lookup("isWritablePrimary").Boolean() || !reply.Lookup("helloOk").Boolean() {
		t.Errorf("hello %s", reply)
	}
	if !x.ok("admin", d("isMaster", 1)).Lookup("ismaster").Boolean() {
		t.Error("isMaster without ismaster")
	}
	if code := x.code("admin", d("hello", 1, "maxAwaitTimeMS", 1)); code != 51760 {
		t.Errorf("code %d", code)
	}
	x.ok("admin", d("hello", 1, "maxAwaitTimeMS", 1, "topologyVersion", reply.Lookup("topologyVersion")))
}
