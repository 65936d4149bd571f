package mock_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mock"
)

// balancingCase is a worked example of rules/02-examples-and-traps §9 that goes by commands: db.c lies
// on the shards A, from 0 on, and B, with the balancer off.
type balancingCase struct {
	ID          string
	ChunkSizeMB int
	Docs        [][3]int // x, how many, bytes of each
	Steps       []balancingStep
	Why         string
}

// balancingStep is a command or a find, and what of the reply, or of the first
// document, is told, or a look at the logs.
type balancingStep struct {
	Start  bool // the balancer, without a command
	Sleep  string
	Round  int64 // goes on until so many are in the action log
	Run    json.RawMessage
	Find   string // in config
	Filter json.RawMessage

	Code   int64
	Reply  json.RawMessage
	Absent []string

	Changes *[]string // entries of the change log since the last look
	Actions *[]string // of the action log
	Newest  *uint32   // how often the collection's minor version has grown
}

func TestWorkedExamplesOfBalancing(t *testing.T) {
	for i, c := range balancingCases(t) {
		t.Run(fmt.Sprintf("%s/%d %s", c.ID, i, c.Why), c.play)
	}
}

func balancingCases(t *testing.T) []balancingCase {
	return examples.Read[balancingCase](t, "testdata/balancing.jsonl")
}

// balanced is a case under way.
type balanced struct {
	*model
	t                *testing.T
	before           catalog.Version
	changes, actions int
}

func (c balancingCase) play(t *testing.T) {
	size := ""
	if c.ChunkSizeMB > 0 {
		size = fmt.Sprintf(`"chunkSizeMB": %d, `, c.ChunkSizeMB)
	}
	m := newCluster(t, `{"shards": [{"id": "A"}, {"id": "B"}], "settings": {"balancer": {"mode": "off", "stopped": true}},
	  "collections": [{"ns": "db.c", "key": {"x": 1}, `+size+`"chunks": [{"shard": "B", "max": {"x": 0}}, {"shard": "A"}]}]}`, mock.Config{})
	id := 0
	for _, doc := range c.Docs {
		for range doc[1] {
			id++
			m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", id, "x", doc[0], "pad", make([]byte, doc[2]))}))
		}
	}
	x := &balanced{model: m, t: t}
	x.before = x.version()
	x.news("actionlog", &x.actions)
	x.news("changelog", &x.changes)
	for i, step := range c.Steps {
		x.step(step)
		if t.Failed() {
			t.Fatalf("at step %d", i+1)
		}
	}
}

func (b *balanced) version() catalog.Version {
	b.cluster.Lock()
	defer b.cluster.Unlock()
	return b.cluster.ConfigDB().Table(ns).Version()
}

// news are what entries of a log say that came since the last look.
func (b *balanced) news(log string, seen *int) []string {
	b.cluster.Lock()
	defer b.cluster.Unlock()
	what := []string{}
	for _, doc := range b.cluster.ConfigDB().Collection(log).Scan() {
		what = append(what, doc.Lookup("what").StringValue())
	}
	fresh := what[*seen:]
	*seen = len(what)
	return fresh
}

func (b *balanced) step(step balancingStep) {
	b.t.Helper()
	switch {
	case step.Start:
		b.ok(b.t, "config", d("delete", "settings", "deletes", bson.A{d("q", d("_id", "balancer"), "limit", 1)}))
	case step.Sleep != "":
		d, err := time.ParseDuration(step.Sleep)
		if err != nil {
			b.t.Fatal(err)
		}
		b.sleep(d)
	case step.Round > 0:
		for n := 0; b.rounds() < step.Round; n++ {
			if b.nextEvent(); n > 1000 {
				b.t.Fatal("no round comes to its end")
			}
		}
	case step.Find != "":
		docs := b.all(b.t, "config", d("find", step.Find, "filter", b.document(step.Filter)))
		if len(docs) == 0 {
			b.t.Fatalf("%s has nothing for %s", step.Find, step.Filter)
		}
		b.compare(docs[0], step)
	case step.Run != nil:
		reply, _ := b.run("admin", b.document(step.Run))
		if code, _ := reply.Lookup("code").AsInt64OK(); code != step.Code {
			b.t.Fatalf("%s answered %s, want code %d", step.Run, reply, step.Code)
		}
		b.compare(reply, step)
	}
	if step.Changes != nil {
		b.sameNews("change log", b.news("changelog", &b.changes), *step.Changes)
	}
	if step.Actions != nil {
		b.sameNews("action log", b.news("actionlog", &b.actions), *step.Actions)
	}
	if step.Newest != nil {
		if now := b.version(); now.Major != b.before.Major || now.Minor != b.before.Minor+*step.Newest {
			b.t.Errorf("version %v, it was %v and should have grown by %d", now, b.before, *step.Newest)
		}
	}
}

func (b *balanced) sameNews(log string, got, want []string) {
	b.t.Helper()
	if !slices.Equal(got, want) {
		b.t.Errorf("%s has %q, want %q", log, got, want)
	}
}

func (b *balanced) rounds() (n int64) {
	b.cluster.Lock()
	defer b.cluster.Unlock()
	for _, doc := range b.cluster.ConfigDB().Collection("actionlog").Scan() {
		if doc.Lookup("what").StringValue() == "balancer.round" {
			n++
		}
	}
	return n
}

func (b *balanced) document(text json.RawMessage) bson.D {
	b.t.Helper()
	var doc bson.D
	if err := bson.UnmarshalExtJSON(text, false, &doc); err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	return doc
}

// compare looks at those fields of a document that a step names.
func (b *balanced) compare(got bson.Raw, step balancingStep) {
	b.t.Helper()
	for _, name := range step.Absent {
		if !got.Lookup(name).IsZero() {
			b.t.Errorf("%s has %s", got, name)
		}
	}
	if step.Reply == nil {
		return
	}
	text, err := bson.MarshalExtJSON(got, false, false)
	if err != nil {
		b.t.Fatal(err)
	}
	var g, w any
	if err := json.Unmarshal(text, &g); err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(step.Reply, &w); err != nil {
		b.t.Fatal(err)
	}
	if !contains(g, w) {
		b.t.Errorf("got %s, want %s", text, step.Reply)
	}
}

// contains tells whether a document has the fields of another one; an empty one
// is equal to an empty one only.
func contains(got, want any) bool {
	w, isDoc := want.(map[string]any)
	if !isDoc || len(w) == 0 {
		return reflect.DeepEqual(got, want)
	}
	g, isDoc := got.(map[string]any)
	for name, value := range w {
		if !isDoc || !contains(g[name], value) {
			return false
		}
	}
	return true
}
