package action

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// mortal answers one process, which dies at one of its messages: before it was carried out,
// or after it and before the answer. Then nothing of that process is answered any more.
type mortal struct {
	wire.Handler
	end context.CancelFunc

	mu    sync.Mutex
	left  int // messages until it dies
	after bool
	dead  bool
}

func (m *mortal) Handle(ctx context.Context, r wire.Request) bson.Raw {
	m.mu.Lock()
	m.left--
	dies := m.left == 0
	m.dead = m.dead || dies
	dead := m.dead
	m.mu.Unlock()
	if dies {
		m.end()
		if m.after {
			m.Handler.Handle(context.WithoutCancel(ctx), r)
		}
	}
	if dead {
		return nil
	}
	return m.Handler.Handle(ctx, r)
}

// call runs one call of a job as a process of its own, which dies after so many messages; 0
// is never.
func (w *world) call(dies int, after bool, run func(ctx, hard context.Context, c Cluster) (JobStatus, error)) (
	status JobStatus, err error, killed bool) {
	w.Helper()
	ctx, end := context.WithCancel(w.Context())
	defer end()
	m := &mortal{Handler: router.New(w.cluster, nil), end: end, left: dies, after: after}
	if dies == 0 {
		m.left = -1
	}
	w.Run("process", func(t *testing.T) {
		client := mocktest.Connect(t, m)
		status, err = run(ctx, ctx, Cluster{Client: client, Clock: w.cluster.Clock()})
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	return status, err, m.dead
}

// Run runs a part of a test, whose clean-ups come at its end.
func (w *world) Run(name string, f func(t *testing.T)) { w.TB.(*testing.T).Run(name, f) }

func jobDrain() Drain {
	return Drain{Shard: "s0", Remove: true, MovePrimaries: true,
		RunOptions: RunOptions{Pace: Pace{Parallel: 1}, PauseBalancing: true}}
}

// full of chunks is a topology with many chunks on s0, the balancer on.
func crowded(chunks int) string {
	var b strings.Builder
	b.WriteString(`{"shards": [{"id": "s0"}, {"id": "s1"}, {"id": "s2"}], "settings": {},
		"databases": [{"name": "db", "primary": "s1"}, {"name": "app", "primary": "s0"}], "collections": [`)
	for n := range 2 {
		fmt.Fprintf(&b, `%s{"ns": "db.c%d", "key": {"x": 1}, "chunks": [`, comma(n), n)
		for i := range chunks {
			on := 0
			if i%5 == 4 {
				on = 1 + i%2
			}
			fmt.Fprintf(&b, `%s{"shard": "s%d", "bytes": %d, "docs": %d`, comma(i), on, 1024*5000, 5000)
			if i < chunks-1 {
				fmt.Fprintf(&b, `, "max": {"x": %d}`, 1000*(i+1))
			}
			b.WriteString("}")
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}

// A loop that calls start every ten seconds, each time from another process, drains and
// removes a shard with 100 kills, and no step is carried out twice.
func TestJobIsKilled(t *testing.T) {
	w := newWorld(t, crowded(60), catalog.Release80, 3)
	r := rand.New(rand.NewPCG(5, 6))
	kills, calls := 0, 0
	for {
		dies := 0
		if kills < 100 {
			dies = 1 + r.IntN(100)
		}
		status, err, killed := w.call(dies, r.IntN(2) == 0, func(ctx, hard context.Context, c Cluster) (JobStatus, error) {
			return JobStart{Of: jobDrain(), WorkFor: 300 * time.Millisecond, Hard: hard}.Run(ctx, c, nil)
		})
		calls++
		if killed {
			kills++
		} else if err != nil {
			t.Fatalf("call %d: %v", calls, err)
		}
		if !killed && status.State == live.JobDone {
			break
		}
		if !killed && !status.Good() || calls > 1000 {
			t.Fatalf("call %d: %+v", calls, status)
		}
		w.admin(bson.D{{Key: "mockAdvance", Value: (10 * time.Second).Milliseconds()}})
	}
	t.Logf("%d calls, %d kills", calls, kills)
	if kills < 100 {
		t.Errorf("only %d kills", kills)
	}
	if _, there := w.snapshot().Shard("s0"); there {
		t.Error("the shard is there")
	}
	w.well()
	w.onceEach()
}

// onceEach checks that the change log has each range that left s0 once.
func (w *world) onceEach() {
	w.Helper()
	cursor, err := w.client.Database("config").Collection("changelog").Find(w.Context(),
		bson.D{{Key: "what", Value: "moveChunk.commit"}})
	if err != nil {
		w.Fatal(err)
	}
	var entries []struct {
		NS      string `bson:"ns"`
		Details struct {
			Min, Max bson.Raw
			From, To string
		}
	}
	if err := cursor.All(w.Context(), &entries); err != nil {
		w.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		move := fmt.Sprintf("%s %s", e.NS, e.Details.Min)
		if seen[move] {
			w.Errorf("%s moved more than once", move)
		}
		seen[move] = true
	}
	w.Logf("%d moves", len(entries))
	if len(entries) == 0 {
		w.Error("nothing has moved")
	}
}
