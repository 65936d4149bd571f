package swarm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/test/swarm/trace"
)

// world is a run of a scenario.
type world struct {
	scenario *scenario
	cluster  *mock.Cluster
	router   *router.Router
	began    time.Time
	dir      string // of journals
	chance   *rand.Rand
	gate     *gate
	observer *observer
	asking   inFlight
	lease    leaseSeen
	claims   claims
	events   migrationEvents
	actors   sync.WaitGroup // who has something to do
	things   sync.WaitGroup // what waits for an event, which may not come
	all      sync.WaitGroup // every goroutine, those of killed processes too

	// Of the director.
	sent   map[string]int // commands by actor
	healed bool           // nothing goes wrong any more

	mu     sync.Mutex // holds what follows
	trace  trace.Trace
	ops    int
	living []*process
	ended  bool // all actors have
}

// run runs a scenario and returns its trace.
func run(t *testing.T, s *scenario) (events trace.Trace) {
	// Two goroutines that have something to do at once would do it in any order.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir, err := os.MkdirTemp(memory(), "swarm")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(s, dir)
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			w.live()
		}()
		w.direct(over)
		w.end()
		events = w.trace
	})
	return events
}

// memory is a directory that no disk is behind, where there is one: journals wait for it often.
func memory() string {
	const shared = "/dev/shm"
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		return shared
	}
	return ""
}

func newWorld(s *scenario, dir string) (*world, error) {
	topology, err := mock.ParseTopology([]byte(s.topology()))
	if err != nil {
		return nil, err
	}
	w := &world{
		scenario: s, began: time.Now(), dir: dir, chance: rand.New(rand.NewPCG(s.Seed, 26)), gate: newGate(), sent: map[string]int{},
	}
	w.events.seen, w.events.ears, w.events.cond = map[string]int{}, map[string][]chan place{}, sync.NewCond(&w.events.mu)
	w.cluster, err = mock.New(mock.Config{
		Topology: topology, Start: w.began, Release: s.Release, FCV: s.FCV, Seed: s.Seed, ServerBugs: s.Flaws,
		Parameters: map[string]any{"orphanCleanupDelaySecs": 15},
	})
	if err != nil {
		return nil, err
	}
	w.cluster.ClockUnderLock().Drive(w.began)
	w.router = router.New(w.cluster, nil)
	w.note(trace.Event{Kind: trace.Start, Text: s.Release.String()})
	w.observer = newObserver(w)
	w.observer.watch()
	return w, nil
}

// note adds an event to the trace.
func (w *world) note(e trace.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Seq, e.Micros = len(w.trace)+1, time.Since(w.began).Microseconds()
	w.trace = append(w.trace, e)
}

// newOp returns a number that joins events.
func (w *world) newOp() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops++
	return w.ops
}

// watched are the collections whose chunks are looked at.
func (w *world) watched() []string {
	var list []string
	for _, c := range w.scenario.Colls[:w.scenario.Writable] {
		list = append(list, c.NS)
	}
	return append(list, spareName, renamedName)
}

// live has everybody do what they do, then all faults heal, and the rest is looked at.
func (w *world) live() {
	for n := range w.scenario.Writers {
		w.goes(func() { w.write(n) })
	}
	for n, r := range w.scenario.Runners {
		if r.Verb != "" {
			w.goes(func() { w.operate(n, r) })
		}
	}
	w.happen()
	late := time.AfterFunc(longest, w.giveUp)
	// Runs wait while an administrator wants the balancer to stand still.
	again := time.AfterFunc(goesOn, w.startAgain)
	w.actors.Wait()
	late.Stop()
	again.Stop()
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.events.end()
	w.things.Wait()
	w.healed = true
	w.settle()
}

// longest is how long a run may take: whoever still waits then waits for ever.
const longest = 3 * time.Hour

// goesOn is when an administrator who has stopped the balancer starts it again at the latest.
const goesOn = 10 * time.Minute

// startAgain starts the balancer from time to time.
func (w *world) startAgain() {
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if ended {
		return
	}
	w.does("admin", `{"balancerStart": 1}`)
	time.AfterFunc(goesOn, w.startAgain)
}

// giveUp ends all processes.
func (w *world) giveUp() {
	w.mu.Lock()
	live := slices.Clone(w.living)
	w.mu.Unlock()
	for _, p := range live {
		w.note(trace.Event{Kind: trace.RunsTooLong, By: p.name})
		p.cancel()
	}
}

// goes starts an actor.
func (w *world) goes(f func()) {
	w.all.Go(func() {})
	w.actors.Go(f)
}

// happen has things happen.
func (w *world) happen() {
	for _, thing := range w.scenario.Things {
		things := &w.things
		if thing.On == "" {
			things = &w.actors
		}
		things.Go(func() {
			if thing.On != "" && !w.events.await(thing.On, thing.Nth) {
				return
			}
			time.Sleep(thing.At)
			w.does(thing.By, thing.Command)
		})
	}
}

// migrationEvents are how many events of each kind there were, for who waits for one.
type migrationEvents struct {
	mu    sync.Mutex
	cond  *sync.Cond
	seen  map[string]int
	ears  map[string][]chan place // of who waits for the next one
	ended bool
}

// await waits for an event; false when it does not come any more.
func (m *migrationEvents) await(event string, nth int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.seen[event] <= nth && !m.ended {
		m.cond.Wait()
	}
	return m.seen[event] > nth
}

// place is where a migration is under way: the least key of its range, or one of it.
type place struct {
	ns  string
	key int64
}

// next waits for the next event of a kind, and says where; false when none has come in d.
func (m *migrationEvents) next(event string, d time.Duration) (place, bool) {
	told := make(chan place, 1)
	m.mu.Lock()
	m.ears[event] = append(m.ears[event], told)
	m.mu.Unlock()
	select {
	case at := <-told:
		return at, true
	case <-time.After(d):
		return place{}, false
	}
}

func (m *migrationEvents) happened(event string, at place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[event]++
	m.cond.Broadcast()
	if at.ns == spareName || at.ns == renamedName {
		return // nobody writes there
	}
	for _, ear := range m.ears[event] {
		ear <- at
	}
	delete(m.ears, event)
}

func (m *migrationEvents) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.cond.Broadcast()
}

// does sends a command of an administrator or of fate, by the gate.
func (w *world) does(by, command string) bson.Raw {
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(command), false, &doc); err != nil {
		panic(err) // our own text
	}
	db := "admin"
	if last := doc[len(doc)-1]; last.Key == "$db" {
		db, doc = last.Value.(string), doc[:len(doc)-1]
	}
	raw, err := bson.Marshal(append(doc, bson.E{Key: "$db", Value: db}))
	if err != nil {
		panic(err)
	}
	p := &process{world: w, actor: by, name: by, gone: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := time.AfterFunc(longest, func() {
		w.note(trace.Event{Kind: trace.RunsTooLong, By: by, Cmd: doc[0].Key})
		cancel()
	})
	defer late.Stop()
	reply := p.Handle(ctx, wire.Request{Database: db, Command: doc[0].Key, Body: raw, Client: &wire.ClientConn{ID: 1}})
	if strings.HasPrefix(doc[0].Key, "mock") {
		w.observer.watch() // the fault may have taken its place
		w.note(trace.Event{Kind: trace.Fault, Text: command, Code: codeOf(reply)})
	}
	return reply
}

// process is one of ours, or of a client, until it ends or is killed.
type process struct {
	world   *world
	actor   string // the same for all that follow one another
	name    string
	journal string
	quiet   bool // its commands are not noted: what it does is
	gone    chan struct{}
	killed  bool // of the director
	scans   int  // of a writer

	ctx    context.Context
	cancel context.CancelFunc // has it end as by Ctrl-C
	stop   context.CancelFunc // of the server
	pipe   *wire.Pipe
	client *mongo.Client
	ended  sync.WaitGroup // of the server
}

var errKilled = errors.New("the process was killed")

// begin makes a process with a client of its own.
func (w *world) begin(actor string, life int) (*process, error) {
	p := &process{
		world: w, actor: actor, name: fmt.Sprintf("%s.%d", actor, life), gone: make(chan struct{}), pipe: wire.NewPipe(),
		journal: filepath.Join(w.dir, fmt.Sprintf("%s.%d.journal", actor, life)),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	w.mu.Lock()
	w.living = append(w.living, p)
	w.mu.Unlock()
	server := &wire.Server{Handler: p}
	serving, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.ended.Go(func() { _ = server.Serve(serving, p.pipe) })
	var err error
	p.client, err = mongo.Connect(options.Client().ApplyURI("mongodb://mock:27017/?directConnection=true").SetDialer(p.pipe).
		SetServerMonitoringMode(options.ServerMonitoringModePoll).SetHeartbeatInterval(time.Hour).
		SetServerSelectionTimeout(5 * time.Second))
	return p, err
}

// end disconnects a process.
func (p *process) end() {
	p.world.mu.Lock()
	p.world.living = slices.DeleteFunc(p.world.living, func(o *process) bool { return o == p })
	p.world.mu.Unlock()
	_ = p.client.Disconnect(context.Background()) // its server is in memory
	p.cancel()
	p.stop()
	p.ended.Wait()
}

// kill ends a process where it stands: what its goroutines do afterwards fails, and its journal is
// the one that it had. Its connections stay, as a driver that looks for a server reads a closed channel
// without end when its client is disconnected meanwhile, and no time passes then.
func (w *world) kill(p *process) {
	if p.killed || p.client == nil {
		return
	}
	p.killed = true
	w.note(trace.Event{Kind: trace.Kill, By: p.name})
	if data, err := os.ReadFile(p.journal); err == nil {
		_ = os.WriteFile(p.journal+".kept", data, 0o600)
	}
	close(p.gone)
	p.cancel()
}

// end ends the run.
func (w *world) end() {
	w.cluster.Close()
	w.all.Wait()
}
