//go:build unix

package loadcheck

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// load is a cluster under load and all who work on it.
type load struct {
	t       *testing.T
	program *program
	seed    uint64
	// client tries writes again as drivers do; once does not.
	client, once *mongo.Client

	writers  []*writer
	counters []*counter
	roamers  []*roamer

	mu     sync.Mutex
	counts map[string]int
	doing  map[string]string // what a worker is at, by its name
	broken int
}

// namespaces that are written to all the time. Their shard keys change.
func namespaces() map[string]bson.D {
	return map[string]bson.D{
		"load.a": {{Key: "k", Value: 1}},
		"load.b": {{Key: "_id", Value: "hashed"}},
		"load.c": {{Key: "k", Value: "hashed"}},
		"more.d": nil,
		"more.e": {{Key: "k", Value: 1}, {Key: "j", Value: 1}},
	}
}

func namespaceList() []string { return slices.Sorted(maps.Keys(namespaces())) }

func newLoad(t *testing.T, p *program, seed uint64) *load {
	l := &load{t: t, program: p, seed: seed, counts: map[string]int{}, doing: map[string]string{}}
	uri := fmt.Sprintf("mongodb://127.0.0.1:%d/", p.port)
	l.client = connect(t, uri, true)
	l.once = connect(t, uri, false)
	return l
}

func connect(t *testing.T, uri string, again bool) *mongo.Client {
	client, err := mongo.Connect(options.Client().ApplyURI(uri).
		SetRetryWrites(again).SetRetryReads(again).SetServerSelectionTimeout(10 * time.Second).
		SetServerMonitoringMode(connstring.ServerMonitoringModePoll).SetHeartbeatInterval(time.Second).
		SetReadConcern(readconcern.Majority()))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (l *load) close() {
	ctx, cancel := patiently()
	defer cancel()
	_ = l.client.Disconnect(ctx)
	_ = l.once.Disconnect(ctx)
}

// chance returns a source of choices for one worker.
func (l *load) chance(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(l.seed, stream)) }

func collection(c *mongo.Client, ns string) *mongo.Collection {
	db, name, _ := strings.Cut(ns, ".")
	return c.Database(db).Collection(name)
}

// count notes that something was done, and with what result.
func (l *load) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what]++
}

// result notes what became of an operation.
func (l *load) result(what string, err error) {
	if err == nil {
		l.count(what + ": ok")
		return
	}
	l.count(what + ": " + codeOf(err))
	if text := err.Error(); strings.Contains(text, "InternalError") && !strings.Contains(text, "mockFailNext") {
		l.fail("%s fails as only a fault of the program can: %v", what, err)
	}
}

// mostBroken is how many faults are told in full.
const mostBroken = 10

// fail notes a fault of the program.
func (l *load) fail(format string, args ...any) {
	l.t.Helper()
	l.mu.Lock()
	l.broken++
	n := l.broken
	l.mu.Unlock()
	if n <= mostBroken {
		l.t.Errorf(format, args...)
	} else {
		l.t.Fail()
	}
}

// worker is somebody who does one thing after another until the load ends.
type worker struct {
	name string
	step func(context.Context)
}

// prepare makes the collections and all who work on them.
func (l *load) prepare() {
	ctx, cancel := patiently()
	defer cancel()
	admin := l.client.Database("admin")
	settings := l.client.Database("config").Collection("settings")
	_, err := settings.UpdateOne(ctx, bson.M{"_id": "chunksize"}, bson.M{"$set": bson.M{"value": 1}},
		options.UpdateOne().SetUpsert(true))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, ns := range namespaceList() {
		if key := namespaces()[ns]; key != nil {
			if err := admin.RunCommand(ctx, bson.D{{Key: "shardCollection", Value: ns}, {Key: "key", Value: key}}).
				Err(); err != nil {
				l.t.Fatal(err)
			}
		}
		if _, err := collection(l.client, ns).InsertMany(ctx, stillDocuments()); err != nil {
			l.t.Fatal(err)
		}
	}
	for i := range 6 {
		l.writers = append(l.writers, newWriter(l, i))
	}
	for i := range 2 {
		l.counters = append(l.counters, newCounter(l, i))
		l.roamers = append(l.roamers, newRoamer(l, i))
	}
}

func (l *load) workers() []worker {
	var all []worker
	for _, w := range l.writers {
		all = append(all, worker{fmt.Sprintf("writer %d", w.number), w.step})
	}
	for _, c := range l.counters {
		all = append(all, worker{fmt.Sprintf("counter %d", c.number), c.step})
	}
	for _, r := range l.roamers {
		all = append(all, worker{fmt.Sprintf("roamer %d", r.number), r.step})
	}
	for i := range 3 {
		all = append(all, worker{fmt.Sprintf("reader %d", i), newReader(l, i).step})
	}
	for i := range 4 {
		all = append(all, worker{fmt.Sprintf("admin %d", i), newAdmin(l, i).step})
	}
	return append(all, worker{"faults", newFaults(l).step})
}

// work lets everybody do their work for a while, and waits until they are done.
func (l *load) work(lasting time.Duration) {
	deadline := time.Now().Add(lasting)
	var all sync.WaitGroup
	for _, w := range l.workers() {
		all.Go(func() {
			for time.Now().Before(deadline) && l.program.alive() {
				w.step(l.at(w.name))
			}
			l.mu.Lock()
			delete(l.doing, w.name)
			l.mu.Unlock()
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(time.Until(deadline) + time.Second):
	}
	l.mend() // who waits for what is broken may wait for ever
	select {
	case <-done:
	case <-time.After(patience):
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.program.cmd.Process.Signal(quitSignal)
		<-l.program.exited
		keep(l.t, l.program)
		l.t.Fatalf("stuck: %v\n%s", l.doing, l.program.log.tail())
	}
}

type workerKey struct{}

// at returns a context that knows whose it is.
func (l *load) at(name string) context.Context {
	return context.WithValue(context.Background(), workerKey{}, name)
}

// does notes what a worker is at, in case it never ends.
func (l *load) does(ctx context.Context, format string, args ...any) {
	name, _ := ctx.Value(workerKey{}).(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doing[name] = fmt.Sprintf(format, args...)
}

// summary tells what was done.
func (l *load) summary() {
	var text strings.Builder
	for _, what := range slices.Sorted(maps.Keys(l.counts)) {
		fmt.Fprintf(&text, "%7d %s\n", l.counts[what], what)
	}
	l.t.Logf("what was done:\n%s%s", &text, l.program.log.heapText())
}
