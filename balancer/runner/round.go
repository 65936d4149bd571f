package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// round is the state of the current round.
type round struct {
	start              time.Time // the time at which the round begins, or an earlier one
	decisions          []policy.Decision
	ended              bool
	startedMoves       int  // moves that the gate has admitted
	chooseAgain        bool // some moves have not begun and are to be chosen again
	splits             int
	err                error // the first error of an exchange
	tables             map[string]*catalog.RoutingTable
	sizes              map[string]map[catalog.ShardID]int64
	operations         map[string]map[catalog.ShardID]int64 // operations, if they were counted
	catalog            *Catalog
	changedCollections map[string]bool                      // changed by the round itself
	allSizes           map[string]map[catalog.ShardID]int64 // sizes of all collections of the run
}

// maxFailedReads is the number of consecutive rounds that may fail before the run fails. readPause is the
// wait before the next round.
const (
	maxFailedReads = 10
	readPause      = 10 * time.Second
)

// endRound reports whether the run is over, and returns the error that ended it.
func (r *run) endRound(ctx context.Context) (over bool, err error) {
	r.mu.Lock()
	ended := r.round
	r.round = round{start: r.o.Clock.Now()}
	r.result.Rounds++
	limit, asked := r.limitReached, r.operatorErr
	r.mu.Unlock()
	r.emit(Event{Kind: RoundEnded})
	switch {
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case asked != nil:
		return true, asked
	case limit != "":
		r.result.Stopped = limit
		return true, nil
	case ended.startedMoves > 0 || ended.chooseAgain || ended.splits > 0:
		r.failedReads = 0
		return false, nil
	case ended.err != nil:
		return false, r.waitAfterFailedRead(ctx, ended.err)
	}
	r.failedReads = 0
	if at, waits := r.skipped.nextRetry(ended.start); waits {
		return false, r.wait(ctx, max(0, at.Sub(r.o.Clock.Now())), "failed ranges are tried again then")
	}
	if r.forgetDoubtfulChunks(ended) {
		return false, nil
	}
	r.result.Reached, r.result.Left = true, r.listLeftovers(ended.decisions)
	return true, nil
}

// waitAfterFailedRead waits before the next round, or returns err if another round has no prospect of
// success.
func (r *run) waitAfterFailedRead(ctx context.Context, err error) error {
	if !mongoerr.IsOverloaded(err) { // an overloaded cluster is waited for without a limit
		r.failedReads++
	}
	if r.failedReads >= maxFailedReads || policy.FailureClassOf(err) == policy.AskOperator {
		return err
	}
	return r.wait(ctx, readPause, fmt.Sprintf("the cluster could not be read: %v", err))
}

func (r *run) wait(ctx context.Context, d time.Duration, why string) error {
	r.emit(Event{Kind: Waiting, Wait: d, Why: why})
	return r.o.Clock.Sleep(ctx, d)
}

// noteError records the first error of a round's exchanges, since the engine does not return it.
func (r *run) noteError(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.round.err == nil && !errors.Is(err, context.Canceled) {
		r.round.err = err
	}
	return err
}

// noteTable records the routing table by which the round chooses.
func (r *run) noteTable(ns string, t *catalog.RoutingTable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.round.tables == nil {
		r.round.tables = map[string]*catalog.RoutingTable{}
	}
	r.round.tables[ns] = t
}

func (r *run) noteSplit(s policy.Split, err error) {
	if err == nil {
		r.mu.Lock()
		r.round.splits++
		r.result.Splits++
		r.mu.Unlock()
	}
	points := len(s.Points)
	if s.Halve {
		points = 1
	}
	r.emit(Event{Kind: Split, Namespace: s.Namespace, Min: s.Min, PointCount: points, Err: err})
}

// skipRange leaves a range alone for the rest of the run.
func (r *run) skipRange(ns string, lower catalog.Key, code policy.Code, why string) {
	r.skipped.skipForGood(ns, lower, code, why)
	r.emit(Event{Kind: Skipped, Namespace: ns, Min: lower, Why: why})
}

// unreportedCodes are decisions that need no report: the collection is balanced, or the next rounds
// consider it again with other shards.
var unreportedCodes = []policy.Code{
	policy.NoDonor, policy.DonorIsRecipient, policy.DonorAtIdeal, policy.DonorNearIdeal, policy.RecipientAtIdeal,
	policy.BelowThreshold, policy.NoData, policy.NothingToDrain, policy.OtherChunkFirst, policy.ShardBusy,
	policy.Throttled, policy.CollectionGone, policy.OneMigrationPerRound,
}

// listLeftovers lists what remains uneven after a round that found nothing to move, with the reasons.
func (r *run) listLeftovers(decisions []policy.Decision) (list []Leftover) {
	add := func(l Leftover) {
		if !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	aside := func(ns string, a skippedRange) {
		add(Leftover{Code: cmp.Or(a.code, policy.RangeSkipped), Namespace: ns,
			Text: fmt.Sprintf("The chunk of %s at %s is skipped: %s.", ns, a.min, a.why)})
	}
	for _, d := range decisions {
		if d.IsChosen() || slices.Contains(unreportedCodes, d.Code) && (d.Code != policy.NoData || r.o.Goal != GoalOps) {
			continue
		}
		if a, ok := r.skippedRangeOf(d); ok {
			aside(d.Namespace, a)
			continue
		}
		if d.Code == policy.OnlyJumboChunks && len(r.skipped.skippedAt(d.Namespace, r.o.Clock.Now())) >= d.Count {
			continue // skipped ranges have their own events
		}
		text := d.Text()
		if d.Code == policy.NoData {
			text = fmt.Sprintf("No operations on %s were counted in %s.", d.Namespace, humanize.Duration(r.o.OpsInterval))
		}
		if why, held := r.skipped.skippedCollection(d.Namespace); held && d.Code == policy.BalancingOff {
			text = fmt.Sprintf("%s is skipped: %s.", d.Namespace, why)
		}
		add(Leftover{Code: d.Code, Namespace: d.Namespace, Text: text})
	}
	for _, ns := range r.namespaces {
		for _, a := range r.skipped.skippedAt(ns, r.o.Clock.Now()) {
			if a.until.IsZero() {
				aside(ns, a)
			}
		}
	}
	return list
}

// skippedRangeOf returns the skipped range in the chunk of a decision. A chunk that contains a skipped
// range counts as flagged jumbo, although no flag is set.
func (r *run) skippedRangeOf(d policy.Decision) (a skippedRange, found bool) {
	if d.Code != policy.JumboFlag || d.Min.IsZero() {
		return a, false
	}
	list := r.skipped.skippedAt(d.Namespace, r.o.Clock.Now())
	i := slices.IndexFunc(list, func(a skippedRange) bool { return !a.min.Less(d.Min) && a.min.Less(d.Max) })
	if i < 0 {
		return a, false
	}
	return list[i], true
}

// measureSizes returns the amounts that the policy balances: sizes of collections by shard, or
// operations scaled to sizes.
func (r *run) measureSizes(ctx context.Context, read interface {
	DataSizes(context.Context, []catalog.Collection) (map[string]map[catalog.ShardID]int64, error)
}, colls []catalog.Collection) (sizes map[string]map[catalog.ShardID]int64, err error) {
	if r.o.Goal == GoalOps {
		return r.countOperationsAsSizes(ctx, colls)
	}
	err = errors.ErrUnsupported
	if r.cluster.Release().BalancesBySize() {
		sizes, err = read.DataSizes(ctx, colls)
	}
	// UnknownStage is the error of 6.0.0 to 6.0.2, which have no aggregation stage for sizes.
	if errors.Is(err, errors.ErrUnsupported) || mongoerr.Is(err, mongoerr.UnknownStage) {
		names := make([]string, len(colls))
		for i, c := range colls {
			names[i] = c.Namespace
		}
		sizes, err = r.cluster.Sizes(ctx, names)
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round.sizes = sizes
	return sizes, nil
}
