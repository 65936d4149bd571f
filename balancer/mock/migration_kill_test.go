package mock_test

import (
	"bufio"
	"compress/gzip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

// recordedKills are migrations of a real 8.0.10 cluster that hang, what $currentOp shows of
// them, and what killOp comes to.
func recordedKills(t *testing.T) (list []bson.Raw) {
	t.Helper()
	file, err := os.Open("testdata/24-interrupts.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var doc bson.Raw
		if err := bson.UnmarshalExtJSON(lines.Bytes(), true, &doc); err != nil {
			t.Fatal(err)
		}
		list = append(list, doc)
	}
	if lines.Err() != nil || len(list) != 8 {
		t.Fatalf("%d recordings, %v", len(list), lines.Err())
	}
	return list
}

// hanging begins a migration, and moves time on to where the recorded one hangs. The
// mock's recipient hangs one step earlier while it clones.
func hanging(t *testing.T, where string) *meeting {
	t.Helper()
	x, step := newMeeting(t, nil), 5
	if where == "recipient cloning" {
		m := newCluster(t, `{"shards": [{"id": "a"}, {"id": "b"}], "databases": [{"name": "db", "primary": "a"}],
		  "settings": {"balancer": {"stopped": true}}, "collections": [{"ns": "db.c", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}},
		    {"shard": "a", "bytes": "2GB", "docs": 10, "max": {"k": 100}}, {"shard": "b"}]}]}`, mock.Config{})
		x, step = &meeting{model: m, t: t}, 3
	} else {
		x.ok(t, "admin", d("mockSlow", "b", "secondary", "30s"))
	}
	x.start(mock.MoveRequest{Namespace: ns, From: "a", To: "b", Min: raw(t, d("k", 0)), Max: raw(t, d("k", 100)),
		MaxChunkSizeBytes: 8 << 30, Comment: bson.RawValue{Type: bson.TypeBoolean, Value: []byte{1}}})
	x.sleep(60 * time.Millisecond)
	x.cluster.Lock()
	defer x.cluster.Unlock()
	if running := x.cluster.Migrations().List(); len(running) != 1 || running[0].RecipientStep != step {
		t.Fatalf("under way: %+v", running)
	}
	return x
}

// operations are those of the migration, as $currentOp shows them.
func (m *meeting) operations(options bson.D) []bson.Raw {
	m.t.Helper()
	reply := m.ok(m.t, "admin", d("aggregate", 1, "pipeline", bson.A{d("$currentOp", options), d("$match",
		d("$or", bson.A{d("op", "none"), d("command._shardsvrMoveRange", d("$exists", true)),
			d("command._recvChunkStatus", d("$exists", true))}))}, "cursor", d()))
	return documentsOf(m.t, reply.Lookup("cursor", "firstBatch"))
}

func documentsOf(t *testing.T, list bson.RawValue) (docs []bson.Raw) {
	t.Helper()
	values, err := list.Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		docs = append(docs, v.Document())
	}
	return docs
}

// shapesOf says of each operation where it is, what it is, its fields and those of its
// command, but for the times that nodes of a cluster tell each other.
func shapesOf(t *testing.T, ops []bson.Raw) (lines []string) {
	t.Helper()
	fields := func(doc bson.Raw) string {
		elems, err := doc.Elements()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range elems {
			if !strings.HasPrefix(e.Key(), "$") && e.Key() != "max" && e.Key() != "mayBypassWriteBlocking" {
				names = append(names, e.Key())
			}
		}
		return strings.Join(names, " ")
	}
	for _, op := range ops {
		name := func(field string) string { s, _ := op.Lookup(field).StringValueOK(); return s }
		desc, shard := name("desc"), strings.NewReplacer("shard0", "a", "shard1", "b").Replace(name("shard"))
		if strings.HasPrefix(desc, "conn") {
			desc = "conn"
		}
		lines = append(lines, strings.Join([]string{shard, desc, name("op"), "[" + name("ns") + "]",
			strings.Replace(name("msg"), "step 4 of 8", "step 3 of 8", 1),
			op.Lookup("active").String(), fields(op), fields(op.Lookup("command").Document())}, " | "))
	}
	slices.Sort(lines)
	return lines
}

// What $currentOp shows of a migration, and what killOp of its parts comes to, is what was
// recorded.
func TestKillAsRecorded(t *testing.T) {
	for _, recorded := range recordedKills(t) {
		where, kill := recorded.Lookup("where").StringValue(), recorded.Lookup("kill").StringValue()
		t.Run(where+", "+kill, func(t *testing.T) {
			x := hanging(t, where)
			for field, options := range map[string]bson.D{
				"router":       d("allUsers", true, "idleConnections", true),
				"routerActive": d("allUsers", true, "idleConnections", false),
			} {
				got, want := shapesOf(t, x.operations(options)), shapesOf(t, documentsOf(t, recorded.Lookup(field)))
				if !slices.Equal(got, want) {
					t.Errorf("%s:\n%s\nrecorded\n%s", field, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			for _, op := range x.operations(d("allUsers", true, "idleConnections", true)) {
				worker := op.Lookup("desc").StringValue() == "MoveChunk"
				command := !op.Lookup("command", "_shardsvrMoveRange").IsZero()
				if worker && (kill == "MoveChunk" || kill == "both") || command && (kill == "command" || kill == "both") {
					x.ok(t, "admin", d("killOp", 1, "op", op.Lookup("opid")))
				}
			}
			x.sleep(time.Millisecond)
			if heard := recorded.Lookup("answerBeforeRelease").Type == bson.TypeEmbeddedDocument; x.ended != heard {
				t.Errorf("the caller has heard: %t, recorded %t", x.ended, heard)
			}
			pending := func(ops []bson.Raw) bool {
				return slices.ContainsFunc(ops, func(op bson.Raw) bool { return !op.Lookup("killPending").IsZero() })
			}
			if kills := kill == "MoveChunk" || kill == "both"; pending(x.operations(d("allUsers", true))) != kills {
				t.Error("a worker that was killed is shown so until its end, others are not")
			}
			x.sleep(time.Minute)
			x.answered(recorded)
		})
	}
}

// answered compares how the migration ended with a recording.
func (m *meeting) answered(recorded bson.Raw) {
	m.t.Helper()
	if len(m.errs) != 1 {
		m.t.Fatalf("answers: %v", m.errs)
	}
	if want, is := recorded.Lookup("answer", "errmsg").StringValueOK(); is != (m.errs[0] != nil) ||
		is && (m.errs[0].Error() != want || !mongoerr.Is(m.errs[0], mongoerr.Interrupted)) {
		m.t.Errorf("the answer is %v, recorded %q", m.errs[0], want)
	}
	owner := map[string]string{"a": "shard0", "b": "shard1"}[m.owner()]
	if want := recorded.Lookup("owner", "0").StringValue(); owner != want {
		m.t.Errorf("the range is on %s, recorded %s", owner, want)
	}
	var want []string
	for _, entry := range documentsOf(m.t, recorded.Lookup("changelog")) {
		line := entry.Lookup("what").StringValue()
		if note, is := entry.Lookup("details", "note").StringValueOK(); is {
			line += " " + note
		}
		want = append(want, line)
	}
	var got []string
	for _, entry := range documentsOf(m.t, m.ok(m.t, "config", d("find", "changelog", "filter", d("what", d("$regex", "^moveChunk")),
		"batchSize", 1000)).Lookup("cursor", "firstBatch")) {
		line := entry.Lookup("what").StringValue()
		if note, is := entry.Lookup("details", "note").StringValueOK(); is {
			line += " " + note
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		m.t.Errorf("change log %q, recorded %q", got, want)
	}
}
