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

// builder makes a plan of what happens.
type builder struct {
	o     Options
	scope *scope
	plan  *Plan

	// held is what each shard has after the last step.
	held map[catalog.ShardID]Holding
	// round is the engine's; touched are the shards of the plan's round, which is
	// no longer than that of the engine.
	round, roundOf int
	touched        []catalog.ShardID
	// explained is how many steps have their reasons.
	explained int
	// passed names the limit that the next step would pass. closed: no more steps.
	passed string
	closed bool
	// drained is how far the plan was with the last step off the shard to drain.
	drained mark
	// ended counts collections whose defragmentation has ended.
	ended   int
	trouble failurePeriod
	// lacking is what keeps a goal that the balancer knows nothing of from being
	// reached.
	lacking []diagnosis.Finding

	// volumes are those of the shards, with what steps that the engine does not choose
	// bring there; nil without a disk limit. shortages are what had no room, with the
	// bytes that it lacked.
	volumes   *catalog.Volumes
	shortages map[sim.Shortage]int64

	rest bool // the balancer has nothing more to do
	end  *catalog.Snapshot
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
	b.held = b.before()
	b.plan = &Plan{Format: Format, Goal: o.Goal, Model: o.Model.Name, Seed: o.Seed, Limits: o.Limits, Steps: []Step{}}
	for _, shard := range sc.start.Shards() {
		b.plan.Shards = append(b.plan.Shards, ShardChange{Shard: shard.ID, Before: b.held[shard.ID]})
	}
	return b
}

// before returns what each shard has before the first step.
func (b *builder) before() map[catalog.ShardID]Holding {
	held := map[catalog.ShardID]Holding{}
	for _, c := range b.scope.colls {
		for id, data := range c.Sizes {
			add(held, id, Holding{Bytes: data.Bytes})
		}
		for _, id := range c.Owners() {
			add(held, id, Holding{Chunks: c.CountOn(id).Chunks})
		}
	}
	return held
}

func add(held map[catalog.ShardID]Holding, id catalog.ShardID, h Holding) {
	have := held[id]
	held[id] = Holding{have.Chunks + h.Chunks, max(0, have.Bytes+h.Bytes)}
}

// take makes a step of what happened.
func (b *builder) take(e sim.Event) {
	switch e.Kind {
	case sim.Moved:
		b.step(Step{
			Kind: Move, To: e.To, Bytes: e.Bytes, Documents: e.Documents, Reason: e.Reason,
		}, e)
	case sim.Split:
		b.step(Step{Kind: Split, Points: e.Points}, e)
	case sim.Merged:
		b.step(Step{Kind: Merge, Chunks: e.Chunks}, e)
	case sim.MoveFailed:
		if b.trouble.since.IsZero() {
			b.trouble = failurePeriod{since: e.Ended, round: b.round}
		}
		b.trouble.until, b.trouble.last = e.Ended, e.Err
	case sim.PhaseEntered:
		if e.Phase == policy.PhaseFinished {
			b.ended++
		}
	}
}

// step adds a step, unless that would pass a limit: then the plan has ended.
func (b *builder) step(s Step, e sim.Event) {
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
	fresh := b.freshRound(s)
	if fresh {
		s.Round++
	}
	if b.passed = b.limit(s); b.passed != "" {
		b.closed = true
		return
	}
	if fresh {
		b.touched, b.roundOf = b.touched[:0], b.round
	}
	b.touched = append(b.touched, s.shards()...)
	b.trouble = failurePeriod{}
	b.count(s, e.RemainingPieces)
	b.plan.Steps = append(b.plan.Steps, s)
	if s.Kind == Move && s.Reason == policy.ReasonDrain && s.From == b.o.Goal.Shard {
		b.drained = mark{len(b.plan.Steps), b.plan.Totals, maps.Clone(b.held)}
	}
}

// forgo takes back the steps after the last one off the shard to drain: what the
// balancer would do while it can't go on with that.
func (b *builder) forgo() {
	if b.o.Goal.Kind != Drain || b.closed {
		return
	}
	m := b.drained
	b.plan.Steps, b.plan.Totals = b.plan.Steps[:m.steps], m.totals
	if b.held = m.held; b.held == nil {
		b.held = b.before()
	}
}

// freshRound reports whether a step begins a round: the engine has gone on to
// another one, or a shard of the step has been touched already.
func (b *builder) freshRound(s Step) bool {
	return len(b.plan.Steps) == 0 || b.roundOf != b.round || slices.Contains(b.touched, s.From) ||
		slices.Contains(b.touched, s.To)
}

// limit names the limit that a step would pass.
func (b *builder) limit(s Step) string {
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

// count adds a step to the totals and to what shards have. left is how many pieces
// of the chunk that moves stay.
func (b *builder) count(s Step, left int) {
	b.plan.Totals.add(s)
	switch s.Kind {
	case Move:
		add(b.held, s.From, Holding{int64(left) - 1, -s.Bytes})
		add(b.held, s.To, Holding{1, s.Bytes})
	case Split:
		add(b.held, s.From, Holding{Chunks: int64(len(s.Points))})
	case Merge:
		add(b.held, s.From, Holding{Chunks: 1 - int64(s.Chunks)})
	}
}

// decided explains the moves of a round, which have been taken by now.
func (b *builder) decided(_ time.Time, decisions []policy.Decision) {
	b.explain(decisions)
	b.round++
}

// stuckRounds and stuckTime are after how many rounds of failures without a step,
// over at least how long, nothing better is expected.
const (
	stuckRounds = 200
	stuckTime   = time.Hour
)

// over reports whether the plan has ended before the balancer rests. The round in
// which it ends goes on until the steps have their reasons.
func (b *builder) over() bool {
	b.closed = b.closed || b.arrived()
	return b.closed && b.explained == len(b.plan.Steps) || b.stuck()
}

// arrived reports whether the goal is reached before the balancer rests.
func (b *builder) arrived() bool {
	switch b.o.Goal.Kind {
	case Drain:
		return b.held[b.o.Goal.Shard].Chunks == 0
	case Defragment:
		return b.ended >= len(b.scope.colls)
	}
	return false
}

func (b *builder) stuck() bool {
	t := b.trouble
	return !t.since.IsZero() && b.round-t.round >= stuckRounds && t.until.Sub(t.since) >= stuckTime
}
