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

// builder builds a plan from the events of a simulation.
type builder struct {
	o     Options
	input *input
	plan  *Plan

	// holdings contains what each shard has after the last step.
	holdings map[catalog.ShardID]Holding
	// engineRound is the round of the engine. touchedShards are the shards of the plan's round, which
	// ends at the latest with the engine's round.
	engineRound, planRoundBegan int
	touchedShards               []catalog.ShardID
	// explainedSteps is the number of steps that have their reasons.
	explainedSteps int
	// exceededLimit names the limit that the next step would exceed. closed says that no more steps are
	// added.
	exceededLimit string
	closed        bool
	// stateAfterDrain is the state of the plan after the last step off the shard to drain.
	stateAfterDrain planState
	// defragmentedCount is the number of collections whose defragmentation has ended.
	defragmentedCount int
	failures          failurePeriod
	// obstacles are the reasons why a goal that the balancer does not have (presplit, load) is not
	// reached.
	obstacles []diagnosis.Finding

	// volumes are the volumes of the shards, including the data that steps not chosen by the engine
	// bring there; nil without a disk limit. shortages contains the moves that had no room, with the
	// missing bytes.
	volumes   *catalog.Volumes
	shortages map[sim.Shortage]int64

	balancerIdle bool // the balancer is idle: it has nothing more to do
	endSnapshot  *catalog.Snapshot
}

// planState is a state of a plan.
type planState struct {
	steps  int
	totals Totals
	held   map[catalog.ShardID]Holding
}

// failurePeriod is a period of failures without a step.
type failurePeriod struct {
	since, until time.Time
	firstRound   int // of the first failure
	last         error
}

func newBuilder(sc *input, o Options) *builder {
	b := &builder{o: o, input: sc}
	b.holdings = b.initialHoldings()
	b.plan = &Plan{Format: FormatVersion, Goal: o.Goal, SizeModel: o.Model.Name, Seed: o.Seed, Limits: o.Limits,
		Steps: []Step{}}
	for _, shard := range sc.start.Shards() {
		b.plan.Shards = append(b.plan.Shards, ShardChange{Shard: shard.ID, Before: b.holdings[shard.ID]})
	}
	return b
}

// initialHoldings returns what each shard has before the first step.
func (b *builder) initialHoldings() map[catalog.ShardID]Holding {
	held := map[catalog.ShardID]Holding{}
	for _, c := range b.input.colls {
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
			b.failures = failurePeriod{since: e.Ended, firstRound: b.engineRound}
		}
		b.failures.until, b.failures.last = e.Ended, e.Err
	case sim.PhaseEntered:
		if e.Phase == policy.PhaseFinished {
			b.defragmentedCount++
		}
	}
}

// addStep adds a step, unless the step would exceed a limit. In that case the plan ends.
func (b *builder) addStep(s Step, e sim.Event) {
	if b.closed {
		return
	}
	s.Namespace, s.From, s.Min, s.Max = e.Namespace, e.From, e.Min, e.Max
	if !e.KnownBoundBelow.IsZero() {
		s.KnownRange = &Range{Min: e.KnownBoundBelow, Max: e.KnownBoundAbove}
	}
	began := b.input.start.Time()
	s.Start, s.Takes = e.Began.Sub(began), e.Ended.Sub(e.Began)
	s.Number, s.Round = len(b.plan.Steps)+1, b.plan.Totals.Rounds
	fresh := b.startsRound(s)
	if fresh {
		s.Round++
	}
	if b.exceededLimit = b.limitExceededBy(s); b.exceededLimit != "" {
		b.closed = true
		return
	}
	if fresh {
		b.touchedShards, b.planRoundBegan = b.touchedShards[:0], b.engineRound
	}
	b.touchedShards = append(b.touchedShards, s.shards()...)
	b.failures = failurePeriod{}
	b.countStep(s, e.RemainingPieces)
	b.plan.Steps = append(b.plan.Steps, s)
	if s.Kind == Move && s.Reason == policy.ReasonDrain && s.From == b.o.Goal.Shard {
		b.stateAfterDrain = planState{len(b.plan.Steps), b.plan.Totals, maps.Clone(b.holdings)}
	}
}

// dropAfterDrain removes the steps after the last move off the shard to drain: those of the balancer
// while it can't continue the drain.
func (b *builder) dropAfterDrain() {
	if b.o.Goal.Kind != Drain || b.closed {
		return
	}
	m := b.stateAfterDrain
	b.plan.Steps, b.plan.Totals = b.plan.Steps[:m.steps], m.totals
	if b.holdings = m.held; b.holdings == nil {
		b.holdings = b.initialHoldings()
	}
}

// startsRound reports whether a step begins a new round, because the engine has begun another round, or
// because the current round already uses a shard of the step.
func (b *builder) startsRound(s Step) bool {
	return len(b.plan.Steps) == 0 || b.planRoundBegan != b.engineRound || slices.Contains(b.touchedShards, s.From) ||
		slices.Contains(b.touchedShards, s.To)
}

// limitExceededBy returns the name of the limit that a step would exceed; empty if there is none.
func (b *builder) limitExceededBy(s Step) string {
	l, t := b.o.Limits, b.plan.Totals
	switch {
	case l.Moves > 0 && s.Kind == Move && t.Moves >= l.Moves:
		return "moves"
	case l.Bytes > 0 && t.Bytes+s.Bytes > l.Bytes:
		return "bytes"
	case l.Rounds > 0 && s.Round > l.Rounds:
		return "rounds"
	case l.Time > 0 && s.Start+s.Takes > l.Time:
		return "time"
	}
	return ""
}

// countStep adds a step to the totals and holdings. remainingPieces is the number of pieces of the moved chunk
// that stay.
func (b *builder) countStep(s Step, remainingPieces int) {
	b.plan.Totals.add(s)
	switch s.Kind {
	case Move:
		addHolding(b.holdings, s.From, Holding{int64(remainingPieces) - 1, -s.Bytes})
		addHolding(b.holdings, s.To, Holding{1, s.Bytes})
	case Split:
		addHolding(b.holdings, s.From, Holding{Chunks: int64(len(s.Points))})
	case Merge:
		addHolding(b.holdings, s.From, Holding{Chunks: 1 - int64(s.Chunks)})
	}
}

// onDecisions explains the moves of a round after all of them were added.
func (b *builder) onDecisions(_ time.Time, decisions []policy.Decision) {
	b.explainSteps(decisions)
	b.engineRound++
}

// maxFailedRounds is the number of rounds with failures and without a step, over at least minFailureTime,
// after which the plan counts as stuck.
const (
	maxFailedRounds = 200
	minFailureTime  = time.Hour
)

// isOver reports whether the plan ends before the balancer is idle. The round in which the plan ends
// continues until all steps have their reasons.
func (b *builder) isOver() bool {
	b.closed = b.closed || b.isGoalReached()
	return b.closed && b.explainedSteps == len(b.plan.Steps) || b.keepsFailing()
}

// isGoalReached reports whether the goal is reached before the balancer is idle.
func (b *builder) isGoalReached() bool {
	switch b.o.Goal.Kind {
	case Drain:
		return b.holdings[b.o.Goal.Shard].Chunks == 0
	case Defragment:
		return b.defragmentedCount >= len(b.input.colls)
	}
	return false
}

func (b *builder) keepsFailing() bool {
	t := b.failures
	return !t.since.IsZero() && b.engineRound-t.firstRound >= maxFailedRounds && t.until.Sub(t.since) >= minFailureTime
}
