package action

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// heaped has all chunks on one shard.
const heaped = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"mode": "%s"}}, "collections": [
	{"ns": "x.y", "key": {"k": 1}, %s "chunks": [
		{"shard": "a", "max": {"k": 1}, "bytes": "120MB", "docs": 100}, {"shard": "a", "max": {"k": 2}, "bytes": "120MB", "docs": 100},
		{"shard": "a", "max": {"k": 3}, "bytes": "120MB", "docs": 100}, {"shard": "a", "max": {"k": 4}, "bytes": "120MB", "docs": 100},
		{"shard": "a", "max": {"k": 5}, "bytes": "120MB", "docs": 100}, {"shard": "a", "bytes": "120MB", "docs": 100}]}]}`

// watched hears what a run reports, and does something after its first move.
type watched struct {
	waits      []string
	notes      []string
	moves      int
	waiting    bool
	afterFirst func()
}

func (w *watched) Report(e Event) {
	switch e := e.(type) {
	case Wait:
		w.waits = append(w.waits, e.Text)
		w.waiting = !e.WaitEnded
	case Note:
		w.notes = append(w.notes, e.Text)
	case EngineEvent:
		if e.Kind == runner.Moved {
			w.moved()
		}
	case StepEvent:
		if e.Kind == apply.Ended {
			w.moved()
		}
	}
}

func (w *watched) moved() {
	if w.moves++; w.moves == 1 && w.afterFirst != nil {
		w.afterFirst()
	}
}

// freezes are the ways to hold a run: set does it, and text is what the run says.
func freezes() map[string]struct {
	set, end func(*world) error
	text     string
} {
	stop := func(w *world) error {
		return w.client.Database("admin").RunCommand(w.Context(), stopCommand()).Err()
	}
	start := func(w *world) error {
		return w.client.Database("admin").RunCommand(w.Context(), startCommand()).Err()
	}
	version := func(set func(w *world) error) func(w *world) error {
		return func(w *world) error {
			w.cluster.Lock()
			defer w.cluster.Unlock()
			return set(w)
		}
	}
	return map[string]struct {
		set, end func(*world) error
		text     string
	}{
		"pause": {
			func(w *world) error {
				_, err := PauseRuns{Reason: "incident 4711", For: 2 * time.Hour}.Run(w.Context(), w.actionCluster())
				return err
			},
			func(w *world) error {
				_, err := PauseRuns{End: true}.Run(w.Context(), w.actionCluster())
				return err
			}, "paused: incident 4711 (by "},
		"balancer": {stop, start, "paused: another client has stopped the balancer during this run (at "},
		"version": {
			version(func(w *world) error { return w.cluster.ClusterParameters().SetTransitionalFCV("7.0") }),
			version(func(w *world) error { return w.cluster.ClusterParameters().SetFCV("8.0") }),
			"paused: the feature compatibility version is being changed to 7.0"},
		"quiesce": {
			func(w *world) error {
				return (&live.QuiesceRecord{Host: "ops2", Since: time.Now(), Until: w.cluster.Clock().Now().Add(time.Hour)}).Save(w.Context(), w.client)
			},
			func(w *world) error { return live.RemoveQuiesceRecord(w.Context(), w.client) },
			"paused: shardsh quiesce on ops2 keeps the cluster quiet"},
	}
}

// A run waits before its next step as long as somebody wants it to, says why, has its lease
// say that it rests, and goes on.
func TestHeld(t *testing.T) {
	for name, freeze := range freezes() {
		for _, verb := range []string{"balance", "apply"} {
			t.Run(name+" "+verb, func(t *testing.T) {
				w := newWorld(t, fmt.Sprintf(heaped, "full", `"noBalance": true,`), catalog.Release80, 1)
				check := func(err error) {
					if err != nil {
						t.Error(err)
					}
				}
				r := &watched{afterFirst: func() {
					check(freeze.set(w))
					check(w.cluster.Clock().Sleep(t.Context(), 10*time.Second)) // the version is not read before each step
				}}
				atWait, looks := 0, 0
				clock := sleeper{w.cluster.Clock(), func() {
					if !r.waiting {
						return
					}
					if looks++; looks == 1 {
						atWait = r.moves
					}
					if looks != 3 {
						return
					}
					if r.moves != atWait {
						t.Errorf("%d moves while it waited", r.moves-atWait)
					}
					if busy, err := live.ReadRunUnderWay(t.Context(), w.client); err != nil || len(busy) > 0 {
						t.Errorf("a run is under way: %v, %v", busy, err)
					}
					check(freeze.end(w))
				}}
				check(w.runs(verb, clock, r))
				if len(r.waits) != 2 || !strings.HasPrefix(r.waits[0], freeze.text) || !strings.HasPrefix(r.waits[1], "continuing after ") {
					t.Errorf("it said %q", r.waits)
				}
				if r.moves < 2 || atWait != 1 {
					t.Errorf("%d moves, %d before the wait", r.moves, atWait)
				}
			})
		}
	}
}

// sleeper does something before each sleep.
type sleeper struct {
	apply.Clock
	before func()
}

func (s sleeper) Sleep(ctx context.Context, d time.Duration) error {
	s.before()
	return s.Clock.Sleep(ctx, d)
}

// runs has a verb even out x.y.
func (w *world) runs(verb string, clock apply.Clock, r Reporter) error {
	w.Helper()
	c := w.actionCluster()
	c.Clock = clock
	p := Pace{Parallel: 1}
	if verb == "balance" {
		result, err := Balance{Namespaces: []string{"x.y"}, Pace: p}.Run(w.Context(), c, r)
		if err == nil && !result.Reached {
			err = fmt.Errorf("%+v", result)
		}
		return err
	}
	result, err := Apply{Plan: w.plan(plan.Goal{Kind: plan.Balance, Namespaces: []string{"x.y"}}), RunOptions: RunOptions{Pace: p, NoJournal: true}}.Run(
		w.Context(), c, r)
	if err == nil && !result.Finished {
		err = fmt.Errorf("%+v", result)
	}
	return err
}

// A step that waits for the look of another one goes on when its run is to end, however long that
// look takes.
func TestHoldsHearsTheEnd(t *testing.T) {
	asked := make(chan struct{})
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://nowhere").SetDialer(dialer(func(ctx context.Context) {
		select {
		case asked <- struct{}{}:
		case <-ctx.Done():
		}
		<-ctx.Done()
	})))
	if err != nil {
		t.Fatal(err)
	}
	look := Cluster{Client: client, Clock: ticking{now: time.Now}}.newHoldReader(new(atomic.Pointer[live.LeasedCluster]), &serialReporter{})
	first, cancel := context.WithCancel(t.Context())
	var over sync.WaitGroup
	defer over.Wait()
	defer cancel()
	over.Go(func() { _, _ = look(first, pace.HoldInput{}) })
	<-asked
	ended, end := context.WithCancel(t.Context())
	end()
	told := make(chan error, 1)
	over.Go(func() {
		_, err := look(ended, pace.HoldInput{})
		told <- err
	})
	select {
	case err := <-told:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second): // the first one takes 15 seconds at least
		t.Error("it waits for the look of another one")
	}
}

// dialer reaches nobody, once it has run.
type dialer func(context.Context)

func (d dialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	d(ctx)
	return nil, ctx.Err()
}
