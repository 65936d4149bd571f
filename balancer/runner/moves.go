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

// maxChoiceAge is the maximum age of a choice when its move begins. After a longer wait, the run reads
// the cluster again.
const maxChoiceAge = time.Minute

// assumedMoveTime is the assumed maximum duration of a move. When a move begins, the cluster's own balancer
// has to stay idle for that long.
const assumedMoveTime = 10 * time.Minute

// waitingMove is a migration that a round has chosen.
type waitingMove struct {
	policy.Migration
	index           int // its place in the round
	bytes           int64
	neededRoomBytes int64 // the maximum number of bytes that the recipient may get; 0 if no limit is checked
	// forced describes a forced migration; nil for other migrations.
	forced *apply.ForcedMove
}

func (m waitingMove) paceMove() pace.Move {
	return pace.Move{Namespace: m.Namespace, Min: m.Min, Max: m.Max, From: m.From, To: m.To, Bytes: m.bytes,
		MaxBytes: max(2*m.MaxChunkSizeBytes, m.bytes), RoomBytes: m.neededRoomBytes,
		WholeRange: !m.Max.IsZero()}
}

// runMoves runs the migrations of a round, up to Options.Parallel at once, and returns the result of
// each.
func (r *run) runMoves(ctx context.Context, chosen []policy.Migration) []error {
	results := make([]error, len(chosen))
	slots := make(chan struct{}, r.o.Parallel)
	var running sync.WaitGroup
	began := r.o.Clock.Now()
	for _, m := range r.orderMoves(ctx, chosen) {
		if !r.forceIfNeeded(&m) {
			results[m.index] = pace.ErrNotBegun
			r.chooseAgain()
			continue
		}
		slots <- struct{}{}
		if results[m.index] = r.awaitPace(ctx, m, began); results[m.index] != nil {
			<-slots
			continue
		}
		move := r.countStarted(m)
		running.Go(func() {
			results[m.index] = r.runMove(ctx, m, move)
			<-slots
		})
	}
	running.Wait()
	return results
}

// orderMoves returns the migrations in the order in which they are to begin, with the expected number
// of bytes of each.
func (r *run) orderMoves(ctx context.Context, chosen []policy.Migration) []waitingMove {
	list := make([]waitingMove, len(chosen))
	for i, m := range chosen {
		list[i] = waitingMove{Migration: m, index: i, bytes: r.expectedBytes(ctx, m),
			neededRoomBytes: r.maxChunkMove(m.Namespace, m.From, m.MaxChunkSizeBytes)}
	}
	if r.o.Order == OrderHottest {
		load := r.readOperations(ctx, chosen)
		slices.SortStableFunc(list, func(a, b waitingMove) int {
			return cmp.Compare(load[b.Namespace][b.From], load[a.Namespace][a.From])
		})
		return list
	}
	sign := map[Order]int64{OrderLargest: -1, OrderSmallest: 1}[r.o.Order]
	slices.SortStableFunc(list, func(a, b waitingMove) int { return cmp.Compare(sign*a.bytes, sign*b.bytes) })
	return list
}

// expectedBytes returns the number of bytes that a migration is expected to move: the size of an
// average chunk of the donor, or of the part of the chunk that is cut off and moved.
func (r *run) expectedBytes(ctx context.Context, m policy.Migration) int64 {
	r.mu.Lock()
	table, sizes := r.round.tables[m.Namespace], r.round.sizes[m.Namespace]
	r.mu.Unlock()
	if table == nil || table.CountOn(m.From) == 0 {
		return 0
	}
	if sizes == nil { // the policy did not need them
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
	average := sizes[m.From] / int64(table.CountOn(m.From))
	if given, cut := policy.AmountToCut(average, m.MaxChunkSizeBytes); cut && m.Max.IsZero() {
		return given
	}
	return average
}

// noteLimit records a limit if the error says that the limit is reached.
func (r *run) noteLimit(err error) {
	if reached, ok := errors.AsType[*pace.RunOverError](err); ok {
		r.mu.Lock()
		r.limitReached = reached.Why
		r.mu.Unlock()
	}
}

// awaitPace waits until a move may begin.
func (r *run) awaitPace(ctx context.Context, m waitingMove, chosen time.Time) error {
	r.mu.Lock()
	over := r.limitReached != "" || r.operatorErr != nil
	r.mu.Unlock()
	if over || ctx.Err() != nil {
		return pace.ErrNotBegun
	}
	err := r.o.Gate.Enter(ctx, m.paceMove())
	r.noteLimit(err)
	if asks, ok := errors.AsType[*pace.OperatorNeededError](err); ok {
		r.noteOperatorErr(asks)
	}
	if err != nil {
		return pace.ErrNotBegun
	}
	if r.o.Clock.Now().Sub(chosen) > maxChoiceAge {
		err = pace.ErrNotBegun
		r.chooseAgain()
	} else if err = r.recheckBalancerIdle(ctx, m.Namespace); errors.Is(err, pace.ErrNotBegun) {
		r.chooseAgain() // the next round waits
	} else if errors.As(err, new(*mongoerr.UnansweredError)) {
		_ = r.noteError(err) // the round ends, and the next one waits
	} else if err != nil {
		r.noteOperatorErr(err)
	}
	if err != nil {
		r.o.Gate.Leave(m.paceMove(), pace.ErrNotBegun)
	}
	return err
}

// chooseAgain lets another round choose again the moves that have not begun.
func (r *run) chooseAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round.chooseAgain = true
}

// recheckBalancerIdle returns an error if the cluster's own balancer has started to work on a collection.
func (r *run) recheckBalancerIdle(ctx context.Context, ns string) error {
	look, err := r.cluster.Snapshot(ctx, []string{ns})
	if err != nil {
		return err
	}
	if !r.o.Gate.NoteBalancer(look.Parts().Balancer.Mode != catalog.ModeOff) {
		return pace.ErrNotBegun
	}
	return r.checkBalancerIdle(ctx, look, assumedMoveTime)
}

func (r *run) noteOperatorErr(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.operatorErr == nil {
		r.operatorErr = err
	}
}

// countStarted records that a move has begun.
func (r *run) countStarted(m waitingMove) Move {
	r.mu.Lock()
	r.round.startedMoves++
	r.movesBegun++
	move := Move{
		Number: r.movesBegun, Namespace: m.Namespace, Min: m.Min, Max: m.Max, From: m.From, To: m.To, Reason: m.Reason,
		Bytes: m.bytes,
	}
	r.mu.Unlock()
	r.emit(Event{Kind: Began, Move: move})
	if m.forced != nil {
		r.emit(Event{Kind: ForcingMove, Move: move, Why: m.forced.String()})
	}
	return move
}

// runMove executes a move and handles its result.
func (r *run) runMove(ctx context.Context, m waitingMove, reported Move) error {
	began := r.o.Clock.Now()
	err := mongoerr.CatchPanic(nil, "a migration", func() error { return r.cluster.Move(r.hardCtx, m.Migration) })
	reported.Took = r.o.Clock.Now().Sub(began)
	if err != nil && r.o.Gate.MustReenter(r.hardCtx, err) {
		r.o.Gate.Leave(m.paceMove(), pace.ErrNotBegun)
		r.handleRefused(m.Namespace)
		r.emit(Event{Kind: RefusedByHold, Move: reported, Err: err})
		return pace.ErrNotBegun
	}
	if err != nil && ctx.Err() != nil && mongoerr.Is(err, mongoerr.Interrupted) { // the user has ended the run
		r.o.Gate.Leave(m.paceMove(), pace.ErrNotBegun)
		r.forgetChunks(m.Namespace)
		r.emit(Event{Kind: Stopped, Move: reported})
		return err
	}
	if err != nil {
		r.o.Gate.Leave(m.paceMove(), err)
		r.handleFailed(m, reported, err)
		return err
	}
	is, counting := r.cluster.MovedAmount(r.hardCtx, apply.Command{Namespace: m.Namespace, From: m.From, To: m.To,
		Min: m.Min})
	if counting == nil && is.Counted {
		reported.Bytes = is.Bytes
	}
	if reported.Max.IsZero() {
		reported.Max = is.Max
	}
	r.o.Gate.LeaveMoved(m.paceMove(), reported.Bytes)
	r.skipped.forgetFailures(m.Namespace, m.Min)
	if r.o.CoolDown > 0 {
		r.skipped.skipUntil(m.Namespace, m.Min, r.o.Clock.Now().Add(r.o.CoolDown), "it was moved recently")
	}
	r.skipForcedRange(m)
	r.markFilesStale(m.Namespace)
	r.emit(Event{Kind: Moved, Move: reported})
	return nil
}

// handleRefused lets another round choose again a move that was refused because the run is held. That
// round waits before it starts any move.
func (r *run) handleRefused(ns string) {
	r.forgetChunks(ns)
	r.chooseAgain()
}

// handleFailed decides how to proceed with a range that could not be moved.
func (r *run) handleFailed(m waitingMove, reported Move, err error) {
	if r.hardCtx.Err() != nil { // whether the move fails is not known yet
		r.emit(Event{Kind: LeftToServers, Move: reported})
		r.noteOperatorErr(fmt.Errorf("moving the range of %s at %s from %s to %s: %w", m.Namespace, m.Min, m.From, m.To, err))
		return
	}
	r.forgetChunks(m.Namespace)
	then := policy.FailureClassOf(err)
	r.mu.Lock()
	r.result.Failed++
	r.mu.Unlock()
	r.emit(Event{Kind: Failed, Move: reported, Err: err, Failure: then})
	code := policy.RangeSkipped
	if policy.IsTooBig(err) {
		code = policy.JumboFlag
	}
	switch {
	case then == policy.AskOperator:
		r.noteOperatorErr(fmt.Errorf("moving the range of %s at %s from %s to %s: %w", m.Namespace, m.Min, m.From, m.To, err))
	case policy.IsTooBig(err) && !r.skipped.noteTooBig(m.Namespace, m.Min, m.ChunkVersion):
		// The engine splits the chunk, or flags it as jumbo.
	case then == policy.SkipRange:
		r.skipRange(m.Namespace, m.Min, code, err.Error())
	case then == policy.RetryNow && r.skipped.countImmediateRetry(m.Namespace, m.Min):
	default:
		if _, again := r.skipped.scheduleRetry(m.Namespace, m.Min, r.o.Clock.Now(), err.Error()); !again {
			r.skipRange(m.Namespace, m.Min, code, err.Error())
		}
	}
}
