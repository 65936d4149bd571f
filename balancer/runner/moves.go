package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
)

// fresh is how old a choice may be when its move begins. After a longer wait the
// cluster is looked at again.
const fresh = time.Minute

// aStep is how long a move may take: for so long the cluster's own balancer has to
// keep away when it begins.
const aStep = 10 * time.Minute

// waitingMove is one that a round has chosen.
type waitingMove struct {
	policy.Migration
	at    int // its place in the round
	bytes int64
	room  int64 // what it may bring at most; 0 where nobody asks
	// forced is what it takes if it is one by force; nil for others.
	forced *apply.Forced
}

func (m waitingMove) pace() pace.Move {
	return pace.Move{Namespace: m.Namespace, Min: m.Min, Max: m.Max, From: m.From, To: m.To, Bytes: m.bytes,
		Most: max(2*m.MaxChunkSizeBytes, m.bytes), Room: m.room,
		Whole: !m.Max.IsZero()}
}

// moves runs the migrations of a round, some at once, and returns how each ended.
func (r *run) moves(ctx context.Context, chosen []policy.Migration) []error {
	results := make([]error, len(chosen))
	slots := make(chan struct{}, r.o.Parallel)
	var running sync.WaitGroup
	began := r.o.Clock.Now()
	for _, m := range r.inOrder(ctx, chosen) {
		if !r.force(&m) {
			results[m.at] = pace.ErrNotBegun
			r.again()
			continue
		}
		slots <- struct{}{}
		if results[m.at] = r.enter(ctx, m, began); results[m.at] != nil {
			<-slots
			continue
		}
		move := r.start(m)
		running.Go(func() {
			results[m.at] = r.move(ctx, m, move)
			<-slots
		})
	}
	running.Wait()
	return results
}

// inOrder returns the migrations in the order in which they are to begin, with what
// they are expected to move.
func (r *run) inOrder(ctx context.Context, chosen []policy.Migration) []waitingMove {
	list := make([]waitingMove, len(chosen))
	for i, m := range chosen {
		list[i] = waitingMove{Migration: m, at: i, bytes: r.expected(ctx, m),
			room: r.mostOf(m.Namespace, m.From, m.MaxChunkSizeBytes)}
	}
	if r.o.Order == Hottest {
		load := r.loadOf(ctx, chosen)
		slices.SortStableFunc(list, func(a, b waitingMove) int {
			return cmp.Compare(load[b.Namespace][b.From], load[a.Namespace][a.From])
		})
		return list
	}
	sign := map[Order]int64{Largest: -1, Smallest: 1}[r.o.Order]
	slices.SortStableFunc(list, func(a, b waitingMove) int { return cmp.Compare(sign*a.bytes, sign*b.bytes) })
	return list
}

// expected is how many bytes a migration will move: those of an average chunk of
// the donor, or of what that gives away of it.
func (r *run) expected(ctx context.Context, m policy.Migration) int64 {
	r.mu.Lock()
	table, sizes := r.round.tables[m.Namespace], r.round.sizes[m.Namespace]
	r.mu.Unlock()
	if table == nil || table.Count(m.From) == 0 {
		return 0
	}
	if sizes == nil { // the policy has not asked for them
		all, err := r.cluster.Sizes(ctx, []string{m.Namespace})
		if err != nil {
			return 0
		}
		sizes = all[m.Namespace]
		r.mu.Lock()
		if r.round.sizes == nil {
			r.round.sizes = map[string]map[catalog.ShardID]int64{}
		}
		r.round.sizes[m.Namespace] = sizes
		r.mu.Unlock()
	}
	average := sizes[m.From] / int64(table.Count(m.From))
	if given, cut := policy.DocumentsToCut(average, m.MaxChunkSizeBytes); cut && m.Max.IsZero() {
		return given
	}
	return average
}

// over notes that an error says that a limit is reached.
func (r *run) over(err error) {
	if reached, is := errors.AsType[*pace.OverError](err); is {
		r.mu.Lock()
		r.limit = reached.Why
		r.mu.Unlock()
	}
}

// enter waits until a move may begin.
func (r *run) enter(ctx context.Context, m waitingMove, chosen time.Time) error {
	r.mu.Lock()
	over := r.limit != "" || r.asked != nil
	r.mu.Unlock()
	if over || ctx.Err() != nil {
		return pace.ErrNotBegun
	}
	err := r.o.Gate.Enter(ctx, m.pace())
	r.over(err)
	if asks, is := errors.AsType[*pace.AskError](err); is {
		r.ask(asks)
	}
	if err != nil {
		return pace.ErrNotBegun
	}
	if r.o.Clock.Now().Sub(chosen) > fresh {
		err = pace.ErrNotBegun
		r.again()
	} else if err = r.mayGoOn(ctx, m.Namespace); errors.Is(err, pace.ErrNotBegun) {
		r.again() // which waits
	} else if errors.As(err, new(*mongoerr.UnansweredError)) {
		_ = r.note(err) // the round ends, and the next one waits
	} else if err != nil {
		r.ask(err)
	}
	if err != nil {
		r.o.Gate.Leave(m.pace(), pace.ErrNotBegun)
	}
	return err
}

// again has another round choose what has not begun.
func (r *run) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round.again = true
}

// mayGoOn returns an error when the cluster's own balancer has begun to work on a
// collection.
func (r *run) mayGoOn(ctx context.Context, ns string) error {
	look, err := r.cluster.Snapshot(ctx, []string{ns})
	if err != nil {
		return err
	}
	if !r.o.Gate.Balancer(look.Parts().Balancer.Mode != catalog.ModeOff) {
		return pace.ErrNotBegun
	}
	return r.left(ctx, look, aStep)
}

func (r *run) ask(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = err
	}
}

// start counts a move as begun.
func (r *run) start(m waitingMove) Move {
	r.mu.Lock()
	r.round.began++
	r.number++
	move := Move{
		Number: r.number, Namespace: m.Namespace, Min: m.Min, Max: m.Max, From: m.From, To: m.To, Reason: m.Reason,
		Bytes: m.bytes,
	}
	r.mu.Unlock()
	r.tell(Event{Kind: Began, Move: move})
	if m.forced != nil {
		r.tell(Event{Kind: Forcing, Move: move, Why: m.forced.String()})
	}
	return move
}

// move carries one out and deals with how it ended.
func (r *run) move(ctx context.Context, m waitingMove, told Move) error {
	began := r.o.Clock.Now()
	err := mongoerr.CatchPanic(nil, "a migration", func() error { return r.cluster.Move(r.hard, m.Migration) })
	told.Took = r.o.Clock.Now().Sub(began)
	if err != nil && r.o.Gate.Refused(r.hard, err) {
		r.o.Gate.Leave(m.pace(), pace.ErrNotBegun)
		r.refused(m.Namespace)
		r.tell(Event{Kind: Refused, Move: told, Err: err})
		return pace.ErrNotBegun
	}
	if err != nil && ctx.Err() != nil && mongoerr.Is(err, mongoerr.Interrupted) { // as whoever ends the run has asked
		r.o.Gate.Leave(m.pace(), pace.ErrNotBegun)
		r.forget(m.Namespace)
		r.tell(Event{Kind: Stopped, Move: told})
		return err
	}
	if err != nil {
		r.o.Gate.Leave(m.pace(), err)
		r.failed(m, told, err)
		return err
	}
	is, counting := r.cluster.Moved(r.hard, apply.Command{Namespace: m.Namespace, From: m.From, To: m.To, Min: m.Min})
	if counting == nil && is.Counted {
		told.Bytes = is.Bytes
	}
	if told.Max.IsZero() {
		told.Max = is.Max
	}
	r.o.Gate.Moved(m.pace(), told.Bytes)
	r.skipped.moved(m.Namespace, m.Min)
	if r.o.CoolDown > 0 {
		r.skipped.rest(m.Namespace, m.Min, r.o.Clock.Now().Add(r.o.CoolDown), "it was moved recently")
	}
	r.wasForced(m)
	r.grown(m.Namespace)
	r.tell(Event{Kind: Moved, Move: told})
	return nil
}

// refused has another round choose what something that holds the run has refused. That round
// waits before anything begins.
func (r *run) refused(ns string) {
	r.forget(ns)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round.again = true
}

// failed decides what becomes of a range that could not be moved.
func (r *run) failed(m waitingMove, told Move, err error) {
	if r.hard.Err() != nil { // nobody knows yet whether it fails
		r.tell(Event{Kind: GoesOn, Move: told})
		r.ask(fmt.Errorf("moving the range of %s at %s from %s to %s: %w", m.Namespace, m.Min, m.From, m.To, err))
		return
	}
	r.forget(m.Namespace)
	then := policy.FailureOf(err)
	r.mu.Lock()
	r.result.Failed++
	r.mu.Unlock()
	r.tell(Event{Kind: Failed, Move: told, Err: err, Then: then})
	switch {
	case then == policy.AskOperator:
		r.ask(fmt.Errorf("moving the range of %s at %s from %s to %s: %w", m.Namespace, m.Min, m.From, m.To, err))
	case policy.IsTooBig(err) && !r.skipped.tooBig(m.Namespace, m.Min, m.ChunkVersion):
		// The engine splits the chunk, or flags it.
	case then == policy.SkipRange:
		r.leave(m.Namespace, m.Min, err.Error())
	case then == policy.RetryNow && r.skipped.raced(m.Namespace, m.Min):
	default:
		if _, again := r.skipped.later(m.Namespace, m.Min, r.o.Clock.Now(), err.Error()); !again {
			r.leave(m.Namespace, m.Min, err.Error())
		}
	}
}
