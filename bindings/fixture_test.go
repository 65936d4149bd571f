package bindings

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// fixture is the scripted server of spec 04, Appendix B: enough of a mongos to
// answer the observed pairs. It notes every command it gets.
type fixture struct {
	mu   sync.Mutex
	sent []sentCommand
	data map[string][]bson.Raw // by namespace
	next map[int64][]bson.Raw  // rest of open cursors
	last int64
	// answers replace what the fixture would do, by command name.
	answers map[string]bson.D
	now     time.Time
}

type sentCommand struct {
	database string
	body     bson.Raw
}

// Handle answers as the scripted server did.
func (f *fixture) Handle(_ context.Context, r wire.Request) bson.Raw {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.Command {
	case "hello", "isMaster", "ismaster", "endSessions", "ping":
	default:
		f.sent = append(f.sent, sentCommand{r.Database, withoutFields(r.Body, "lsid", "$clusterTime", "$db", "$readPreference", "txnNumber")})
	}
	reply, err := f.answer(r)
	if err != nil {
		return errorReply(err)
	}
	return mustMarshal(reply)
}

func withoutFields(doc bson.Raw, names ...string) bson.Raw {
	var d bson.D
	elems, _ := doc.Elements()
	for _, el := range elems {
		if !slices.Contains(names, el.Key()) {
			d = append(d, bson.E{Key: el.Key(), Value: el.Value()})
		}
	}
	return mustMarshal(d)
}

func mustMarshal(v any) bson.Raw {
	raw, err := bson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func errorReply(err error) bson.Raw {
	code, _ := mongoerr.CodeOf(err)
	e := mongoerr.New(code, "%s", err)
	return mustMarshal(bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: err.Error()}, {Key: "code", Value: int32(code)}, {Key: "codeName", Value: e.CodeName()}})
}

var fixtureGossip = bson.D{
	{Key: "$clusterTime", Value: bson.D{
		{Key: "clusterTime", Value: bson.Timestamp{T: 1700000100, I: 5}},
		{Key: "signature", Value: bson.D{{Key: "hash", Value: bson.Binary{Data: make([]byte, 20)}}, {Key: "keyId", Value: int64(0)}}},
	}},
	{Key: "operationTime", Value: bson.Timestamp{T: 1700000100, I: 5}},
}

func ok(fields ...bson.E) bson.D { return append(fields, bson.E{Key: "ok", Value: 1.0}) }

func field(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

func (f *fixture) answer(r wire.Request) (bson.D, error) {
	if a, found := f.answers[r.Command]; found {
		return a, nil
	}
	first, _ := r.Body.IndexErr(0)
	collection, _ := first.Value().StringValueOK()
	ns := r.Database + "." + collection
	switch r.Command {
	case "hello", "isMaster", "ismaster":
		return ok(field("ismaster", true), field("isWritablePrimary", true), field("msg", "isdbgrid"), field("maxBsonObjectSize", int32(16<<20)),
			field("maxMessageSizeBytes", int32(48000000)), field("maxWriteBatchSize", int32(100000)), field("localTime", f.now),
			field("logicalSessionTimeoutMinutes", int32(30)), field("minWireVersion", int32(0)), field("maxWireVersion", int32(25)), field("helloOk", true)), nil
	case "ping", "endSessions", "killCursors":
		return ok(), nil
	case "find":
		return f.find(r, ns)
	case "aggregate":
		return f.aggregate(r, ns)
	case "getMore":
		return f.getMore(r, ns)
	case "count", "distinct":
		return f.countOrDistinct(r, ns)
	case "insert", "update", "delete", "findAndModify":
		return f.write(r, ns)
	case "listCollections":
		return f.listCollections(r)
	case "listIndexes":
		return f.cursor(ns, []bson.Raw{
			mustMarshal(bson.D{field("v", int32(2)), field("key", bson.D{field("_id", int32(1))}), field("name", "_id_")}),
			mustMarshal(bson.D{field("v", int32(2)), field("key", bson.D{field("k", int32(1))}), field("name", "k_1")}),
		}, 0), nil
	case "dropIndexes":
		return ok(field("nIndexesWas", int32(2))), nil
	case "drop":
		if f.data[ns] == nil {
			return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns not found")
		}
		return ok(), nil
	case "moveChunk":
		if to, _ := r.Body.Lookup("to").StringValueOK(); to == "bad" {
			return nil, mongoerr.New(70, "Shard 'bad' not found")
		}
	case "checkMetadataConsistency":
		return f.cursor(ns, nil, 0), nil
	}
	if reply, found := fixtureReplies()[r.Command]; found {
		return reply, nil
	}
	if slices.Contains(strings.Fields(fixtureDDL), r.Command) {
		return append(ok(), fixtureGossip...), nil
	}
	return nil, mongoerr.New(59, "no such command: '%s'", r.Command)
}

const fixtureDDL = `enableSharding shardCollection reshardCollection commitReshardCollection abortReshardCollection addShard
	addShardToZone removeShardFromZone updateZoneKeyRange split moveChunk moveRange setAllowMigrations balancerStart balancerStop
	moveCollection abortMoveCollection unshardCollection abortUnshardCollection shardDrainingStatus create createIndexes
	getTransitionToDedicatedConfigServerStatus renameCollection collMod profile setParameter dropDatabase killOp explainx
	removeShard mergeChunks mergeAllChunksOnShard clearJumboFlag refineCollectionShardKey movePrimary configureCollectionBalancing
	getShardMap analyzeShardKey configureQueryAnalyzer validate convertToCapped createUser dropUser planCacheClear`

func fixtureReplies() map[string]bson.D {
	return map[string]bson.D{
		"listDatabases": ok(field("databases", bson.A{
			bson.D{field("name", "admin"), field("sizeOnDisk", int64(40960))}, bson.D{field("name", "app"), field("sizeOnDisk", int64(123456789))},
			bson.D{field("name", "config"), field("sizeOnDisk", int64(3500000))}, bson.D{field("name", "tiny"), field("sizeOnDisk", int64(500))},
		})),
		"buildInfo":      ok(field("version", "8.0.4"), field("bits", int32(64))),
		"balancerStatus": ok(field("mode", "full"), field("inBalancerRound", false), field("numBalancerRounds", int64(77)), field("term", int64(1))),
		"balancerCollectionStatus": ok(field("chunkSize", int32(128)), field("balancerCompliant", false),
			field("firstComplianceViolation", "chunksImbalance")),
		"listShards": ok(field("shards", bson.A{fixtureShards()[0], fixtureShards()[1]})),
		"getShardVersion": ok(field("configServer", "cfg/h:27019"), field("inShardedOpt", true),
			field("global", bson.Timestamp{T: 25})),
		"collStats": ok(field("ns", "app.orders"), field("count", int32(1))),
		"dbStats":   ok(field("db", "app"), field("collections", int32(1)), field("objects", int32(5)), field("dataSize", int32(100))),
		"usersInfo": ok(field("users", bson.A{bson.D{field("_id", "app.bob"), field("user", "bob"), field("db", "app"),
			field("roles", bson.A{bson.D{field("role", "readWrite"), field("db", "app")}}), field("mechanisms", bson.A{"SCRAM-SHA-256"})}})),
		"explain": ok(field("queryPlanner", bson.D{field("winningPlan", bson.D{field("stage", "SHARD_MERGE")})}), field("serverInfo", bson.D{field("host", "x")})),
		"getLog":  ok(field("names", bson.A{"global", "startupWarnings"})),
	}
}

func (f *fixture) cursor(ns string, docs []bson.Raw, batch int) bson.D {
	id := int64(0)
	if batch == 0 {
		batch = 101
	}
	if len(docs) > batch {
		f.last++
		id = f.last
		f.next[id] = docs[batch:]
		docs = docs[:batch]
	}
	list := bson.A{}
	for _, d := range docs {
		list = append(list, d)
	}
	return ok(field("cursor", bson.D{field("firstBatch", list), field("id", id), field("ns", ns)}))
}

func (f *fixture) getMore(r wire.Request, ns string) (bson.D, error) {
	id, _ := r.Body.Lookup("getMore").AsInt64OK()
	docs := f.next[id]
	n := len(docs)
	if size := int(intOf(r.Body, "batchSize")); size > 0 {
		n = min(n, size)
	}
	if n == len(docs) {
		delete(f.next, id)
		id = 0
	} else {
		f.next[id] = docs[n:]
	}
	list := bson.A{}
	for _, d := range docs[:n] {
		list = append(list, d)
	}
	return ok(field("cursor", bson.D{field("nextBatch", list), field("id", id), field("ns", ns)})), nil
}

func (f *fixture) find(r wire.Request, ns string) (bson.D, error) {
	if ns == "app.boom" {
		return nil, mongoerr.New(13, "not authorized on app to execute command")
	}
	filterDoc, _ := r.Body.Lookup("filter").DocumentOK()
	docs, err := f.matching(ns, filterDoc)
	if err != nil {
		return nil, err
	}
	if spec, isDoc := r.Body.Lookup("sort").DocumentOK(); isDoc {
		if first, err := spec.IndexErr(0); err != nil || first.Key() != "$natural" {
			order, err := store.CompileSort(spec)
			if err != nil {
				return nil, err
			}
			docs = slices.Clone(docs)
			slices.SortStableFunc(docs, order.Compare)
		}
	}
	if n := int(intOf(r.Body, "skip")); n > 0 {
		docs = docs[min(n, len(docs)):]
	}
	if n := int(intOf(r.Body, "limit")); n > 0 {
		docs = docs[:min(n, len(docs))]
	}
	if spec, isDoc := r.Body.Lookup("projection").DocumentOK(); isDoc {
		p, err := store.CompileProjection(spec)
		if err != nil {
			return nil, err
		}
		projected := make([]bson.Raw, len(docs))
		for i, d := range docs {
			if projected[i], err = p.Apply(d); err != nil {
				return nil, err
			}
		}
		docs = projected
	}
	return f.cursor(ns, docs, int(intOf(r.Body, "batchSize"))), nil
}

func (f *fixture) matching(ns string, filter bson.Raw) ([]bson.Raw, error) {
	if filter == nil {
		filter = emptyDocument
	}
	compiled, err := store.CompileFilter(filter)
	if err != nil {
		return nil, err
	}
	var docs []bson.Raw
	for _, d := range f.data[ns] {
		if compiled.Match(d) {
			docs = append(docs, d)
		}
	}
	return docs, nil
}

func (f *fixture) aggregate(r wire.Request, ns string) (bson.D, error) {
	array, _ := r.Body.Lookup("pipeline").ArrayOK()
	values, _ := array.Values()
	docs := f.data[ns]
	var stages []bson.Raw
	for i, v := range values {
		stage := v.Document()
		el, _ := stage.IndexErr(0)
		if i == 0 {
			if fixed, found := fixtureSource(el.Key()); found {
				docs = fixed
				continue
			}
		}
		stages = append(stages, stage)
	}
	p, err := store.CompilePipeline(stages, store.Env{Now: func() time.Time { return f.now }})
	if err != nil {
		return nil, err
	}
	var out []bson.Raw
	for doc, err := range p.Run(context.Background(), slices.Values(docs)) {
		if err != nil {
			return nil, err
		}
		out = append(out, doc)
	}
	return f.cursor(ns, out, int(intOf(r.Body, "cursor", "batchSize"))), nil
}

// fixtureSource is what stages that start a pipeline give.
func fixtureSource(stage string) ([]bson.Raw, bool) {
	switch stage {
	case "$collStats":
		stats := func(shard string, size, count, orphans, storage int32) bson.Raw {
			return mustMarshal(bson.D{field("shard", shard), field("storageStats", bson.D{
				field("size", size), field("count", count), field("avgObjSize", int32(100)), field("numOrphanDocs", orphans),
				field("storageSize", storage), field("totalIndexSize", int32(40960)), field("totalSize", storage+40960),
				field("indexSizes", bson.D{field("_id_", int32(20480)), field("k_1", int32(20480))}), field("nindexes", int32(2)),
				field("capped", false), field("scaleFactor", int32(1)),
			})})
		}
		return []bson.Raw{stats("sh0", 3000000, 30000, 10, 1500000), stats("sh1", 2000000, 20000, 0, 1000000)}, true
	case "$shardedDataDistribution":
		return []bson.Raw{mustMarshal(bson.D{field("ns", "app.orders"), field("shards", bson.A{
			bson.D{field("shardName", "sh0"), field("numOrphanedDocs", int32(10)), field("numOwnedDocuments", int32(29990)),
				field("ownedSizeBytes", int32(2999000)), field("orphanedSizeBytes", int32(1000))},
			bson.D{field("shardName", "sh1"), field("numOrphanedDocs", int32(0)), field("numOwnedDocuments", int32(20000)),
				field("ownedSizeBytes", int32(2000000)), field("orphanedSizeBytes", int32(0))},
		})})}, true
	case "$currentOp":
		return []bson.Raw{mustMarshal(bson.D{field("type", "op"), field("host", "m0:27017"), field("op", "command"),
			field("ns", "app.orders"), field("desc", "conn1"), field("secs_running", int64(3))})}, true
	}
	return nil, false
}

func (f *fixture) countOrDistinct(r wire.Request, ns string) (bson.D, error) {
	query, _ := r.Body.Lookup("query").DocumentOK()
	docs, err := f.matching(ns, query)
	if err != nil {
		return nil, err
	}
	if r.Command == "distinct" {
		key, _ := r.Body.Lookup("key").StringValueOK()
		list := bson.A{}
		for _, v := range store.Distinct(key, slices.Values(docs)) {
			list = append(list, v)
		}
		return ok(field("values", list)), nil
	}
	return ok(field("n", int32(len(docs)))), nil
}

func (f *fixture) listCollections(r wire.Request) (bson.D, error) {
	infos := []bson.Raw{}
	for _, c := range [][2]string{{"orders", "collection"}, {"users", "collection"}, {"vw", "view"}, {"system.views", "collection"}, {"ts", "timeseries"}} {
		infos = append(infos, mustMarshal(bson.D{field("name", c[0]), field("type", c[1]), field("options", bson.D{})}))
	}
	filterDoc, _ := r.Body.Lookup("filter").DocumentOK()
	f.data["$cmd.listCollections"] = infos
	defer delete(f.data, "$cmd.listCollections")
	docs, err := f.matching("$cmd.listCollections", filterDoc)
	return f.cursor(r.Database+".$cmd.listCollections", docs, 0), err
}

func jsonOf(v bson.RawValue) string { return oldJSON(v, "", true) }

// write stores inserts; updates and deletes only count.
func (f *fixture) write(r wire.Request, ns string) (bson.D, error) {
	list := func(name string) []bson.Raw {
		array, _ := r.Body.Lookup(name).ArrayOK()
		values, _ := array.Values()
		docs := make([]bson.Raw, len(values))
		for i, v := range values {
			docs[i] = v.Document()
		}
		return docs
	}
	n := int32(0)
	switch r.Command {
	case "insert":
		failed := bson.A{}
		for i, doc := range list("documents") {
			if dup, _ := f.matching(ns, mustMarshal(bson.D{field("_id", doc.Lookup("_id"))})); len(dup) > 0 {
				failed = append(failed, bson.D{field("index", int32(i)), field("code", int32(11000)), field("keyPattern", bson.D{field("_id", int32(1))}),
					field("keyValue", bson.D{field("_id", doc.Lookup("_id"))}),
					field("errmsg", fmt.Sprintf("E11000 duplicate key error collection: %s index: _id_ dup key: { _id: %s }", ns, jsonOf(doc.Lookup("_id"))))})
				continue
			}
			f.data[ns] = append(f.data[ns], doc)
			n++
		}
		reply := ok(field("n", n))
		if len(failed) > 0 {
			reply = append(reply, field("writeErrors", failed))
		}
		return reply, nil
	case "update":
		var upserted bson.A
		for i, st := range list("updates") {
			docs, err := f.matching(ns, st.Lookup("q").Document())
			if err != nil {
				return nil, err
			}
			n += int32(min(1, len(docs)))
			if len(docs) == 0 && truthyAt(st, "upsert") {
				upserted = append(upserted, bson.D{field("index", int32(i)), field("_id", st.Lookup("q", "_id"))})
			}
		}
		reply := ok(field("n", n+int32(len(upserted))), field("nModified", n))
		if upserted != nil {
			reply = append(reply, field("upserted", upserted))
		}
		return reply, nil
	case "delete":
		for _, st := range list("deletes") {
			docs, err := f.matching(ns, st.Lookup("q").Document())
			if err != nil {
				return nil, err
			}
			n += int32(min(1, len(docs)))
		}
		return ok(field("n", n)), nil
	}
	return ok(field("value", f.data[ns][0]), field("lastErrorObject", bson.D{field("n", int32(1))})), nil
}

func fixtureShards() []bson.D {
	shard := func(id, host string, at uint32) bson.D {
		return bson.D{field("_id", id), field("host", host), field("state", int32(1)), field("topologyTime", bson.Timestamp{T: at, I: 2}), field("replSetConfigVersion", int64(-1))}
	}
	return []bson.D{
		append(shard("sh0", "sh0/h0:27018,h1:27018", 1700000000), field("tags", bson.A{"EU"})),
		shard("sh1", "sh1/h2:27018", 1700000001),
	}
}

func fixtureData(now time.Time) map[string][]bson.Raw {
	data := map[string][]bson.Raw{}
	add := func(ns string, docs ...bson.D) {
		for _, d := range docs {
			data[ns] = append(data[ns], mustMarshal(d))
		}
	}
	for i := range int32(45) {
		add("app.orders", bson.D{field("_id", i), field("a", fmt.Sprintf("v%d", i))})
	}
	dec, _ := bson.ParseDecimal128("1.50")
	add("app.users", bson.D{field("_id", int32(1)), field("h", int64(123)), field("name", "ann"), field("tags", bson.A{"a", "b"}),
		field("nested", bson.D{field("x", bson.D{field("y", bson.D{field("z", int32(1))})})}), field("when", bson.DateTime(0)), field("dec", dec),
		field("dbl", 2.0), field("i32", int32(7)), field("dd", 3.0)})
	clusterID, _ := bson.ObjectIDFromHex("65a000000000000000000001")
	add("config.version", bson.D{field("_id", int32(1)), field("clusterId", clusterID)})
	add("config.shards", fixtureShards()...)
	for i, id := range []string{"m0:27017", "m1:27017"} {
		add("config.mongos", bson.D{field("_id", id), field("mongoVersion", "8.0.4"), field("ping", now.Add(-time.Duration(i+1)*time.Second))})
	}
	add("config.settings", bson.D{field("_id", "balancer"), field("stopped", false), field("mode", "full"),
		field("activeWindow", bson.D{field("start", "23:00"), field("stop", "6:00")})})
	uuid := func(first byte) bson.Binary {
		return bson.Binary{Subtype: 4, Data: []byte{first, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55}}
	}
	version := func(first byte, i uint32) bson.D {
		return bson.D{field("uuid", uuid(first)), field("timestamp", bson.Timestamp{T: 1700000000, I: i}), field("lastMod", int32(1))}
	}
	add("config.databases", bson.D{field("_id", "app"), field("primary", "sh0"), field("version", version(0x11, 1))},
		bson.D{field("_id", "test"), field("primary", "sh1"), field("version", version(0x21, 2))})
	add("config.collections",
		bson.D{field("_id", "app.orders"), field("uuid", uuid(0x11)), field("key", bson.D{field("k", int32(1))}), field("unique", false),
			field("noBalance", false), field("timestamp", bson.Timestamp{T: 1700000000, I: 3})},
		bson.D{field("_id", "app.users"), field("uuid", uuid(0x21)), field("key", bson.D{field("h", "hashed")}), field("unique", true),
			field("noBalance", true), field("permitMigrations", false), field("timestamp", bson.Timestamp{T: 1700000000, I: 4})})
	bound := func(i int) any {
		switch i {
		case 0:
			return bson.MinKey{}
		case 25:
			return bson.MaxKey{}
		}
		return int32(i * 100)
	}
	for i := range 25 {
		shard := "sh0"
		if i >= 15 {
			shard = "sh1"
		}
		chunk := bson.D{field("uuid", uuid(0x11)), field("min", bson.D{field("k", bound(i))}), field("max", bson.D{field("k", bound(i+1))}),
			field("shard", shard), field("lastmod", bson.Timestamp{T: uint32(i + 1)})}
		if i == 3 {
			chunk = append(chunk, field("jumbo", true))
		}
		add("config.chunks", chunk)
	}
	add("config.chunks",
		bson.D{field("uuid", uuid(0x21)), field("min", bson.D{field("h", bson.MinKey{})}), field("max", bson.D{field("h", int64(0))}), field("shard", "sh0"), field("lastmod", bson.Timestamp{T: 1})},
		bson.D{field("uuid", uuid(0x21)), field("min", bson.D{field("h", int64(0))}), field("max", bson.D{field("h", bson.MaxKey{})}), field("shard", "sh1"), field("lastmod", bson.Timestamp{T: 1, I: 1})})
	add("config.tags", bson.D{field("ns", "app.orders"), field("tag", "EU"), field("min", bson.D{field("k", int32(0))}), field("max", bson.D{field("k", int32(500))})})
	return data
}

// connected is a shell on a fixture.
type connected struct {
	*Shell
	*fixture
	cfg       Config
	out, errs *bytes.Buffer
}

func connect(t *testing.T, change ...func(*Config)) *connected {
	t.Helper()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := &fixture{data: fixtureData(now), next: map[int64][]bson.Raw{}, now: now}
	client := dial(t, f)
	c := &connected{fixture: f, out: &bytes.Buffer{}, errs: &bytes.Buffer{}}
	cfg := Config{
		Client: client, Address: "mongodb://user:secret@fixture:27017/", Database: "app", Deployment: "direct: mongos",
		Stdout: c.out, Stderr: c.errs, Clock: &stillClock{now: now}, Interactive: true, Version: "1.2.3",
	}
	for _, f := range change {
		f(&cfg)
	}
	c.cfg = cfg
	c.renew(t)
	return c
}

// script sets answers the fixture gives in place of its own, by command.
func (c *connected) script(answers map[string]bsonDoc) {
	c.fixture.mu.Lock()
	defer c.fixture.mu.Unlock()
	c.fixture.answers = answers
}

// renew makes a new shell on the same connection, with the data as at first.
func (c *connected) renew(t *testing.T) {
	t.Helper()
	s, err := New(c.cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Shell = s
	c.fixture.mu.Lock()
	defer c.fixture.mu.Unlock()
	c.fixture.data, c.fixture.last = fixtureData(c.fixture.now), 0
}

// dial serves a handler in memory and connects a client to it.
func dial(t testing.TB, handler wire.Handler) *mongo.Client {
	t.Helper()
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: handler}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(context.Background(), pipe)
	}()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://fixture:27017/?directConnection=true").SetDialer(pipe).SetServerMonitoringMode("poll"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Disconnect(context.Background())
		_ = pipe.Close()
		_ = server.Close()
		<-served
	})
	return client
}

// stillClock is a clock that moves only when somebody sleeps.
type stillClock struct {
	mu    sync.Mutex
	now   time.Time
	slept time.Duration
}

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept += d
	return ctx.Err()
}

// show evaluates an input as the REPL does: what it wrote and its result, or its
// error, as text.
func (c *connected) show(input string) (text string, failed bool) {
	c.out.Reset()
	c.errs.Reset()
	r, err := c.Eval(context.Background(), "repl", input)
	result := ""
	if err == nil {
		result, err = c.Render(context.Background(), r)
	}
	text = c.errs.String() + c.out.String()
	var script *ScriptError
	switch {
	case err == nil && result != "":
		text += result + "\n"
	case asError(err, &script):
		text += script.Text() + "\n"
	case err != nil:
		text += err.Error() + "\n"
	}
	return strings.TrimSuffix(text, "\n"), err != nil
}

// commands are those sent since the last call, as "database {…}".
func (f *fixture) commands() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []string
	for _, c := range f.sent {
		text, err := bson.MarshalExtJSON(c.body, false, false)
		if err != nil {
			text = []byte(err.Error())
		}
		list = append(list, c.database+" "+string(text))
	}
	f.sent = nil
	return list
}

type (
	bsonDoc     = bson.D
	rawDocument = bson.Raw
)

func bsonD(fields ...bson.E) bson.D { return fields }
