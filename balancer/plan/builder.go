package plan

import (
	"maps"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

// builder makes a plan from the events of a simulation.
type builder struct {
	o     Options
	scope *scope
	plan  *Plan

	// holdings is what each shard has after the last step.
	holdings map[catalog.ShardID]Holding
	// engineRound is the engine's; touched are the shards of the plan's round, which is
	// no longer than that of the engine.
	engineRound, planEngineRound int
	touchedShards                []catalog.ShardID
	// explainedSteps is how many steps have their reasons.
	explainedSteps int
	// passedLimit names the limit that the next step would pass. closed: no more steps.
	passedLimit string
	closed      bool
	// lastDrainMark is how far the plan was with the last step off the shard to drain.
	lastDrainMark mark
	// defragmented counts collections whose defragmentation has ended.
	defragmented int
	failures     failurePeriod
	// obstacles says why a goal that the balancer does not have (presplit, load) is not
	// reached.
	obstacles []diagnosis.Finding

	// volumes are those of the shards, with what steps that the engine does not choose
	// bring there; nil without a disk limit. shortages are what had no room, with the
	// bytes that it lacked.
	volumes   *catalog.Volumes
	shortages map[sim.Shortage]int64

	balancerIdle bool // the balancer is idle: it has nothing more to do
	end          *catalog.Snapshot
}

// mark is how far a plan is.
type mark struct {
	steps  int
	totals Totals
	held   map[catalog.ShardID]Holding
}

// failurePeriod is a time of failures without a step.
type failurePeriod struct {
	since, until time.Time
	round        int // of the first one
	last         error
}

func newBuilder(sc *scope, o Options) *builder {
	b := &builder{o: o, scope: sc}
	b.holdings = b.initialHoldings()
	b.plan = &Plan{Format: Format, Goal: o.Goal, Model: o.Model.Name, Seed: o.Seed, Limits: o.Limits, Steps: []Step{}}
	for _, shard := range sc.start.Shards() {
		b.plan.Shards = append(b.plan.Shards, ShardChange{Shard: shard.ID, Before: b.holdings[shard.ID]})
	}
	return b
}

// initialHoldings returns what each shard has before the first step.
func (b *builder) initialHoldings() map[catalog.ShardID]Holding {
	held := map[catalog.ShardID]Holding{}
	for _, c := range b.scope.colls {
		for id, data := range c.Sizes {
			addHolding(held, id, Holding{Bytes: data.Bytes})
		}
		for _, id := range c.Owners() {
			addHolding(held, id, Holding{Chunks: c.CountOn(id).Chunks})
		}
	}
	return held
}

func addHolding(held map[catalog.ShardID]Holding, id catalog.ShardID, h Holding) {
	have := held[id]
	held[id] = Holding{have.Chunks + h.Chunks, max(0, have.Bytes+h.Bytes)}
}

// addEvent adds the step for an event of the simulation.
func (b *builder) addEvent(e sim.Event) {
	switch e.Kind {
	case sim.Moved:
		b.addStep(Step{
			Kind: Move, To: e.To, Bytes: e.Bytes, Documents: e.Documents, Reason: e.Reason,
		}, e)
	case sim.Split:
		b.addStep(Step{Kind: Split, Points: e.Points}, e)
	case sim.Merged:
		b.addStep(Step{Kind: Merge, Chunks: e.Chunks}, e)
	case sim.MoveFailed:
		if b.failures.since.IsZero() {
			b.failures = failurePeriod{since: e.Ended, round: b.engineRound}
		}
		b.failures.until, b.failures.last = e.Ended, e.Err
	case sim.PhaseEntered:
		if e.Phase == policy.PhaseFinished {
			b.defragmented++
		}
	}
}

// addStep adds a step, unless that would pass a limit: then the plan has ended.
func (b *builder) addStep(s Step, e sim.Event) {
	if b.closed {
		return
	}
	s.Namespace, s.From, s.Min, s.Max = e.Namespace, e.From, e.Min, e.Max
	if !e.Lowest.IsZero() {
		s.Within = &Range{Min: e.Lowest, Max: e.Highest}
	}
	began := b.scope.start.Time()
	s.After, s.Takes = e.Began.Sub(began), e.Ended.Sub(e.Began)
	s.Number, s.Round = len(b.plan.Steps)+1, b.plan.Totals.Rounds
	fresh := b.startsRound(s)
	if fresh {
		s.Round++
	}
	if b.passedLimit = b.passesLimit(s); b.passedLimit != "" {
		b.closed = true
		return
	}
	if fresh {
		b.touchedShards, b.planEngineRound = b.touchedShards[:0], b.engineRound
	}
	b.touchedShards = append(b.touchedShards, s.shards()...)
	b.failures = failurePeriod{}
	b.countStep(s, e.RemainingPieces)
	b.plan.Steps = append(b.plan.Steps, s)
	if s.Kind == Move && s.Reason == policy.ReasonDrain && s.From == b.o.Goal.Shard {
		b.lastDrainMark = mark{len(b.plan.Steps), b.plan.Totals, maps.Clone(b.holdings)}
	}
}

// dropAfterDrain drops the steps after the last move off the shard to drain: what the
// balancer would do while it can't go on with that.
func (b *builder) dropAfterDrain() {
	if b.o.Goal.Kind != Drain || b.closed {
		return
	}
	m := b.lastDrainMark
	b.plan.Steps, b.plan.Totals = b.plan.Steps[:m.steps], m.totals
	if b.holdings = m.held; b.holdings == nil {
		b.holdings = b.initialHoldings()
	}
}

// startsRound reports whether a step begins a round: the engine has gone on to
// another one, or a shard of the step has been touched already.
func (b *builder) startsRound(s Step) bool {
	return len(b.plan.Steps) == 0 || b.planEngineRound != b.engineRound || slices.Contains(b.touchedShards, s.From) ||
		slices.Contains(b.touchedShards, s.To)
}

// passesLimit names the limit that a step would exceed.
func (b *builder) passesLimit(s Step) string {
	l, t := b.o.Limits, b.plan.Totals
	switch {
	case l.Moves > 0 && s.Kind == Move && t.Moves >= l.Moves:
		return "moves"
	case l.Bytes > 0 && t.Bytes+s.Bytes > l.Bytes:
		return "bytes"
	case l.Rounds > 0 && s.Round > l.Rounds:
		return "rounds"
	case l.Time > 0 && s.After+s.Takes > l.Time:
		return "time"
	}
	return ""
}

// countStep adds a step to the totals and to what shards have. left is how many pieces
// of the chunk that moves stay.
func (b *builder) countStep(s Step, left int) {
	b.plan.Totals.add(s)
	switch s.Kind {
	case Move:
		addHolding(b.holdings, s.From, Holding{int64(left) - 1, -s.Bytes})
		addHolding(b.holdings, s.To, Holding{1, s.Bytes})
	case Split:
		addHolding(b.holdings, s.From, Holding{Chunks: int64(len(s.Points))})
	case Merge:
		addHolding(b.holdings, s.From, Holding{Chunks: 1 - int64(s.Chunks)})
	}
}

// onDecisions explains the moves of a round, which have been taken by now.
func (b *builder) onDecisions(_ time.Time, decisions []policy.Decision) {
	b.explainSteps(decisions)
	b.engineRound++
}

// maxFailedRounds and minStuckTime: after so many rounds of failures without a step,
// over at least this time, the plan is taken to be stuck.
const (
	maxFailedRounds = 200
	minStuckTime    = time.Hour
)

// isOver reports whether the plan has ended before the balancer is idle. The round in
// which it ends goes on until the steps have their reasons.
func (b *builder) isOver() bool {
	b.closed = b.closed || b.hasArrived()
	return b.closed && b.explainedSteps == len(b.plan.Steps) || b.isStuck()
}

// hasArrived reports whether the goal is reached before the balancer is idle.
func (b *builder) hasArrived() bool {
	switch b.o.Goal.Kind {
	case Drain:
		return b.holdings[b.o.Goal.Shard].Chunks == 0
	case Defragment:
		return b.defragmented >= len(b.scope.colls)
	}
	return false
}

func (b *builder) isStuck() bool {
	t := b.failures
	return !t.since.IsZero() && b.engineRound-t.round >= maxFailedRounds && t.until.Sub(t.since) >= minStuckTime
}
