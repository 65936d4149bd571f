package live

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// muted is a router that answers nobody while it is silent, on connections that stay
// open. It falls silent at a move, before that or after, and once.
type muted struct {
	wire.Handler
	at    int  // which move
	after bool // it was made
	fell  func()

	mu    sync.Mutex
	moves int
	ended chan struct{} // of the silence; nil before it
}

func (m *muted) Handle(ctx context.Context, r wire.Request) bson.Raw {
	m.mu.Lock()
	silent := false
	if r.Command == "moveRange" {
		if m.moves++; m.moves == m.at {
			m.ended, silent = make(chan struct{}), true
		}
	}
	ended := m.ended
	m.mu.Unlock()
	var reply bson.Raw
	if silent && m.after {
		reply = m.Handler.Handle(ctx, r)
	}
	if silent {
		m.fell()
	}
	if ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
	if silent && !m.after {
		return nil // it was restarted, and knows nothing of it
	}
	if reply == nil {
		reply = m.Handler.Handle(ctx, r)
	}
	return reply
}

// hasty is a clock that goes ahead when somebody waits.
type hasty struct{ ahead atomic.Int64 }

func (h *hasty) Now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

func (h *hasty) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(min(d, 10*time.Millisecond)):
		h.ahead.Add(int64(d))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const heap = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"mode": "off"}},
	"collections": [{"ns": "x.c", "key": {"k": 1}, "chunks": [
	  {"shard": "a", "max": {"k": 0}, "bytes": "1GiB", "docs": 1000}, {"shard": "a", "max": {"k": 9}, "bytes": "1GiB", "docs": 1000},
	  {"shard": "a", "bytes": "1GiB", "docs": 1000}]}]}`

// A router that is silent for longer than the lease lasts is waited for: the lease is
// renewed when it answers again, what was asked for is looked after, and the run goes
// on; unless somebody else has the lease by then.
func TestRunsOutliveSilence(t *testing.T) {
	for _, tc := range []struct {
		name   string
		after  bool
		stolen bool
		run    func(*silence) (reached bool, err error)
	}{
		{"apply, before a move", false, false, (*silence).apply},
		{"apply, after a move", true, false, (*silence).apply},
		{"apply, somebody took the lease", true, true, (*silence).apply},
		{"balance, before a move", false, false, (*silence).balance},
		{"balance, somebody took the lease", true, true, (*silence).balance},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newSilence(t, tc.after, tc.stolen)
			reached, err := tc.run(w)
			left := w.turn.RestoreAndRelease(t.Context())
			if tc.stolen {
				if lost := context.Cause(w.turn.LeaseContext()); !errors.Is(lost, ErrLeaseLost) || reached || w.router.moves > 2 {
					t.Errorf("held %v, reached %v, %d moves sent, %v", lost, reached, w.router.moves, err)
				}
				return
			}
			if err != nil || left != nil || !reached || w.router.moves < 3 {
				t.Errorf("reached %v with %d moves sent: %v, %v", reached, w.router.moves, err, left)
			}
			made, err := w.direct.Database("config").Collection("changelog").
				CountDocuments(t.Context(), bson.D{{Key: "what", Value: "moveChunk.commit"}})
			if err != nil || int(made) != w.plan.Totals.Moves {
				t.Errorf("%d moves were made, %d planned, %v", made, w.plan.Totals.Moves, err)
			}
			if n, err := LeaseCollectionOf(w.direct).CountDocuments(t.Context(), bson.D{}); n != 0 || err != nil {
				t.Errorf("%d leases stay, %v", n, err)
			}
		})
	}
}

// silence is a cluster whose router falls silent, whose turn it is, and a plan.
type silence struct {
	testing.TB
	router *muted
	direct *mongo.Client
	turn   *LeasedCluster
	plan   *plan.Plan
}

func newSilence(t *testing.T, after, stolen bool) *silence {
	t.Helper()
	const lasts = 300 * time.Millisecond
	cluster := mocktest.Cluster(t, heap, mock.Config{})
	m := &muted{Handler: router.New(cluster, nil), at: 2, after: after}
	w := &silence{TB: t, router: m, direct: mocktest.Connect(t, m.Handler)}
	m.fell = func() {
		time.AfterFunc(3*lasts, func() {
			if stolen {
				steal(t, w.direct)
			}
			close(m.ended)
		})
	}
	s, err := NewReader(w.direct, ReaderOptions{}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w.plan, err = plan.Make(s, plan.Options{Goal: plan.Goal{Kind: plan.Balance}}); err != nil || len(w.plan.Steps) < 3 {
		t.Fatalf("%d steps, %v", len(w.plan.Steps), err)
	}
	client := mocktest.Connect(t, m)
	w.turn, err = acquire(t.Context(), client, NewCommandRunner(client),
		LeaseOptions{Name: engineLease, Duration: lasts, Holder: Holder{Host: "h", PID: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (s *silence) apply() (reached bool, err error) {
	away := 0
	r, err := apply.Run(s.Context(), s.turn, s.plan, apply.Options{
		Clock: new(hasty), MovesContext: s.turn.LeaseContext(), OnEvent: func(e apply.Event) {
			if e.Kind == apply.RouterUnreachable {
				away++
			}
		},
	})
	if away == 0 {
		s.Error("nobody was told of the silence")
	}
	return r.Finished, err
}

func (s *silence) balance() (reached bool, err error) {
	r, err := runner.Run(s.Context(), s.turn, runner.Options{Clock: new(hasty)})
	return r.Reached, err
}

// steal takes the lease when it has run out.
func steal(t *testing.T, client *mongo.Client) {
	command := bson.D{{Key: "mockAdvance", Value: time.Minute.Milliseconds()}}
	if err := client.Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
		t.Error(err)
	}
	_, err := AcquireLease(t.Context(), LeaseCollectionOf(client), LeaseOptions{Name: engineLease, Duration: time.Hour})
	if err != nil {
		t.Error(err)
	}
}
