package apply

import (
	"cmp"
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
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

// Run carries a plan out. When ctx ends, nothing more begins: the steps under way
// come to their end, and the Result says that the run was stopped. Whatever
// happens, the Result says what was done.
//
// The error is a *ChangedError, a *BlockedError, a *BalancerError or a *StepError
// where the cluster is the reason. All but the last one come before anything was
// sent, unless the cluster changed meanwhile.
func Run(ctx context.Context, c Cluster, p *plan.Plan, o Options) (Result, error) {
	r := &run{
		cluster: c, o: o, plan: p, done: map[int]bool{}, began: map[int]time.Time{}, cuts: map[int][]catalog.Key{},
		spans: map[int]plan.Range{}, before: map[int][]piece{}, moves: map[int]tally{}, stays: map[int]bool{},
	}
	if r.hard = o.Hard; r.hard == nil {
		r.hard = context.WithoutCancel(ctx)
	}
	if o.Pace == nil {
		r.o.Pace = pace.NewGate(pace.Rules{}, o.Clock)
	}
	if o.DryRun {
		r.cluster, r.o.Log, r.o.Pace = rehearsalOf(c, true), nil, r.o.Pace.Rehearsal()
	}
	r.o.Parallel = max(1, o.Parallel)
	r.waits = &retryingCluster{Cluster: r.cluster, clock: o.Clock, until: r.o.Pace.Ends(), tell: r.tellAway}
	r.cluster = r.waits
	if o.Resume != nil {
		r.paused = o.Resume.Paused()
		if !o.Undo {
			r.plan = o.Resume.Plan()
			maps.Copy(r.done, o.Resume.last().done)
			for _, b := range o.Resume.last().began {
				r.recall(b)
			}
		}
	}
	r.result.Left, r.result.Began = r.plan.Left, o.Clock.Now()
	before := maps.Clone(r.done)
	err := r.begins(ctx)
	if err == nil && r.result.Stopped == "" {
		err = r.carryOut(ctx)
	}
	if !errors.As(err, new(*logError)) && r.hard.Err() == nil {
		err = r.leave(err)
	}
	if o.DryRun {
		r.result.Possible, r.result.Finished = r.result.Finished && err == nil, false
		r.done, r.here, r.moves = before, Progress{}, map[int]tally{}
	}
	r.result.Plan, r.result.Ended, r.result.Progress = r.plan, o.Clock.Now(), r.progress()
	return r.result, err
}

// run is a plan under way.
type run struct {
	cluster Cluster // which is
	waits   *retryingCluster
	hard    context.Context
	o       Options

	plan       *plan.Plan
	namespaces []string
	basis      map[string]plan.CollectionBasis
	done       map[int]bool      // by number of the step
	began      map[int]time.Time // in this run
	paused     []string          // collections that are to be switched on again
	here       Progress          // what this run did; shared holds it
	replans    int               // that count
	merged     []plan.Step       // of plans before this one
	ready      bool              // Options.Ready was called
	most       map[string]int64  // what a move may move, by collection
	bySize     bool              // the plan evens out bytes
	halves     bool              // donors cut ranges in half: the router does not say where they would

	shared    sync.Mutex            // holds the log and, by step,
	cuts      map[int][]catalog.Key // where ranges are cut, as the donor said
	before    map[int][]piece       // the chunks that they touch, as they were
	spans     map[int]plan.Range    // what those are about that only the cluster could say that of
	moves     map[int]tally         // what they have moved
	chunkSize int64                 // the largest of their collections
	earlier   tally                 // of the plans before this one, which expected
	planned   int64
	// stays are the steps that only force could do, behind is what they leave.
	stays  map[int]bool
	behind []*StaysError
	result Result

	telling sync.Mutex
}

// recall takes over what a journal knows of a step.
func (r *run) recall(b startedStep) {
	n := b.step.Number
	r.before[n] = b.before
	if b.cuts != nil {
		r.cuts[n] = b.cuts
	}
	if b.step.Within != nil {
		r.spans[n] = b.span
	}
	for _, m := range b.moved {
		t := r.moves[n]
		r.moves[n] = tally{t.moves + 1, t.bytes + m.Bytes, t.documents + m.Documents}
	}
}

// logError says that something could not be written down, after which nothing
// may be done any more.
type logError struct{ err error }

func (e *logError) Error() string { return e.err.Error() }
func (e *logError) Unwrap() error { return e.err }

// StepError says why a step failed.
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

// Describe says in a few words what a step does.
func Describe(s plan.Step) string {
	switch s.Kind {
	case plan.Move:
		at := s.Min
		if s.Within != nil {
			at = s.Within.Min
		}
		return fmt.Sprintf("move the range of %s at %s from %s to %s", s.Namespace, at, s.From, s.To)
	case plan.Split:
		return fmt.Sprintf("split %s at %d points, from %s", s.Namespace, len(s.Points), s.Min)
	}
	return fmt.Sprintf("%s %s from %s to %s", s.Kind, s.Namespace, s.Min, s.Max)
}

func (r *run) write(rec Record) error {
	if r.o.Log == nil {
		return nil
	}
	rec.At = r.o.Clock.Now().UTC()
	r.shared.Lock()
	defer r.shared.Unlock()
	if err := r.o.Log.Write(rec); err != nil {
		return &logError{err}
	}
	return nil
}

func (r *run) tell(e Event) {
	if r.o.Tell != nil {
		e.Progress = r.progress()
		r.telling.Lock()
		defer r.telling.Unlock()
		r.o.Tell(e)
	}
}

// tellAway is for steps under way, which don't know how far the others are.
func (r *run) tellAway(err error) {
	if r.o.Tell != nil {
		r.telling.Lock()
		defer r.telling.Unlock()
		r.o.Tell(Event{Kind: Away, Err: err})
	}
}

// begins waits until nobody holds the run: nothing is changed before that.
func (r *run) begins(ctx context.Context) error {
	if err := r.mayNot(ctx, r.o.Pace.Await(ctx)); err != nil || r.result.Stopped != "" || r.o.Before == nil {
		return err
	}
	return r.because(ctx, r.o.Before(ctx))
}

// carryOut runs plans until one is done, or something keeps it from being.
func (r *run) carryOut(ctx context.Context) error {
	for first := true; ; first = false {
		err := r.attempt(ctx, first)
		changed, isChanged := errors.AsType[*ChangedError](err)
		if err != nil && !isChanged || r.result.Stopped != "" {
			return r.because(ctx, err)
		}
		more := false
		if r.mayReplan() {
			more, err = r.replan(ctx, changed)
		}
		if err == nil && !more && len(r.behind) > 0 && !r.o.DryRun {
			return &LeftError{r.behind}
		}
		if err == nil && !more {
			more, err = r.finish(ctx)
		}
		if err != nil || !more {
			return r.because(ctx, err)
		}
	}
}

// attempt carries out the plan that is in force.
func (r *run) attempt(ctx context.Context, first bool) error {
	if err := r.adopt(); err != nil {
		return err
	}
	look, err := r.look(ctx)
	if err != nil {
		return err
	}
	if err := r.identify(look); err != nil {
		return err
	}
	r.most = map[string]int64{}
	for _, c := range look.Collections() { // donors take up to twice the chunk size for one chunk
		r.most[c.Namespace] = 2 * cmp.Or(c.MaxChunkSizeBytes, look.Settings().MaxChunkSizeBytes)
	}
	r.bySize = r.plan.Goal.Kind == plan.Balance && look.Release().BalancesBySize()
	r.halves = !look.Release().ShowsSplitPoints()
	r.o.Pace.Balancer(balancerOn(look))
	if first && (r.o.Resume == nil || r.o.Undo) {
		if err := r.writePlan(look.Parts().ClusterID); err != nil {
			return err
		}
	}
	if r.o.PauseBalancing {
		if look, err = r.pause(ctx, look); err != nil {
			return err
		}
	}
	if err := Undisturbed(ctx, r.cluster, look, r.namespaces, r.remaining(), r.o.Clock); err != nil {
		return r.switchedOn(err)
	}
	if !r.o.Checked || !first {
		if err := r.rehearse(ctx, look); err != nil {
			return err
		}
	}
	if r.o.Ready != nil && !r.ready && !r.o.DryRun {
		r.ready = true
		if err := r.o.Ready(ctx); err != nil {
			return err
		}
	}
	for round := range chunkBy(r.left(), func(s plan.Step) int { return s.Round }) {
		if err := r.round(ctx, round); err != nil || r.result.Stopped != "" {
			return err
		}
	}
	return nil
}

// left are the steps that are not done.
func (r *run) left() []plan.Step {
	return slices.DeleteFunc(slices.Clone(r.plan.Steps), func(s plan.Step) bool {
		return r.done[s.Number] || r.stays[s.Number]
	})
}

// chunkBy cuts a list where a key changes.
func chunkBy[T any, K comparable](list []T, key func(T) K) iter.Seq[[]T] {
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

// because has the end of the context stand for what it made fail.
func (r *run) because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.As(err, new(*logError)) {
		r.result.Stopped = interrupted
		return nil
	}
	return err
}

// adopt makes the plan the one to carry out.
func (r *run) adopt() error {
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

// identify refuses another cluster than that of the plan, or of the journal.
func (r *run) identify(look *catalog.Snapshot) error {
	is := look.Parts().ClusterID
	was := r.plan.Basis.ClusterID
	if r.o.Resume != nil {
		was = r.o.Resume.Cluster
	}
	if was != is && !was.IsZero() {
		return &BlockedError{
			fmt.Sprintf("the plan is for the cluster with the id %s, and this one is %s", was.Hex(), is.Hex()),
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
	return r.write(Record{What: planned, Cluster: cluster, Plan: text})
}

// rehearse finds out whether all steps that are left could be carried out, before
// the first one is.
func (r *run) rehearse(ctx context.Context, look *catalog.Snapshot) error {
	stage := rehearsalOf(r.cluster, false)
	g := r.ground(look)
	g.chunks = stage.Chunks
	for _, s := range r.left() {
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

func (r *run) ground(look *catalog.Snapshot) clusterState {
	r.shared.Lock()
	defer r.shared.Unlock()
	var before map[int][]piece
	if r.halves {
		before = maps.Clone(r.before)
	}
	return clusterState{
		before: before, look: look, chunks: r.cluster.Chunks, basis: r.basis, cuts: maps.Clone(r.cuts),
		spans: maps.Clone(r.spans), undoes: r.plan.Goal.Kind == plan.Undo, unmarks: r.o.Unmarks,
	}
}

// leave tidies up, however the run ended.
func (r *run) leave(err error) error {
	rec := Record{What: stopped, Reason: r.result.Stopped}
	switch {
	case err != nil:
		rec.Reason = err.Error()
	case r.result.Stopped == "":
		r.result.Finished = true
		rec = Record{What: finished}
	}
	if !r.result.Finished && err == nil && r.o.Keeps != nil && r.o.Keeps() {
		return r.write(rec)
	}
	if !r.result.Finished && r.ready && r.o.Unfinished != nil {
		err = errors.Join(err, r.o.Unfinished(r.hard))
	}
	if restored := r.restore(); restored != nil {
		return errors.Join(err, restored)
	}
	return errors.Join(err, r.write(rec))
}

// progress adds up the steps.
func (r *run) progress() Progress {
	r.shared.Lock()
	defer r.shared.Unlock()
	p := r.here
	p.Moves, p.MovesDone = r.earlier.moves, r.earlier.moves
	p.Bytes, p.BytesDone, p.DocumentsDone = r.earlier.bytes, r.earlier.bytes, r.earlier.documents
	p.BytesPlanned = r.planned + r.plan.Totals.Bytes
	for _, s := range r.plan.Steps {
		done := r.done[s.Number]
		p.Steps++
		if done {
			p.StepsDone++
		}
		if s.Kind != plan.Move {
			continue
		}
		t, counted := r.moves[s.Number]
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

// remaining is how long the plan thinks that the steps that are left take.
func (r *run) remaining() time.Duration {
	left := r.left()
	if len(left) == 0 {
		return 0
	}
	last := left[len(left)-1]
	return last.After + last.Takes - left[0].After + aStep
}

// aStep is how long a step is taken to need when nothing is known.
const aStep = time.Minute
