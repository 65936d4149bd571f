package mock_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mock"
)

// migrationCase is a worked example of rules/02-examples-and-traps §9.6: db.c with the shard key x
// on the shards A, B and C, and what happens to it step by step.
type migrationCase struct {
	ID     string
	Chunks [][3]any // min, max, shard
	Docs   [][2]int // _id, x
	// Other is the shard of db.d, which is sharded as well then.
	Other string
	Steps []migrationStep
	Then  state
	Later *struct {
		After string
		state
	}
	Why string
}

// migrationStep is one thing that is done; the code is what it ends with.
type migrationStep struct {
	// Move a range by hand, Direct past the router; Start it and go on.
	Move, Start   []any // min, max, from, to
	NS            string
	WaitForDelete bool
	Direct        bool
	// Copying goes on until the recipient copies, Ends until what was started has
	// ended, with Code or Results; Ended says with what it has ended by now.
	Copying, Ends  bool
	Results, Ended []int32
	StepDownIn     string
	DB             string
	Run            json.RawMessage

	Code  int32
	Text  string
	Takes string
}

// state is what a cluster looks like.
type state struct {
	Owner      map[string]string // of the chunk at a key
	Tasks      map[string][]string
	Held       map[string]int64 // documents by shard, orphans included
	Log        []string         // what, by shard, and note; entries of one shard in order
	Unfinished *int
	Chunks     int
	Versions   string // unchanged
}

func TestWorkedExamplesOfMigrations(t *testing.T) {
	for i, c := range migrationCases(t) {
		t.Run(fmt.Sprintf("%s/%d %s", c.ID, i, c.Why), c.play)
	}
}

func migrationCases(t *testing.T) []migrationCase {
	return examples.Read[migrationCase](t, "testdata/migrations.jsonl")
}

// played is a case under way.
type played struct {
	*meeting
	before catalog.Version
}

func (mc migrationCase) play(t *testing.T) {
	x := played{meeting: &meeting{model: mc.cluster(t), t: t}}
	x.before = x.version()
	for i, step := range mc.Steps {
		x.step(i, step)
	}
	x.check(mc.Then)
	if mc.Later != nil {
		d, err := time.ParseDuration(mc.Later.After)
		if err != nil {
			t.Fatal(err)
		}
		x.sleep(d)
		x.check(mc.Later.state)
	}
	x.cluster.Lock()
	defer x.cluster.Unlock()
	if err := x.cluster.CheckInvariants(); err != nil && mc.ID != "MF-02" { // it has one _id twice on purpose
		t.Error(err)
	}
}

func (mc migrationCase) cluster(t *testing.T) *model {
	t.Helper()
	var chunks []string
	for _, c := range mc.Chunks {
		max := ""
		if n, isNumber := c[1].(float64); isNumber {
			max = fmt.Sprintf(`, "max": {"x": %v}`, n)
		}
		chunks = append(chunks, fmt.Sprintf(`{"shard": %q%s}`, c[2], max))
	}
	collections := fmt.Sprintf(`{"ns": "db.c", "key": {"x": 1}, "chunks": [%s]}`, strings.Join(chunks, ","))
	if mc.Other != "" {
		collections += fmt.Sprintf(`, {"ns": "db.d", "key": {"x": 1}, "chunks": [{"shard": %q}]}`, mc.Other)
	}
	m := newCluster(t, `{"shards": [{"id": "A"}, {"id": "B"}, {"id": "C"}], "databases": [{"name": "db", "primary": "A"}],
	  "settings": {"balancer": {"mode": "off", "stopped": true}}, "collections": [`+collections+`]}`,
		mock.Config{Parameters: map[string]any{"minSnapshotHistoryWindowInSeconds": 0, "transactionLifetimeLimitSeconds": 1}})
	for _, doc := range mc.Docs {
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", doc[0], "x", doc[1])}))
	}
	m.sleep(10 * time.Second) // the chunks are old enough to be merged
	return m
}

func (p *played) version() catalog.Version {
	p.cluster.Lock()
	defer p.cluster.Unlock()
	return p.cluster.ConfigDB().Table(ns).Version()
}

func boundDoc(v any) bson.D {
	switch v {
	case "MIN":
		return d("x", bson.MinKey{})
	case "MAX":
		return d("x", bson.MaxKey{})
	}
	return d("x", int(v.(float64)))
}

func (p *played) request(step migrationStep, move []any) mock.MoveRequest {
	name := ns
	if step.NS != "" {
		name = step.NS
	}
	return mock.MoveRequest{
		Namespace: name, From: catalog.ShardID(move[2].(string)), To: catalog.ShardID(move[3].(string)),
		Min: raw(p.t, boundDoc(move[0])), Max: raw(p.t, boundDoc(move[1])), MaxChunkSizeBytes: 128 << 20,
		WaitForDelete: step.WaitForDelete,
	}
}

func (p *played) step(i int, step migrationStep) {
	p.t.Helper()
	began := p.now()
	var code int32
	var text string
	switch {
	case step.Start != nil:
		p.start(p.request(step, step.Start))
		return
	case step.Copying:
		p.copying()
		return
	case step.Ended != nil:
		p.ends(step.Ended)
		return
	case step.Ends:
		p.sleep(10 * time.Second)
		want := step.Results
		if want == nil {
			want = []int32{step.Code}
		}
		p.ends(want)
		return
	case step.StepDownIn != "":
		d, err := time.ParseDuration(step.StepDownIn)
		if err != nil {
			p.t.Fatal(err)
		}
		p.cluster.Lock()
		defer p.cluster.Unlock()
		p.cluster.StepDownIn(d)
		return
	case step.Direct:
		req := p.request(step, step.Move)
		p.cluster.Lock()
		err := p.cluster.Migrations().Move(p.t.Context(), req, time.Time{})
		p.cluster.Unlock()
		code = codeOf(p.t, err)
	default:
		code, text = p.command(step)
	}
	if code != step.Code || !strings.Contains(text, step.Text) {
		p.t.Fatalf("step %d ended with code %d %q, want %d and %q", i+1, code, text, step.Code, step.Text)
	}
	if step.Takes != "" {
		want, err := time.ParseDuration(step.Takes)
		if took := p.now().Sub(began); err != nil || took < want || took > want+time.Second {
			p.t.Errorf("step %d took %v, want about %v", i+1, took, want)
		}
	}
}

func (p *played) now() time.Time {
	p.cluster.Lock()
	defer p.cluster.Unlock()
	return p.cluster.Now()
}

// command runs a command through the router.
func (p *played) command(step migrationStep) (code int32, text string) {
	db, command := "admin", bson.D{}
	if step.DB != "" {
		db = step.DB
	}
	if step.Move != nil {
		req := p.request(step, step.Move)
		command = d("moveRange", req.Namespace, "min", req.Min, "max", req.Max, "toShard", string(req.To), "waitForDelete",
			req.WaitForDelete)
	} else if err := bson.UnmarshalExtJSON(step.Run, false, &command); err != nil {
		p.t.Fatal(err)
	}
	reply, ok := p.run(db, command)
	if ok {
		return 0, ""
	}
	return reply.Lookup("code").Int32(), reply.Lookup("errmsg").StringValue()
}

// ends compares what the migrations that were started ended with so far.
func (p *played) ends(want []int32) {
	p.t.Helper()
	codes := []int32{}
	for _, err := range p.errs {
		codes = append(codes, codeOf(p.t, err))
	}
	if !slices.Equal(codes, want) {
		p.t.Fatalf("ended with %v (%v), want %v", codes, p.errs, want)
	}
}

func (p *played) check(want state) {
	p.t.Helper()
	if want.Log != nil {
		var got []string
		for _, line := range p.entries() {
			got = append(got, strings.TrimPrefix(line, "moveChunk."))
		}
		// The order between two shards' entries is not fixed.
		if got, want := byShard(got), byShard(want.Log); !slices.Equal(got, want) {
			p.t.Errorf("change log %q, want %q", got, want)
		}
	}
	if want.Versions == "unchanged" && p.version() != p.before {
		p.t.Errorf("version %v, it was %v", p.version(), p.before)
	}
	p.cluster.Lock()
	defer p.cluster.Unlock()
	table := p.cluster.ConfigDB().Table(ns)
	for at, owner := range want.Owner {
		var n int
		fmt.Sscan(at, &n)
		key, err := table.Pattern().ParseKey(raw(p.t, d("x", n)))
		if got := table.ShardOf(key); err != nil || string(got) != owner {
			p.t.Errorf("%s owns %s, want %s", got, at, owner)
		}
	}
	for shard, tasks := range want.Tasks {
		if got := p.cluster.Tasks(shard); !slices.Equal(got, tasks) {
			p.t.Errorf("%s has the tasks %q, want %q", shard, got, tasks)
		}
	}
	for shard, held := range want.Held {
		if got := p.cluster.HeldDocuments(shard, ns); got != held {
			p.t.Errorf("%s holds %d documents, want %d", shard, got, held)
		}
	}
	if got := p.cluster.Faults().State().UnfinishedMigrations; want.Unfinished != nil && got != *want.Unfinished {
		p.t.Errorf("%d unfinished migrations, want %d", got, *want.Unfinished)
	}
	if got := table.Len(); want.Chunks != 0 && got != want.Chunks {
		p.t.Errorf("%d chunks, want %d", got, want.Chunks)
	}
}

func byShard(log []string) []string {
	sorted := slices.Clone(log)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return strings.Compare(strings.Fields(a)[1], strings.Fields(b)[1])
	})
	return sorted
}
