package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// Run executes a plan. When ctx ends, no new step begins, the running steps complete, and the Result
// says that the run was stopped. The Result says what was done in any case.
//
// The error is a *ChangedError, a *BlockedError, a *BalancerConflictError, a *SkippedStepsError or a
// *StepError if the cluster is the reason. All but the last two are returned before any command was sent,
// unless the cluster has changed during the run.
func Run(ctx context.Context, c Cluster, p *plan.Plan, o Options) (Result, error) {
	r := &run{
		cluster: c, o: o, plan: p, done: map[int]bool{}, began: map[int]time.Time{}, splitPoints: map[int][]catalog.Key{},
		actualRanges: map[int]plan.Range{}, priorChunks: map[int][]priorChunk{}, movedByStep: map[int]tally{},
		needsForce: map[int]bool{},
	}
	if r.hardCtx = o.MovesContext; r.hardCtx == nil {
		r.hardCtx = context.WithoutCancel(ctx)
	}
	if o.Gate == nil {
		r.o.Gate = pace.NewGate(pace.Rules{}, o.Clock)
	}
	if o.DryRun {
		r.cluster, r.o.Journal, r.o.Gate = newRehearsal(c, true), nil, r.o.Gate.Rehearsal()
	}
	r.o.Parallel = max(1, o.Parallel)
	r.retrying = &retryingCluster{
		Cluster:       r.cluster,
		clock:         o.Clock,
		deadline:      r.o.Gate.EndTime(),
		onUnreachable: r.emitUnreachable,
	}
	r.cluster = r.retrying
	if o.EarlierJournal != nil {
		r.paused = o.EarlierJournal.PausedCollections()
		if !o.Undo {
			r.plan = o.EarlierJournal.Plan()
			maps.Copy(r.done, o.EarlierJournal.lastPlan().done)
			for _, b := range o.EarlierJournal.lastPlan().startedSteps {
				r.restoreStep(b)
			}
		}
	}
	r.result.RemainingFindings, r.result.Began = r.plan.Left, o.Clock.Now()
	before := maps.Clone(r.done)
	err := r.awaitStart(ctx)
	if err == nil && r.result.Stopped == "" {
		err = r.runPlans(ctx)
	}
	if !errors.As(err, new(*journalError)) && r.hardCtx.Err() == nil {
		err = r.finishRun(err)
	}
	if o.DryRun {
		r.result.Applicable, r.result.Finished = r.result.Finished && err == nil, false
		r.done, r.thisRun, r.movedByStep = before, Progress{}, map[int]tally{}
	}
	r.result.Plan, r.result.Ended, r.result.Progress = r.plan, o.Clock.Now(), r.progress()
	return r.result, err
}

// run is the state of a run in progress.
type run struct {
	cluster  Cluster // the same cluster as retrying, which adds retries
	retrying *retryingCluster
	hardCtx  context.Context
	o        Options

	plan            *plan.Plan
	namespaces      []string
	basis           map[string]plan.CollectionBasis
	done            map[int]bool      // by number of the step
	began           map[int]time.Time // in this run
	paused          []string          // collections whose balancing is to be switched on again
	thisRun         Progress          // amounts of this run; guarded by mu
	replans         int               // number of new plans that count against maxReplans
	earlierMerges   []plan.Step       // of earlier plans
	onReadyCalled   bool              // Options.OnReady was called
	maxMoveBytes    map[string]int64  // maximum bytes of a move, by collection
	balancesBytes   bool              // rather than numbers of chunks
	donorsOnlyHalve bool              // donors split ranges at the median: the router does not return split points

	mu                  sync.Mutex            // guards the log and, by step:
	splitPoints         map[int][]catalog.Key // split points that the donor has returned
	priorChunks         map[int][]priorChunk  // the chunks in the step's range before the step
	actualRanges        map[int]plan.Range    // the actual range of steps with estimated bounds
	movedByStep         map[int]tally         // the moved amounts
	largestChunkSize    int64                 // the largest chunk size of the collections
	movedByEarlierPlans tally                 // of earlier plans, with their expected amount
	earlierPlannedBytes int64
	// needsForce contains the steps that need force. leftBehind contains the ranges that they leave in
	// place.
	needsForce map[int]bool
	leftBehind []*NeedsForceError
	result     Result

	emitMu sync.Mutex
}

// restoreStep restores the state of a step from a journal.
func (r *run) restoreStep(b startedStep) {
	n := b.step.Number
	r.priorChunks[n] = b.priorChunks
	if b.extraCuts != nil {
		r.splitPoints[n] = b.extraCuts
	}
	if b.step.KnownRange != nil {
		r.actualRanges[n] = b.actualRange
	}
	for _, m := range b.moved {
		t := r.movedByStep[n]
		r.movedByStep[n] = tally{t.moves + 1, t.bytes + m.Bytes, t.documents + m.Documents}
	}
}

// journalError says that a record could not be written. After that, no command may be sent any more.
type journalError struct{ err error }

func (e *journalError) Error() string { return e.err.Error() }
func (e *journalError) Unwrap() error { return e.err }

// StepError contains the reason why a step failed.
type StepError struct {
	Step plan.Step
	Err  error
}

// Error names the step.
func (e *StepError) Error() string {
	return fmt.Sprintf("step %d, %s: %v", e.Step.Number, Describe(e.Step), e.Err)
}

// Unwrap returns the cluster's error.
func (e *StepError) Unwrap() error { return e.Err }

// Describe describes a step in a few words.
func Describe(s plan.Step) string {
	switch s.Kind {
	case plan.Move:
		at := s.Min
		if s.KnownRange != nil {
			at = s.KnownRange.Min
		}
		return fmt.Sprintf("move the range of %s at %s from %s to %s", s.Namespace, at, s.From, s.To)
	case plan.Split:
		return fmt.Sprintf("split %s at %s, from %s", s.Namespace, humanize.Count(len(s.Points), "point"), s.Min)
	}
	return fmt.Sprintf("%s %s from %s to %s", s.Kind, s.Namespace, s.Min, s.Max)
}

func (r *run) write(rec Record) error {
	if r.o.Journal == nil {
		return nil
	}
	rec.At = r.o.Clock.Now().UTC()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.o.Journal.Write(rec); err != nil {
		return &journalError{err}
	}
	return nil
}

func (r *run) emit(e Event) {
	if r.o.OnEvent != nil {
		e.Progress = r.progress()
		r.emitMu.Lock()
		defer r.emitMu.Unlock()
		r.o.OnEvent(e)
	}
}

// emitUnreachable emits an event for running steps, which do not know the progress of the other steps.
func (r *run) emitUnreachable(err error) {
	if r.o.OnEvent != nil {
		r.emitMu.Lock()
		defer r.emitMu.Unlock()
		r.o.OnEvent(Event{Kind: RouterUnreachable, Err: err})
	}
}

// awaitStart waits until the pace admits the run. Nothing is changed before that.
func (r *run) awaitStart(ctx context.Context) error {
	if err := r.handlePaceError(ctx, r.o.Gate.AwaitUnheld(ctx)); err != nil || r.result.Stopped != "" ||
		r.o.BeforeRun == nil {
		return err
	}
	return r.stopOrError(ctx, r.o.BeforeRun(ctx))
}

// runPlans executes plans until one is done, or until an error or a limit ends the run.
func (r *run) runPlans(ctx context.Context) error {
	for first := true; ; first = false {
		err := r.runPlan(ctx, first)
		changed, isChanged := errors.AsType[*ChangedError](err)
		if err != nil && !isChanged || r.result.Stopped != "" {
			return r.stopOrError(ctx, err)
		}
		more := false
		if r.canReplan() {
			more, err = r.replan(ctx, changed)
		}
		if err == nil && !more && len(r.leftBehind) > 0 && !r.o.DryRun {
			return &SkippedStepsError{r.leftBehind}
		}
		if err == nil && !more {
			more, err = r.finish(ctx)
		}
		if err != nil || !more {
			return r.stopOrError(ctx, err)
		}
	}
}

// runPlan executes the current plan.
func (r *run) runPlan(ctx context.Context, first bool) error {
	if err := r.adoptPlan(); err != nil {
		return err
	}
	look, err := r.readSnapshot(ctx)
	if err != nil {
		return err
	}
	if err := r.checkClusterID(look); err != nil {
		return err
	}
	r.maxMoveBytes = map[string]int64{}
	for _, c := range look.Collections() { // donors move up to twice the chunk size for one chunk
		r.maxMoveBytes[c.Namespace] = 2 * c.ChunkSize(look.Settings())
	}
	r.balancesBytes = r.plan.Goal.Kind == plan.Balance && look.Release().BalancesBySize()
	r.donorsOnlyHalve = !look.Release().ShowsSplitPoints()
	r.o.Gate.NoteBalancer(isBalancerOn(look))
	if first && (r.o.EarlierJournal == nil || r.o.Undo) {
		if err := r.writePlan(look.Parts().ClusterID); err != nil {
			return err
		}
	}
	if r.o.PauseBalancing {
		if look, err = r.pauseBalancing(ctx, look); err != nil {
			return err
		}
	}
	if err := CheckBalancerIdleTwice(ctx, r.cluster, look, r.namespaces, r.remainingTime(), r.o.Clock); err != nil {
		return r.markReenabled(err)
	}
	if !r.o.StepsChecked || !first {
		if err := r.checkRemainingSteps(ctx, look); err != nil {
			return err
		}
	}
	if r.o.OnReady != nil && !r.onReadyCalled && !r.o.DryRun {
		r.onReadyCalled = true
		if err := r.o.OnReady(ctx); err != nil {
			return err
		}
	}
	for round := range groupConsecutive(r.remainingSteps(), func(s plan.Step) int { return s.Round }) {
		if err := r.runRound(ctx, round); err != nil || r.result.Stopped != "" {
			return err
		}
	}
	return nil
}

// remainingSteps returns the steps that are not done.
func (r *run) remainingSteps() []plan.Step {
	return slices.DeleteFunc(slices.Clone(r.plan.Steps), func(s plan.Step) bool {
		return r.done[s.Number] || r.needsForce[s.Number]
	})
}

// groupConsecutive divides a slice into parts of consecutive elements with equal keys.
func groupConsecutive[T any, K comparable](list []T, key func(T) K) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(list) > 0 {
			n := 1
			for n < len(list) && key(list[n]) == key(list[0]) {
				n++
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// stopOrError replaces an error caused by the end of the context with a stopped result.
func (r *run) stopOrError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.As(err, new(*journalError)) {
		r.result.Stopped = pace.StoppedByInterrupt
		return nil
	}
	return err
}

// adoptPlan makes the plan the current plan.
func (r *run) adoptPlan() error {
	r.basis = map[string]plan.CollectionBasis{}
	for _, c := range r.plan.Basis.Collections {
		r.basis[c.Namespace] = c
	}
	names := map[string]bool{}
	numbers := map[int]bool{}
	for _, s := range r.plan.Steps {
		if numbers[s.Number] || s.Number < 1 {
			return fmt.Errorf("step %d of the plan can't be read", s.Number)
		}
		names[s.Namespace], numbers[s.Number] = true, true
	}
	r.namespaces = slices.Sorted(maps.Keys(names))
	return nil
}

// checkClusterID returns an error if the cluster is not that of the plan or of the journal.
func (r *run) checkClusterID(look *catalog.Snapshot) error {
	actual := look.Parts().ClusterID
	expected := r.plan.Basis.ClusterID
	if r.o.EarlierJournal != nil {
		expected = r.o.EarlierJournal.ClusterID
	}
	if expected != actual && !expected.IsZero() {
		return &BlockedError{
			fmt.Sprintf("the plan is for the cluster with the id %s, and this one is %s", expected.Hex(), actual.Hex()),
			"give the address of that cluster, or make a plan for this one",
		}
	}
	return nil
}

func (r *run) writePlan(cluster bson.ObjectID) error {
	text, err := json.Marshal(r.plan)
	if err != nil {
		return err
	}
	return r.write(Record{What: recordPlan, Cluster: cluster, Plan: text})
}

// checkRemainingSteps checks whether all remaining steps could be executed, before the first step.
func (r *run) checkRemainingSteps(ctx context.Context, look *catalog.Snapshot) error {
	stage := newRehearsal(r.cluster, false)
	g := r.newClusterState(look)
	g.readChunks = stage.Chunks
	for _, s := range r.remainingSteps() {
		t, err := g.check(ctx, s)
		if err != nil {
			return err
		}
		for _, c := range t.commands {
			if err := stage.Do(ctx, c); err != nil {
				return fmt.Errorf("step %d: %w", s.Number, err)
			}
		}
	}
	return nil
}

func (r *run) newClusterState(look *catalog.Snapshot) clusterState {
	r.mu.Lock()
	defer r.mu.Unlock()
	var before map[int][]priorChunk
	if r.donorsOnlyHalve {
		before = maps.Clone(r.priorChunks)
	}
	return clusterState{
		priorChunks:   before,
		snapshot:      look,
		readChunks:    r.cluster.Chunks,
		basis:         r.basis,
		splitPoints:   maps.Clone(r.splitPoints),
		actualRanges:  maps.Clone(r.actualRanges),
		isUndo:        r.plan.Goal.Kind == plan.Undo,
		unmarkedShard: r.o.NoLongerDraining,
	}
}

// finishRun cleans up after a run with any outcome.
func (r *run) finishRun(err error) error {
	rec := Record{What: recordStopped, Reason: r.result.Stopped}
	switch {
	case err != nil:
		rec.Reason = err.Error()
	case r.result.Stopped == "":
		r.result.Finished = true
		rec = Record{What: recordFinished}
	}
	if !r.result.Finished && err == nil && r.o.WillContinue != nil && r.o.WillContinue() {
		return r.write(rec)
	}
	if !r.result.Finished && r.onReadyCalled && r.o.OnUnfinished != nil {
		err = errors.Join(err, r.o.OnUnfinished(r.hardCtx))
	}
	if restored := r.resumeBalancing(); restored != nil {
		return errors.Join(err, restored)
	}
	return errors.Join(err, r.write(rec))
}

// progress computes the progress from the steps.
func (r *run) progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.thisRun
	p.Moves, p.MovesDone = r.movedByEarlierPlans.moves, r.movedByEarlierPlans.moves
	p.Bytes, p.BytesDone, p.DocumentsDone = r.movedByEarlierPlans.bytes, r.movedByEarlierPlans.bytes,
		r.movedByEarlierPlans.documents
	p.BytesPlanned = r.earlierPlannedBytes + r.plan.Totals.Bytes
	for _, s := range r.plan.Steps {
		done := r.done[s.Number]
		p.Steps++
		if done {
			p.StepsDone++
		}
		if s.Kind != plan.Move {
			continue
		}
		t, counted := r.movedByStep[s.Number]
		if done && !counted {
			t = tally{1, s.Bytes, s.Documents}
		}
		p.MovesDone, p.BytesDone = p.MovesDone+t.moves, p.BytesDone+t.bytes
		p.DocumentsDone += t.documents
		p.Moves, p.Bytes = p.Moves+t.moves, p.Bytes+t.bytes
		if !done {
			p.Moves, p.Bytes = p.Moves+1, p.Bytes+max(0, s.Bytes-t.bytes)
		}
	}
	return p
}

// remainingTime returns the plan's estimate of the time of the remaining steps, plus defaultStepTime.
func (r *run) remainingTime() time.Duration {
	left := r.remainingSteps()
	if len(left) == 0 {
		return 0
	}
	last := left[len(left)-1]
	return last.Start + last.Takes - left[0].Start + defaultStepTime
}

// defaultStepTime is the assumed time of a step without an estimate, and a margin for remainingTime.
const defaultStepTime = time.Minute
