package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// Run balances until a round finds nothing to move, a limit is reached, or the operator has to decide.
// When ctx ends, no new move begins, the moves in progress run to their end, and the Result says that
// the run was stopped. The Result says what was done in any case.
//
// The error is a *BalancerActiveError while the cluster's own balancer works on the collections.
func Run(ctx context.Context, c Cluster, o Options) (Result, error) {
	o.Goal, o.Order, o.Parallel = cmp.Or(o.Goal, GoalSize), cmp.Or(o.Order, OrderPolicy), max(1, o.Parallel)
	if o.Goal == GoalOps || o.Goal == GoalLoad {
		o.OpsInterval, o.CoolDown = cmp.Or(o.OpsInterval, defaultOpsInterval), cmp.Or(o.CoolDown, defaultOpsCoolDown)
	}
	if o.Gate == nil {
		o.Gate = pace.NewGate(pace.Rules{}, o.Clock)
	}
	r := &run{cluster: c, o: o}
	r.result.Began = o.Clock.Now()
	hard, cancel := context.WithCancelCause(cmp.Or(o.MovesContext, context.Background()))
	defer cancel(nil)
	defer context.AfterFunc(c.LeaseContext(), func() { cancel(context.Cause(c.LeaseContext())) })()
	r.hardCtx = hard
	soft, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(hard, func() { end(context.Cause(hard)) })()

	err := r.prepare(soft)
	if err == nil && o.Goal == GoalLoad {
		err = r.runLoadRounds(soft)
	} else if err == nil {
		err = r.runRounds(soft)
	} else if reached, ok := errors.AsType[*pace.RunOverError](err); ok {
		err, r.result.Stopped = nil, reached.Why
	}
	r.result.Ended, r.result.Done = o.Clock.Now(), o.Gate.Moved()
	if lost := context.Cause(c.LeaseContext()); c.LeaseContext().Err() != nil {
		return r.result, lost
	}
	if err != nil && ctx.Err() != nil {
		err, r.result.Stopped = nil, pace.StoppedByInterrupt
	}
	return r.result, err
}

// run is the state of a run in progress.
type run struct {
	cluster       Cluster
	o             Options
	hardCtx       context.Context
	skipped       skippedRanges
	opsSpreads    map[string]opsSpread // of operations, by collection
	coolingRanges []coolingRange       // of the goal GoalLoad

	namespaces              []string        // of the run
	balancedDespiteDisabled map[string]bool // collections that are balanced even if disabled
	settings                catalog.Settings

	mu          sync.Mutex // guards the fields below
	round       round
	lastCatalog *Catalog // of an earlier round
	disks       disks
	// toReread are the collections whose chunks are to be read again.
	toReread     map[string]bool
	limitReached string // the limit that was reached, as text
	operatorErr  error  // about which the operator has to decide
	result       Result
	movesBegun   int
	failedReads  int // number of consecutive rounds that could not be read to their end
}

func (r *run) emit(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.OnEvent != nil {
		e.At, e.Done = r.o.Clock.Now(), r.o.Gate.Moved()
		r.o.OnEvent(e)
	}
}

// prepare determines the collections of the run, and checks whether the cluster's own balancer leaves
// them alone.
func (r *run) prepare(ctx context.Context) error {
	if err := r.o.Gate.AwaitUnheld(ctx); err != nil { // nothing is changed before the hold ends
		return err
	}
	look, err := r.cluster.Snapshot(ctx, nil)
	if err != nil {
		return err
	}
	r.o.Gate.NoteBalancer(look.Parts().Balancer.Mode != catalog.ModeOff)
	if r.namespaces, err = plan.MatchNamespaces(look, r.o.Namespaces); err != nil {
		return err
	}
	r.namespaces = WithoutServerOwned(r.namespaces, r.o.Namespaces)
	if len(r.namespaces) == 0 {
		return errors.New("there is no sharded collection to balance")
	}
	r.result.Namespaces = r.namespaces
	r.balancedDespiteDisabled = map[string]bool{}
	for _, ns := range r.cluster.PausedCollections() {
		r.balancedDespiteDisabled[ns] = true
	}
	for _, ns := range r.namespaces {
		if plan.IsNamedInFull(r.o.Namespaces, ns) {
			r.balancedDespiteDisabled[ns] = true
		}
	}
	r.settings = look.Settings()
	if r.o.PauseBalancing {
		if look, err = r.pauseBalancing(ctx, look); err != nil {
			return err
		}
	}
	return r.checkBalancerIdle(ctx, look, r.o.MaxTime)
}

// WithoutServerOwned returns the collections of a run among those that match its patterns:
// the servers' own (config.*) only if they are named.
func WithoutServerOwned(namespaces, patterns []string) []string {
	return slices.DeleteFunc(slices.Clone(namespaces), func(ns string) bool {
		return strings.HasPrefix(ns, "config.") && !slices.Contains(patterns, ns)
	})
}

// pauseBalancing switches the balancing of the collections off for the cluster's own balancer. It then waits
// for the end of the round that may have chosen migrations of the collections already.
func (r *run) pauseBalancing(ctx context.Context, snapshot *catalog.Snapshot) (*catalog.Snapshot, error) {
	if snapshot.Parts().Balancer.Mode != catalog.ModeFull {
		return snapshot, nil
	}
	var on []string
	for _, ns := range r.namespaces {
		if c := snapshot.Collection(ns); c != nil && !c.NoBalance {
			on = append(on, ns)
		}
	}
	if len(on) > 0 {
		if err := r.cluster.SetBalancing(r.hardCtx, on, false); err != nil {
			return nil, err
		}
	}
	for _, ns := range on {
		r.balancedDespiteDisabled[ns] = true
	}
	if len(on) > 0 {
		r.emit(Event{Kind: BalancingPaused, Namespaces: on})
	}
	return apply.AwaitRoundEnd(ctx, r.cluster, r.namespaces, r.o.Clock)
}

// unlimitedSpan is a time longer than any window is closed.
const unlimitedSpan = 366 * 24 * time.Hour

// checkBalancerIdle returns an error unless the cluster's own balancer leaves the collections alone.
func (r *run) checkBalancerIdle(ctx context.Context, snapshot *catalog.Snapshot, within time.Duration) error {
	err := apply.CheckBalancerIdleTwice(ctx, r.cluster, snapshot, r.namespaces, cmp.Or(within, unlimitedSpan), r.o.Clock)
	if e, ok := errors.AsType[*apply.BalancerConflictError](err); ok && len(e.Defragmenting) == 0 {
		e.Reenabled = r.o.PauseBalancing
	}
	return asBusyError(err)
}

// CheckBalancerIdle returns a *BalancerActiveError if the cluster's own balancer works on the collections now or
// within a time; zero means at any time.
func CheckBalancerIdle(snapshot *catalog.Snapshot, namespaces []string, within time.Duration) error {
	return asBusyError(apply.CheckBalancerIdle(snapshot, namespaces, cmp.Or(within, unlimitedSpan)))
}

// asBusyError converts an *apply.BalancerConflictError into a *BalancerActiveError and returns other errors unchanged.
func asBusyError(err error) error {
	if works, busy := errors.AsType[*apply.BalancerConflictError](err); busy {
		return &BalancerActiveError{works}
	}
	return err
}

func (r *run) hasNamespace(ns string) bool { return slices.Contains(r.namespaces, ns) }

// engineView returns a collection as the engine is to see it.
func (r *run) engineView(c catalog.Collection) catalog.Collection {
	_, held := r.skipped.skippedCollection(c.Namespace)
	c.NoBalance = held || c.NoBalance && !r.balancedDespiteDisabled[c.Namespace]
	c.Defragment, c.DefragmentationPhase = false, ""
	if r.o.Goal.PolicyRelease(
		r.cluster.Release(),
	) != r.cluster.Release() { // the default chunk sizes of the two releases differ
		c.MaxChunkSizeBytes = c.ChunkSize(r.settings)
	}
	return c
}

// runRounds runs the balancer loop.
func (r *run) runRounds(ctx context.Context) error {
	loop := balancer.NewLoop(balancer.Config{
		Release: r.o.Goal.PolicyRelease(r.cluster.Release()), Parameters: r.o.Parameters, Rand: r.o.Rand, Location: time.UTC,
		IgnoreMode: true, NoPauses: true, Fits: r.roomCheck(),
		OnDecisions: func(_ time.Time, decisions []policy.Decision) { r.round.ended, r.round.decisions = true, decisions },
	})
	defer loop.Close()
	var result any
	for {
		step := loop.Resume(r.o.Clock.Now(), result)
		result = nil
		if r.round.ended {
			if over, err := r.endRound(ctx); over || err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch step := step.(type) {
		case balancer.Stopped:
			return errors.New("the engine stopped by itself")
		case balancer.Sleep:
			if err := r.o.Clock.Sleep(ctx, step.Until.Sub(r.o.Clock.Now())); err != nil {
				return err
			}
		case balancer.Call:
			r.cluster.WithCluster(func(c balancer.Cluster) { result = step.Do(ctx, engineCluster{c, r}) })
		case balancer.Moves:
			result = r.runMoves(ctx, step.Migrations)
		}
	}
}
