package runner_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/runner"
)

var starts = flag.Uint64("runner.starts", 12, "how many random starts two runners have on one cluster")

// stalling is the way of one runner to the cluster: it stands still once, at one of
// its commands, for as long as nobody says that it goes on. A move that was sent is
// under way and not stopped.
type stalling struct {
	wire.Handler
	left    atomic.Int64 // commands until then
	stalled chan struct{}
	goOn    chan struct{}
}

func (s *stalling) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if r.Command != "moveRange" && r.Command != "moveChunk" && r.Command != "hello" && s.left.Add(-1) == 0 {
		close(s.stalled)
		<-s.goOn
	}
	return s.Handler.Handle(ctx, r)
}

// skewed is a clock that is wrong.
type skewed struct {
	runner.Options
	by time.Duration
}

func (s skewed) Now() time.Time                                   { return s.Clock.Now().Add(s.by) }
func (s skewed) Sleep(ctx context.Context, d time.Duration) error { return s.Clock.Sleep(ctx, d) }

// Two runners want the same. One stands still at a random command, for less or more
// than the lease lasts, and both have clocks that are wrong by up to an hour. Never do
// both move: who stood still for too long moves nothing after the other has begun.
// For a hundred starts: go test -run TwoRunners -runner.starts 100.
func TestTwoRunners(t *testing.T) {
	took, refused := 0, 0
	for seed := range *starts {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if twoRunners(t, seed) {
				took++
			} else {
				refused++
			}
		})
	}
	if took == 0 || refused == 0 {
		t.Errorf("the second one took over %d times, and was refused %d times", took, refused)
	}
}

func twoRunners(t *testing.T, seed uint64) (took bool) {
	r := rand.New(rand.NewPCG(seed, 14))
	releases := []catalog.Release{catalog.Release44, catalog.Release60, catalog.Release80}
	w := newWorld(t, heaped(atNight), releases[seed%3], seed)
	way := &stalling{Handler: router.New(w.cluster, nil), stalled: make(chan struct{}), goOn: make(chan struct{})}
	way.left.Store(1 + r.Int64N(120))
	first := *w
	first.client = mocktest.Connect(t, way)

	skew := func() time.Duration { return time.Duration(r.Int64N(int64(2*time.Hour))) - time.Hour }
	begin := func(w *world, skew time.Duration) (result runner.Result, err error) {
		turn, err := w.take()
		if err != nil {
			return result, err
		}
		o := w.options("shop.orders")
		o.PauseBalancing = true
		o.Clock = skewed{o, skew}
		result, err = runner.Run(w.Context(), turn, o)
		return result, errors.Join(err, turn.RestoreAndRelease(w.Context()))
	}
	type outcome struct {
		runner.Result
		err error
	}
	ended := make(chan outcome, 1)
	firstSkew, secondSkew := skew(), skew()
	go func() {
		result, err := begin(&first, firstSkew)
		ended <- outcome{result, err}
	}()
	var a outcome
	stood := false
	select {
	case <-way.stalled:
		stood = true
	case a = <-ended:
		ended <- a
	}
	before := len(w.moves("moveChunk.commit"))
	stall := []time.Duration{0, 30 * time.Second, 90 * time.Second, 10 * time.Minute}[r.IntN(4)]
	w.command(bson.D{{Key: "mockAdvance", Value: stall.Milliseconds()}})
	b, err := begin(w, secondSkew)
	held := errors.As(err, new(*live.HeldError))
	if err != nil && !held || held && (!stood || stall > time.Minute) || !held && !b.Reached {
		t.Fatalf("the second one, %s after the first one stood still: %+v, %v", stall, b, err)
	}
	close(way.goOn)
	a = <-ended
	if lost := errors.Is(a.err, live.ErrLeaseLost); a.err != nil && !lost || !lost && !a.Reached || lost && held {
		t.Errorf("the first one: %+v, %v", a.Result, a.err)
	}
	made := len(w.moves("moveChunk.commit"))
	if !held && made != before+b.Done.Moves {
		t.Errorf("%d moves before the second one took over, which made %d; %d were made", before, b.Done.Moves, made)
	}
	if made != a.Done.Moves+b.Done.Moves {
		t.Errorf("%d moves, told of are %d and %d", made, a.Done.Moves, b.Done.Moves)
	}
	if left := w.off(); len(left) > 0 {
		t.Errorf("off are %v", left)
	}
	leases, err := live.LeaseCollectionOf(w.client).CountDocuments(t.Context(), bson.D{})
	if err != nil || leases > 0 {
		t.Errorf("%d leases stay, %v", leases, err)
	}
	return !held
}
