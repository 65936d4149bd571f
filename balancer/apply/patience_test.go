package apply_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// blinking is a cluster whose router goes away at each command: before or after it
// was carried out. It stays away for some questions.
type blinking struct {
	apply.Cluster
	stays int

	mu    sync.Mutex
	count int // commands
	away  int // questions that nobody answers
	news  bool
	times int // that it was away
}

func errGone() error { return &mongoerr.UnansweredError{Cause: errors.New("the connection broke")} }

func (b *blinking) Do(ctx context.Context, c apply.Command) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	b.away, b.news = b.stays, true
	if b.count%3 == 0 {
		return errGone()
	}
	if err := b.Cluster.Do(ctx, c); err != nil || b.count%3 == 1 {
		return err
	}
	return errGone()
}

func (b *blinking) gone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away--
	if b.away >= 0 && b.news {
		b.news = false
		b.times++
	}
	return b.away >= 0
}

func (b *blinking) Snapshot(ctx context.Context, names []string) (*catalog.Snapshot, error) {
	if b.gone() {
		return nil, errGone()
	}
	return b.Cluster.Snapshot(ctx, names)
}

func (b *blinking) Chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error) {
	if b.gone() {
		return nil, errGone()
	}
	return b.Cluster.Chunks(ctx, c, lower, upper)
}

func (b *blinking) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	if b.gone() {
		return errGone()
	}
	return b.Cluster.SetBalancing(ctx, namespaces, on)
}

// A router that goes away again and again changes nothing but the time it takes:
// each time that it goes is told once, and never is anything done twice.
func TestARouterThatGoesAway(t *testing.T) {
	for _, stays := range []int{0, 1, 40} { // 40: for longer than anything else is tried again
		seed := uint64(stays)
		release := releases()[stays%len(releases())]
		topology := even(rand.New(rand.NewPCG(seed, 5)))
		undisturbed := newWorld(t, topology, release, seed)
		p := undisturbed.plan(plan.Goal{Kind: plan.Balance})
		undisturbed.mustRun(p, undisturbed.options())
		w := newWorld(t, topology, release, seed)
		o := w.options()
		o.PauseBalancing = true
		told := 0
		o.OnEvent = func(e apply.Event) {
			if e.Kind == apply.RouterUnreachable {
				told++
			}
		}
		b := &blinking{Cluster: w.steps, stays: stays}
		r, err := apply.Run(t.Context(), b, p, o)
		if err != nil || !r.Finished || b.count < 3 {
			t.Fatalf("away for %d questions: finished %v, %d commands, %v", stays, r.Finished, b.count, err)
		}
		if told != b.times || told < min(stays, b.count/2) {
			t.Errorf("away for %d questions, %d times, was told %d times", stays, b.times, told)
		}
		w.sameLayout(fmt.Sprintf("away for %d questions", stays), undisturbed.layout())
		w.balancedAgain()
	}
}

// One that was never there is not waited for, and one that stays away no longer
// than the run may take.
func TestHowLongARouterIsWaitedFor(t *testing.T) {
	w := newWorld(t, uneven(rand.New(rand.NewPCG(1, 5))), catalog.Release80, 1)
	p := w.plan(plan.Goal{Kind: plan.Balance})
	for _, tt := range []struct {
		name  string
		stays int // from the beginning
		limit time.Duration
		most  time.Duration
	}{
		{"never there", 1 << 30, 0, 2 * time.Minute},
		{"gone for good", 0, time.Hour, time.Hour + 2*time.Minute},
		{"gone for good, no limit", 0, 0, 25 * time.Hour},
	} {
		o := w.options()
		o.Gate = pace.NewGate(pace.Rules{MaxTime: tt.limit}, o.Clock)
		began := w.cluster.Clock().Now()
		b := &blinking{Cluster: w.steps, stays: 1 << 30, away: tt.stays}
		_, err := apply.Run(t.Context(), b, p, o)
		took := w.cluster.Clock().Now().Sub(began)
		if !errors.As(err, new(*mongoerr.UnansweredError)) || took > tt.most || took < tt.most/4 {
			t.Errorf("%s: it took %s and ended with %v", tt.name, took, err)
		}
	}
}
