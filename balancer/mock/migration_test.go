package mock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

// meeting is a migration of [0, 100) from a to b, 10 documents in it, that a
// test does something to while it is under way.
type meeting struct {
	*model
	t     *testing.T
	errs  []error
	ended bool
}

func newMeeting(t *testing.T, parameters map[string]any) *meeting {
	t.Helper()
	m := newCluster(t, `{
	  "shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
	  "databases": [{"name": "db", "primary": "a"}],
	  "collections": [{"ns": "db.c", "key": {"k": 1}, "chunks": [
	    {"shard": "a", "max": {"k": 0}}, {"shard": "a", "max": {"k": 100}}, {"shard": "b"}]}]
	}`, mock.Config{Parameters: parameters})
	m.ok(t, "admin", d("balancerStop", 1))
	for k := range 10 {
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", k, "k", k)}))
	}
	return &meeting{model: m, t: t}
}

func (m *meeting) start(req mock.MoveRequest) {
	m.t.Helper()
	if req.Namespace == "" {
		req = mock.MoveRequest{Namespace: ns, From: "a", To: "b", Min: raw(m.t, d("k", 0)), Max: raw(m.t, d("k", 100)),
			MaxChunkSizeBytes: 1 << 20}
	}
	m.cluster.Lock()
	defer m.cluster.Unlock()
	m.cluster.Migrations().Start(req, func(err error) {
		m.errs = append(m.errs, err)
		m.ended = true
	})
}

func raw(t testing.TB, doc bson.D) bson.Raw {
	t.Helper()
	data, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// copying moves time on until the recipient has begun to copy.
func (m *meeting) copying() {
	m.t.Helper()
	m.sleep(30 * time.Millisecond)
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if running := m.cluster.Migrations().List(); len(running) != 1 || running[0].Step < 3 {
		m.t.Fatalf("under way: %v", running)
	}
}

// owner of the chunk at k: 1.
func (m *meeting) owner() string {
	m.t.Helper()
	m.cluster.Lock()
	defer m.cluster.Unlock()
	table := m.cluster.ConfigDB().Table(ns)
	if table == nil {
		return ""
	}
	key, err := table.Pattern().ParseKey(raw(m.t, d("k", 1)))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(table.Find(key).Shard)
}

// entries of the change log about migrations: what, shard, note.
func (m *meeting) entries() []string {
	m.t.Helper()
	reply := m.ok(m.t, "config", d("find", "changelog", "filter", d("what", d("$regex", "^moveChunk")), "batchSize", 1000))
	docs, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		m.t.Fatal(err)
	}
	var list []string
	for _, v := range docs {
		doc := v.Document()
		line := doc.Lookup("what").StringValue() + " " + doc.Lookup("shard").StringValue()
		if note, ok := doc.Lookup("details", "note").StringValueOK(); ok {
			line += " " + note
		}
		list = append(list, line)
	}
	return list
}

// writeErrorCode returns the code of a reply's first write error; 0 for none.
func writeErrorCode(reply bson.Raw) int64 {
	code, _ := reply.Lookup("writeErrors", "0", "code").AsInt64OK()
	return code
}

func codeOf(t testing.TB, err error) int32 {
	t.Helper()
	if err == nil {
		return 0
	}
	code, ok := mongoerr.CodeOf(err)
	if !ok {
		t.Errorf("%v has no code", err)
	}
	return int32(code)
}

// visible counts what a router shows, and orphaned what waits for deletion.
func (m *meeting) visible() int {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	n := 0
	for range m.cluster.Documents(ns, nil) {
		n++
	}
	return n
}

func (m *meeting) orphaned() (n int64) {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	for _, part := range m.cluster.Statistics().Collection(ns) {
		n += part.Orphans
	}
	return n
}

// rules/02-migration-and-metadata §5.6, outcome by failure point: who owns the range afterwards, what
// the caller gets, which entries the change log has.
func TestMigrationOutcomes(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(x *meeting)
		req     mock.MoveRequest
		meet    func(x *meeting) // while the recipient copies; nil: nothing
		code    int32            // 0 is success
		owner   string
		log     []string
		visible int
		twice   bool // one _id is on two shards on purpose
	}{
		{name: "nothing happens", owner: "b", visible: 10,
			log: []string{"moveChunk.start a", "moveChunk.to b success", "moveChunk.commit a", "moveChunk.from a success"}},
		{name: "migrations forbidden before", code: 117, owner: "a", visible: 10,
			prepare: func(x *meeting) { x.ok(x.t, "admin", d("setAllowMigrations", ns, "allowMigrations", false)) },
			log:     []string{"moveChunk.start a", "moveChunk.to b success", "moveChunk.from a aborted"}},
		{name: "migrations forbidden, and the donor has heard of it", code: 117, owner: "a", visible: 10,
			prepare: func(x *meeting) {
				x.ok(x.t, "admin", d("setAllowMigrations", ns, "allowMigrations", false))
				x.ok(x.t, "admin", d("configureCollectionBalancing", ns, "chunkSize", 1))
			},
			log: []string{"moveChunk.from a aborted"}},
		{name: "too big", code: 153, owner: "a", visible: 10,
			req: mock.MoveRequest{MaxChunkSizeBytes: 1}, log: []string{"moveChunk.start a", "moveChunk.error a",
				"moveChunk.from a aborted"}},
		{name: "the recipient is busy", code: 117, owner: "a", visible: 10,
			prepare: func(x *meeting) {
				x.start(mock.MoveRequest{Namespace: ns, From: "b", To: "c", Min: raw(x.t, d("k", 100)),
					Max: raw(x.t, d("k", bson.MaxKey{})), MaxChunkSizeBytes: 1 << 20})
			},
			log: []string{"moveChunk.start b", "moveChunk.start a", "moveChunk.error a", "moveChunk.from a aborted",
				"moveChunk.to c success", "moveChunk.commit b", "moveChunk.from b success"}},
		{name: "migrations forbidden meanwhile", code: 11601, owner: "a", visible: 10,
			meet: func(x *meeting) { x.ok(x.t, "admin", d("setAllowMigrations", ns, "allowMigrations", false)) },
			log:  []string{"moveChunk.start a", "moveChunk.to b aborted", "moveChunk.error a", "moveChunk.from a aborted"}},
		{name: "an index is created meanwhile", code: 11601, owner: "a", visible: 10,
			meet: func(x *meeting) {
				x.ok(x.t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("v", 1), "name", "v")}))
			},
			log: []string{"moveChunk.start a", "moveChunk.to b aborted", "moveChunk.error a", "moveChunk.from a aborted"}},
		{name: "an index is dropped meanwhile", code: 11601, owner: "a", visible: 10,
			prepare: func(x *meeting) {
				x.ok(x.t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("v", 1), "name", "v")}))
			},
			meet: func(x *meeting) { x.ok(x.t, "db", d("dropIndexes", "c", "index", "v")) },
			log:  []string{"moveChunk.start a", "moveChunk.to b aborted", "moveChunk.error a", "moveChunk.from a aborted"}},
		{name: "an index that is there is created meanwhile", owner: "b", visible: 10,
			meet: func(x *meeting) {
				x.ok(x.t, "db", d("createIndexes", "c", "indexes", bson.A{d("key", d("k", 1), "name", "k_1")}))
			},
			log: []string{"moveChunk.start a", "moveChunk.to b success", "moveChunk.commit a", "moveChunk.from a success"}},
		{name: "the config server alone forbids migrations", code: 117, owner: "a", visible: 10,
			meet: func(x *meeting) {
				x.ok(x.t, "config", d("update", "collections", "updates",
					bson.A{d("q", d("_id", ns), "u", d("$set", d("allowMigrations", false)))}))
			},
			log: []string{"moveChunk.start a", "moveChunk.to b success", "moveChunk.from a aborted"}},
		{name: "the recipient begins to drain", code: 70, owner: "a", visible: 10,
			meet: func(x *meeting) {
				x.ok(x.t, "config", d("update", "shards", "updates",
					bson.A{d("q", d("_id", "b"), "u", d("$set", d("draining", true)))}))
			},
			log: []string{"moveChunk.start a", "moveChunk.to b success", "moveChunk.from a aborted"}},
		{name: "the chunk is merged by merge-all", code: 117, owner: "a", visible: 10,
			meet: func(x *meeting) { x.ok(x.t, "admin", d("mergeAllChunksOnShard", ns, "shard", "a")) },
			log:  []string{"moveChunk.start a", "moveChunk.to b success", "moveChunk.from a aborted"}},
		{name: "the collection is dropped", code: 96, owner: "", visible: 0,
			meet: func(x *meeting) { x.ok(x.t, "db", d("drop", "c")) },
			log:  []string{"moveChunk.start a", "moveChunk.to b aborted", "moveChunk.error a", "moveChunk.from a aborted"}},
		{name: "the collection is dropped and sharded again", code: 96, owner: "a", visible: 1,
			meet: func(x *meeting) {
				x.ok(x.t, "db", d("drop", "c"))
				x.ok(x.t, "admin", d("shardCollection", ns, "key", d("k", 1)))
				x.ok(x.t, "db", d("insert", "c", "documents", bson.A{d("_id", 3, "k", 3)}))
			},
			log: []string{"moveChunk.start a", "moveChunk.to b aborted", "moveChunk.error a", "moveChunk.from a aborted"}},
		{name: "the database is dropped", code: 96, owner: "", visible: 0,
			meet: func(x *meeting) { x.ok(x.t, "db", d("dropDatabase", 1)) },
			log:  []string{"moveChunk.start a", "moveChunk.to b aborted", "moveChunk.error a", "moveChunk.from a aborted"}},
		{name: "the _id is there outside the range", code: 96, owner: "a", visible: 12, twice: true,
			meet: func(x *meeting) {
				x.ok(x.t, "db", d("insert", "c", "documents", bson.A{d("_id", "x", "k", 200)}))
				x.ok(x.t, "db", d("insert", "c", "documents", bson.A{d("_id", "x", "k", 50)}))
			},
			log: []string{"moveChunk.start a", "moveChunk.to b aborted", "moveChunk.error a", "moveChunk.from a aborted"}},
		{name: "writes meanwhile", owner: "b", visible: 10,
			meet: func(x *meeting) {
				x.ok(x.t, "db", d("insert", "c", "documents", bson.A{d("_id", "new", "k", 70)}))
				x.ok(x.t, "db", d("delete", "c", "deletes", bson.A{d("q", d("_id", 0), "limit", 1)}))
				x.ok(x.t, "db", d("update", "c", "updates", bson.A{d("q", d("_id", 1), "u", d("$set", d("v", "seen")))}))
			},
			log: []string{"moveChunk.start a", "moveChunk.to b success", "moveChunk.commit a", "moveChunk.from a success"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := newMeeting(t, map[string]any{"orphanCleanupDelaySecs": 60, "minSnapshotHistoryWindowInSeconds": 0,
				"transactionLifetimeLimitSeconds": 1})
			x.sleep(5 * time.Second)
			if tt.prepare != nil {
				tt.prepare(x)
				x.errs = nil
			}
			req := mock.MoveRequest{}
			if tt.req.MaxChunkSizeBytes != 0 {
				req = mock.MoveRequest{Namespace: ns, From: "a", To: "b", Min: raw(t, d("k", 0)), Max: raw(t, d("k", 100)),
					MaxChunkSizeBytes: tt.req.MaxChunkSizeBytes}
			}
			var result error
			x.start(req)
			if tt.meet != nil {
				x.copying()
				tt.meet(x)
			}
			x.sleep(10 * time.Second)
			if len(x.errs) == 0 {
				t.Fatal("the migration never ended")
			}
			result = x.errs[0]
			if got := codeOf(t, result); got != tt.code {
				t.Errorf("ended with code %d (%v), want %d", got, result, tt.code)
			}
			if got := x.owner(); got != tt.owner {
				t.Errorf("the range is on %q, want %q", got, tt.owner)
			}
			if got := x.entries(); !slices.Equal(got, tt.log) {
				t.Errorf("change log %q, want %q", got, tt.log)
			}
			if got := x.visible(); got != tt.visible {
				t.Errorf("%d documents are visible, want %d", got, tt.visible)
			}
			x.sleep(2 * time.Minute)
			if n := x.orphaned(); n != 0 {
				t.Errorf("%d orphans are left", n)
			}
			x.cluster.Lock()
			defer x.cluster.Unlock()
			if err := x.cluster.CheckInvariants(); err != nil && !tt.twice {
				t.Error(err)
			}
		})
	}
}

// A split or merge of a collection that the shard gives away waits
// (rules/02-migration-and-metadata §5.2).
func TestSplitWaitsForDonation(t *testing.T) {
	for name, command := range map[string]bson.D{
		"split": d("split", ns, "middle", d("k", 50)),
		"merge": d("mergeChunks", ns, "bounds", bson.A{d("k", 100), d("k", bson.MaxKey{})}),
	} {
		t.Run(name, func(t *testing.T) {
			x := newMeeting(t, nil)
			if name == "merge" {
				x.ok(t, "admin", d("split", ns, "middle", d("k", 200)))
				command = d("mergeChunks", ns, "bounds", bson.A{d("k", bson.MinKey{}), d("k", 0)})
			}
			x.start(mock.MoveRequest{})
			x.copying()
			x.ok(t, "admin", command)
			if !x.ended || x.errs[0] != nil {
				t.Errorf("ended %v, %v", x.ended, x.errs)
			}
		})
	}
}

// The same request again joins the migration under way; another one is
// refused (rules/02-migration-and-metadata §5.2).
func TestSameRequestJoins(t *testing.T) {
	x := newMeeting(t, nil)
	x.start(mock.MoveRequest{})
	x.start(mock.MoveRequest{})
	x.start(mock.MoveRequest{Namespace: ns, From: "a", To: "c", Min: raw(t, d("k", 0)), Max: raw(t, d("k", 100)),
		MaxChunkSizeBytes: 1 << 20})
	x.sleep(5 * time.Second)
	var codes []int32
	for _, err := range x.errs {
		codes = append(codes, codeOf(t, err))
	}
	if want := []int32{117, 0, 0}; !slices.Equal(codes, want) {
		t.Errorf("codes %v, want %v", codes, want)
	}
}

// Dropping a collection while a move waits for its range deletion ends the
// wait: no shard stays busy.
func TestDropDuringWaitForDelete(t *testing.T) {
	x := newMeeting(t, map[string]any{"rangeDeleterBatchSize": 1, "rangeDeleterBatchDelayMS": 10_000})
	x.start(mock.MoveRequest{Namespace: ns, From: "a", To: "b", Min: raw(t, d("k", 0)), Max: raw(t, d("k", 100)),
		MaxChunkSizeBytes: 1 << 20, WaitForDelete: true})
	x.sleep(5 * time.Second)
	if x.ended {
		t.Fatal("the deletion did not take its time")
	}
	x.ok(t, "db", d("drop", "c"))
	x.sleep(30 * time.Second)
	if !x.ended {
		t.Fatal("the migration never ended")
	}
	x.ok(t, "admin", d("shardCollection", ns, "key", d("k", 1)))
	x.ok(t, "admin", d("moveRange", ns, "min", d("k", bson.MinKey{}), "max", d("k", bson.MaxKey{}), "toShard", "b"))
}

// A collection dropped while its donor waits for an older range deletion.
func TestDropWhileWaitingForDeletion(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("sharded again ", again), func(t *testing.T) {
			x := newMeeting(t, nil)
			x.ok(t, "admin", d("moveRange", ns, "min", d("k", 0), "max", d("k", 100), "toShard", "b"))
			x.start(mock.MoveRequest{Namespace: ns, From: "b", To: "a", Min: raw(t, d("k", 0)), Max: raw(t, d("k", 100)),
				MaxChunkSizeBytes: 1 << 20})
			x.sleep(2 * time.Second) // a still has its orphans
			x.ok(t, "db", d("drop", "c"))
			if again {
				x.ok(t, "admin", d("shardCollection", ns, "key", d("k", "hashed")))
			}
			x.sleep(20 * time.Second)
			if !x.ended || x.errs[0] == nil {
				t.Errorf("ended %v with %v", x.ended, x.errs)
			}
			x.cluster.Lock()
			defer x.cluster.Unlock()
			if err := x.cluster.CheckInvariants(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The range deleter takes one batch at a time and counts what is left.
func TestRangeDeleterBatches(t *testing.T) {
	x := newMeeting(t, map[string]any{"rangeDeleterBatchSize": 4, "rangeDeleterBatchDelayMS": 1000,
		"orphanCleanupDelaySecs": 10})
	x.ok(t, "admin", d("moveRange", ns, "min", d("k", 0), "max", d("k", 100), "toShard", "b"))
	var seen []int64
	for range 15 {
		if n := x.orphaned(); len(seen) == 0 || seen[len(seen)-1] != n {
			seen = append(seen, n)
		}
		x.sleep(time.Second)
	}
	if want := []int64{10, 6, 2, 0}; !slices.Equal(seen, want) {
		t.Errorf("orphans went %v, want %v", seen, want)
	}
}

// The balancer's migrations obey _waitForDelete (rules/01-rounds-and-settings §1.6).
func TestBalancerWaitsForDelete(t *testing.T) {
	m := newCluster(t, topologyOf(t, 2, 8, "200MB", 1000), mock.Config{})
	m.ok(t, "admin", d("balancerStop", 1))
	m.sleep(20 * time.Minute)
	moved := m.owned(t, "big.data")["s01"]
	m.ok(t, "config", d("update", "settings", "updates",
		bson.A{d("q", d("_id", "balancer"), "u", d("$set", d("_waitForDelete", true)))}))
	m.ok(t, "admin", d("balancerStart", 1))
	m.sleep(15 * time.Second)
	m.ok(t, "admin", d("balancerStop", 1))
	if got := m.owned(t, "big.data")["s01"]; got <= moved {
		t.Error("nothing was moved")
	}
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if n := m.cluster.Statistics().RangeDeletionCount("s00"); n > 0 {
		t.Errorf("%d range deletions are left to do", n)
	}
}
