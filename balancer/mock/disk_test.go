package mock_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

// onDisk is the random walk of the model with a directory that keeps the
// cluster.
type onDisk struct {
	*model
	dir     string
	stored  mock.Stored
	batches []mock.Batch
	// acknowledged is what must be readable, by the number of batches written
	// when it was acknowledged.
	acknowledged []acknowledged
}

type acknowledged struct {
	batches int
	colls   map[string]contents
}

// record begins to note what is written from now on.
func (o *onDisk) record(t *rapid.T) {
	o.cluster.Lock()
	wait := o.cluster.Storage().StartFlush()
	o.cluster.Unlock()
	if err := wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	// Nothing is being written now: time is virtual, and nobody else commands.
	o.batches, o.acknowledged = nil, nil
	o.cluster.Lock()
	o.cluster.DontSync()
	o.cluster.Batched(func(b mock.Batch) { o.batches = append(o.batches, b) })
	o.cluster.Unlock()
	var err error
	if o.stored, err = o.cluster.OnDisk(); err != nil {
		t.Fatal(err)
	}
	o.acknowledge()
}

func (o *onDisk) acknowledge() {
	colls := map[string]contents{}
	for name, docs := range o.colls {
		colls[name] = maps.Clone(*docs)
	}
	o.acknowledged = append(o.acknowledged, acknowledged{len(o.batches), colls})
}

// newOnDisk makes a cluster on disk and a walk on it.
func newOnDisk(t *rapid.T, dir string) *onDisk {
	o := &onDisk{dir: dir}
	o.model = newModel(t, func(cfg *mock.Config) { cfg.DBPath = dir })
	o.record(t)
	return o
}

// walk takes steps of the model, and checks after each that what was written
// piece by piece is what there is.
func (o *onDisk) walk(t *rapid.T, steps int, check func()) {
	actions := o.actions()
	maps.Copy(actions, o.extras())
	delete(actions, "")
	names := sortedNames(actions)
	for range steps {
		actions[rapid.SampledFrom(names).Draw(t, "action")](t)
		o.check(t)
		o.acknowledge()
		check()
	}
}

// extras are what the model leaves out and a cluster keeps, on collections of
// their own.
func (o *onDisk) extras() map[string]func(*rapid.T) {
	run := func(db string, commands ...bson.D) func(*rapid.T) {
		return func(*rapid.T) {
			for _, command := range commands {
				o.run(db, command)
			}
		}
	}
	insert := func(coll string) bson.D {
		return d("insert", coll, "documents", bson.A{d("a", 1, "b", bson.A{1, "x"}), d("a", 2)})
	}
	return map[string]func(*rapid.T){
		"view":      run("extra", d("create", "view", "viewOn", "plain", "pipeline", bson.A{d("$match", d("a", 1))})),
		"drop view": run("extra", d("drop", "view")),
		"capped": run("extra", d("create", "capped", "capped", true, "size", 512, "max", 5),
			insert("capped"), insert("capped")),
		"validator": run("extra", insert("plain"),
			d("collMod", "plain", "validator", d("a", d("$lt", 9)), "validationLevel", "moderate")),
		"no validator": run("extra", d("collMod", "plain", "validator", bson.D{}, "validationLevel", "strict")),
		"indexes": run("extra", insert("plain"), d("createIndexes", "plain", "indexes", bson.A{
			d("key", d("a", 1), "name", "a", "sparse", true),
			d("key", d("b", 1), "name", "b", "partialFilterExpression", d("a", d("$gt", 1)), "expireAfterSeconds", 5),
		})),
		"hide index": run("extra", d("collMod", "plain", "index", d("name", "a", "hidden", true))),
		"out":        run("extra", d("aggregate", "plain", "pipeline", bson.A{d("$out", "copy")}, "cursor", bson.D{})),
		"rename": run("admin", d("shardCollection", "extra.sharded", "key", d("_id", 1)),
			d("renameCollection", "extra.sharded", "to", "extra.renamed", "dropTarget", true)),
		"user":      run("extra", d("createUser", "joe", "pwd", "secret", "roles", bson.A{"read"}, "customData", d("a", 1))),
		"drop user": run("extra", d("dropUser", "joe")),
		"parameter": func(t *rapid.T) {
			o.run("admin", d("mockFill", ns, "bytes", "3MB", "docs", 30))
			o.run("admin", d("setParameter", 1, "orphanCleanupDelaySecs", rapid.IntRange(0, 900).Draw(t, "delay")))
		},
	}
}

func sortedNames(actions map[string]func(*rapid.T)) []string {
	names := make([]string, 0, len(actions))
	for name := range actions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// temporary is a directory in memory where there is such a place: nobody pulls
// the plug in these tests.
func temporary(t *rapid.T) (dir string, remove func()) {
	const memory = "/dev/shm"
	parent := ""
	if _, err := os.Stat(memory); err == nil {
		parent = memory
	}
	dir, err := os.MkdirTemp(parent, "mock")
	if err != nil {
		t.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// What is written of changes adds up to what the cluster holds, after every
// step of a random walk.
func TestChangesAddUp(t *testing.T) {
	check(t, longRuns, func(t *rapid.T) {
		dir, remove := temporary(t)
		defer remove()
		o := newOnDisk(t, dir)
		defer o.cluster.Close()
		applied := 0
		o.walk(t, rapid.IntRange(1, 40).Draw(t, "steps"), func() {
			o.cluster.Lock()
			defer o.cluster.Unlock()
			o.cluster.Storage().StartFlush() // what has changed since the last command
			for ; applied < len(o.batches); applied++ {
				o.stored.Apply(o.batches[applied])
			}
			sameState(t, o)
		})
	})
}

func sameState(t *rapid.T, o *onDisk) {
	stored, err := o.stored.Describe()
	if err != nil {
		t.Fatalf("%v\nafter %q", err, o.log)
	}
	if is := o.cluster.Describe(); is != stored {
		t.Fatalf("the stored state differs:\n%s\nafter %q", difference(is, stored), o.log)
	}
}

// difference lists the lines that only one of two texts has.
func difference(is, stored string) string {
	count := map[string]int{}
	for line := range strings.SplitSeq(is, "\n") {
		count[line]++
	}
	for line := range strings.SplitSeq(stored, "\n") {
		count[line]--
	}
	var lines []string
	for line, n := range count {
		if n > 0 {
			lines = append(lines, "cluster: "+line)
		}
		if n < 0 {
			lines = append(lines, "stored:  "+line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A cluster that is closed and opened again is the same, and goes on.
func TestReopen(t *testing.T) {
	check(t, longRuns, func(t *rapid.T) {
		dir, remove := temporary(t)
		defer remove()
		o := newOnDisk(t, dir)
		defer func() { o.cluster.Close() }()
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			o.walk(t, rapid.IntRange(0, 20).Draw(t, "steps"), func() {})
			before := chunks(o.cluster)
			o.cluster.Close()
			o.reopen(t, mock.Config{DBPath: dir})
			if after := chunks(o.cluster); after != before {
				t.Fatalf("other chunks after a restart:\n%s\nafter %q", difference(before, after), o.log)
			}
			o.check(t)
			o.settle(t)
		}
	})
}

func (o *onDisk) reopen(t *rapid.T, cfg mock.Config) {
	c, err := mock.New(cfg)
	if err != nil {
		t.Fatalf("%v\nafter %q", err, o.log)
	}
	o.cluster, o.router = c, router.New(c, nil)
	o.log = append(o.log, "reopened")
	if cfg.DBPath != "" {
		o.record(t)
	}
}

// chunks are all documents of config.chunks.
func chunks(c *mock.Cluster) string {
	c.Lock()
	defer c.Unlock()
	var lines []string
	for doc := range c.Documents("config.chunks", nil) {
		lines = append(lines, doc.String())
	}
	return strings.Join(lines, "\n")
}

// settle lets hours go by: whatever is under way ends, and nothing is lost.
func (o *onDisk) settle(t *rapid.T) {
	o.sleep(3 * time.Hour)
	o.check(t)
}

// A process that dies between any two transactions loses nothing that was
// acknowledged, and has no migration half done.
func TestEveryInstant(t *testing.T) {
	check(t, longRuns, func(t *rapid.T) {
		dir, remove := temporary(t)
		defer remove()
		o := newOnDisk(t, dir)
		defer o.cluster.Close()
		o.walk(t, rapid.IntRange(1, 25).Draw(t, "steps"), func() {})
		instants := rapid.SliceOfNDistinct(rapid.IntRange(0, len(o.batches)), 0, 8, rapid.ID).Draw(t, "instants")
		slices.Sort(instants)
		written := 0
		for _, instant := range instants {
			for ; written < instant; written++ {
				o.stored.Apply(o.batches[written])
			}
			o.crashAt(t, instant)
		}
	})
}

// crashAt starts the cluster as it is on disk after some transactions.
func (o *onDisk) crashAt(t *rapid.T, instant int) {
	c, err := o.stored.Start(1)
	if err != nil {
		t.Fatalf("after %d transactions: %v\nafter %q", instant, err, o.log)
	}
	defer c.Close()
	m := &model{cluster: c, router: router.New(c, nil), log: o.log}
	last := 0
	for last+1 < len(o.acknowledged) && o.acknowledged[last+1].batches <= instant {
		last++
	}
	// The next command may have been done, in part when it has several steps.
	allowed := o.acknowledged[last:min(last+2, len(o.acknowledged))]
	var wrong string
	for range 2 { // at once, and when everything has ended
		if wrong = m.shows(allowed); wrong != "" {
			t.Fatalf("after %d of %d transactions: %s\nafter %q", instant, len(o.batches), wrong, o.log)
		}
		m.sleep(3 * time.Hour)
	}
}

// shows tells what is wrong with the documents that can be seen: each must be
// as it was acknowledged last or as the next command makes it.
func (m *model) shows(allowed []acknowledged) string {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if err := m.cluster.CheckInvariants(); err != nil {
		return err.Error()
	}
	if open := len(m.cluster.Reshardings().List()); open > 0 {
		return "a resharding is under way"
	}
	for _, name := range namespaces {
		seen := contents{}
		for doc := range m.cluster.Documents(name, nil) {
			id := doc.Lookup("_id").AsInt64()
			if _, twice := seen[id]; twice {
				return fmt.Sprintf("%s: _id %d is visible twice", name, id)
			}
			seen[id] = doc.Lookup("v").AsInt64()
		}
		ids := maps.Clone(seen)
		for _, a := range allowed {
			maps.Copy(ids, a.colls[name])
		}
		for id := range ids {
			value, there := seen[id]
			if !slices.ContainsFunc(allowed, func(a acknowledged) bool {
				want, known := a.colls[name][id]
				return known == there && want == value
			}) {
				return fmt.Sprintf("%s: _id %d shows %d (%v), allowed are %v", name, id, value, there, allowed)
			}
		}
	}
	return ""
}

// A snapshot is the whole cluster: it starts as another one, on disk or not,
// and can be loaded into one that runs.
func TestSnapshot(t *testing.T) {
	check(t, longRuns, func(t *rapid.T) {
		dir, remove := temporary(t)
		defer remove()
		o := newOnDisk(t, filepath.Join(dir, "db"))
		defer func() { o.cluster.Close() }()
		o.walk(t, rapid.IntRange(0, 20).Draw(t, "steps"), func() {})
		file := filepath.Join(dir, "snapshot")
		if err := o.cluster.Save(file); err != nil {
			t.Fatal(err)
		}
		before, saved := chunks(o.cluster), maps.Clone(o.colls)
		for name, docs := range saved {
			saved[name] = ptr(maps.Clone(*docs))
		}
		switch rapid.IntRange(0, 2).Draw(t, "into") {
		case 0:
			o.cluster.Close()
			o.reopen(t, mock.Config{Snapshot: file})
		case 1:
			o.cluster.Close()
			o.reopen(t, mock.Config{Snapshot: file, DBPath: filepath.Join(dir, "other")})
		case 2:
			o.walk(t, rapid.IntRange(0, 20).Draw(t, "more steps"), func() {})
			if err := o.cluster.Load(file); err != nil {
				t.Fatal(err)
			}
		}
		o.colls = saved
		if after := chunks(o.cluster); after != before {
			t.Fatalf("other chunks than in the snapshot:\n%s\nafter %q", difference(before, after), o.log)
		}
		o.check(t)
		o.walk(t, rapid.IntRange(0, 10).Draw(t, "last steps"), func() {})
		o.settle(t)
	})
}

func ptr[T any](v T) *T { return &v }
