package action

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
)

// What comes to a shard after the plan was made, and before the shard is marked as
// draining, is moved off by another plan.
func TestDrainOfWhatCame(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, release := range releases() {
		w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), release, 1)
		r, err := w.reach(plan.Goal{Kind: plan.Drain, Shard: "s0"}, func(o *apply.Options, turn *leasedRun) {
			d := &drainHooks{leasedRun: turn, shard: "s0", remove: true, movePrimaries: true, note: func(string) {}}
			o.OnReady = func(ctx context.Context) error {
				w.moveTo("s0")
				return d.markDraining(ctx)
			}
			o.OnAllDone = d.finish
		})
		if err != nil || !r.Finished || r.Replans == 0 {
			t.Errorf("%s: finished %v, %d new plans, %v", release, r.Finished, r.Replans, err)
		}
		if _, there := w.snapshot().Shard("s0"); there {
			t.Errorf("%s: the shard is there", release)
		}
		w.well()
	}
}

// unreliable fails the first movePrimary, and drops the connection when a shard has been removed.
type unreliable struct {
	wire.Handler
	failed, lost *bool
}

func (u unreliable) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if r.Command == "movePrimary" && !*u.failed {
		*u.failed = true
		reply, _ := bson.Marshal(mongoerr.Reply(mongoerr.New(mongoerr.LockBusy, "later")))
		return reply
	}
	reply := u.Handler.Handle(ctx, r)
	if state, _ := reply.Lookup("state").StringValueOK(); r.Command == "removeShard" && state == "completed" {
		*u.lost = true
		r.Client.Drop()
	}
	return reply
}

// The end of a drain goes on after temporary failures, also if the answer to the removal is lost.
func TestDrainEndsInSpiteOfFailures(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), catalog.Release80, 1)
	var failed, lost bool
	w.client = mocktest.Connect(t, unreliable{router.New(w.cluster, nil), &failed, &lost})
	r, err := w.drain(Drain{Shard: "s0", Remove: true, MovePrimaries: true, RunOptions: RunOptions{
		Journal: filepath.Join(t.TempDir(), "journal")}})
	if err != nil || !r.Finished || !failed || !lost {
		t.Errorf("%+v, %v; failed: %t, lost: %t", r, err, failed, lost)
	}
	if _, there := w.snapshot().Shard("s0"); there {
		t.Error("the shard is there")
	}
}

// moveTo moves a chunk of another shard to one.
func (w *world) moveTo(id catalog.ShardID) {
	w.Helper()
	c := w.snapshot().Collection("db.c0")
	for chunk := range c.Table.All() {
		if chunk.Shard != id {
			w.admin(bson.D{{Key: "moveChunk", Value: c.Namespace}, {Key: "to", Value: string(id)},
				{Key: "bounds", Value: bson.A{c.Pattern.Bound(chunk.Min), c.Pattern.Bound(chunk.Max)}}})
			return
		}
	}
	w.Fatal("all chunks are there")
}

// What nobody can move off ends a draining with an error that says how much is left.
func TestDrainOfWhatStays(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), catalog.Release80, 1)
	looks := 0
	_, err := w.reach(plan.Goal{Kind: plan.Drain, Shard: "s0"}, func(o *apply.Options, _ *leasedRun) {
		o.OnAllDone = func(context.Context) error {
			looks++
			return &apply.ChangedError{What: "shard s0 is draining, 1 chunk left"}
		}
	})
	if err == nil || err.Error() != "the cluster has changed: shard s0 is draining, 1 chunk left" || looks > 30 {
		t.Errorf("after %d looks: %v", looks, err)
	}
	w.well()
}

// A run that was killed when the shard was gone and its lease was not leaves that to
// the next one, unless somebody is at work.
func TestTidyUp(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), catalog.Release80, 1)
	leases := func() int64 {
		n, err := live.LeaseCollectionOf(w.client).CountDocuments(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := w.actionCluster().releaseLeftoverLease(t.Context()); err != nil || leases() != 0 {
		t.Errorf("%d leases where none was, %v", leases(), err)
	}
	_, err := live.Acquire(t.Context(), w.client, live.NewCommandRunner(w.client), live.Holder{Host: "ops1", PID: 42, Doing: "drain s0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.actionCluster().releaseLeftoverLease(t.Context()); err != nil || leases() != 1 {
		t.Errorf("%d leases of one who is at work, %v", leases(), err)
	}
	w.admin(bson.D{{Key: "mockAdvance", Value: (2 * time.Minute).Milliseconds()}})
	if err := w.actionCluster().releaseLeftoverLease(t.Context()); err != nil || leases() != 0 {
		t.Errorf("%d leases of one who was killed, %v", leases(), err)
	}
}

// lateLeases answers what is asked of leases later than somebody waits who has given
// the run up.
type lateLeases struct {
	wire.Handler
	by time.Duration
}

func (l lateLeases) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if r.Database == live.LeaseDatabase && r.Command == "delete" {
		select {
		case <-time.After(l.by):
		case <-ctx.Done():
		}
	}
	return l.Handler.Handle(ctx, r)
}

// Giving the lease back may take its time, unless somebody has given up the run.
func TestLeaseIsGivenBackSlowly(t *testing.T) {
	cluster := newWorld(t, scattered(rand.New(rand.NewPCG(1, 9)), stopped), catalog.Release80, 1)
	slow := *cluster
	slow.client = mocktest.Connect(t, lateLeases{router.New(cluster.cluster, nil), 500 * time.Millisecond})
	slow.mustReach(plan.Goal{Kind: plan.Defragment, Namespaces: []string{"db.c0"}}, nil)
}
