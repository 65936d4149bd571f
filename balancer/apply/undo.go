package apply

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// ErrNothingToUndo says that a journal tells of nothing that can be undone.
var ErrNothingToUndo = errors.New("there is nothing to undo")

// Undo returns the plan that takes back what a journal tells was begun: ranges go
// back to the shards they were on, and chunks get the bounds they had. What was
// not carried out after all turns out to be done already.
//
// It does not bring back the history and the versions of chunks, flags that a
// move or a split has cleared, and the time a range deletion takes.
func Undo(h *History) (*plan.Plan, error) {
	if h.last().plan.Goal.Kind == plan.Undo {
		if h.Finished() {
			return nil, fmt.Errorf("%w: this has been done", ErrNothingToUndo)
		}
		return nil, errors.New("its undoing has begun: go on with it (--resume)")
	}
	u := undoing{p: &plan.Plan{Basis: h.last().plan.Basis, Model: h.last().plan.Model}}
	u.p.Goal = plan.Goal{Kind: plan.Undo}
	bases := map[string]plan.CollectionBasis{}
	for i := len(h.chapters) - 1; i >= 0; i-- {
		c := h.chapters[i]
		for _, b := range c.plan.Basis.Collections {
			bases[b.Namespace] = b
		}
		for j := len(c.began) - 1; j >= 0; j-- {
			u.back(c.began[j])
		}
	}
	if len(u.p.Steps) == 0 {
		return nil, ErrNothingToUndo
	}
	u.p.Basis.Collections = u.p.Basis.Collections[:0:0]
	for _, ns := range slices.Sorted(maps.Keys(bases)) {
		if slices.ContainsFunc(u.p.Steps, func(s plan.Step) bool { return s.Namespace == ns }) {
			u.p.Basis.Collections = append(u.p.Basis.Collections, bases[ns])
			u.p.Goal.Namespaces = append(u.p.Goal.Namespaces, ns)
		}
	}
	return u.finish()
}

// undoing is an undo plan under construction.
type undoing struct{ p *plan.Plan }

func (u *undoing) add(s plan.Step) {
	s.Number = len(u.p.Steps) + 1
	u.p.Steps = append(u.p.Steps, s)
}

// back takes one step back.
func (u *undoing) back(b begun) {
	s := b.step
	back := plan.Step{Round: s.Round, Namespace: s.Namespace, From: s.From, Min: s.Min, Max: s.Max}
	back.Why = fmt.Sprintf("takes step %d back", s.Number)
	switch s.Kind {
	case plan.Move:
		u.moves(back, b)
		u.whole(back, b.before, append([]catalog.Key{s.Min, s.Max}, b.cuts...))
	case plan.Split:
		u.whole(back, b.before, s.Points)
	case plan.Merge:
		back.Kind = plan.Split
		for _, c := range b.before {
			if s.Min.Less(c.Min) {
				back.Points = append(back.Points, c.Min)
			}
		}
		if len(back.Points) > 0 {
			u.add(back)
		}
	}
}

// moves brings back what was on the donor, in as few ranges as it lay in.
func (u *undoing) moves(back plan.Step, b begun) {
	back.Kind, back.From, back.To = plan.Move, b.step.To, b.step.From
	back.Bytes, back.Documents, back.ForceJumbo = b.step.Bytes, b.step.Documents, b.step.ForceJumbo
	add := func() {
		if back.Min.Less(back.Max) {
			u.add(back)
			back.Bytes, back.Documents = 0, 0 // nobody knows how much of it lay in which range
		}
	}
	back.Max = back.Min
	for _, c := range b.before {
		lower, upper := c.Min, c.Max
		if lower.Less(b.step.Min) {
			lower = b.step.Min
		}
		if b.step.Max.Less(upper) {
			upper = b.step.Max
		}
		switch {
		case c.Shard != b.step.From:
		case lower.Equal(back.Max):
			back.Max = upper
		default:
			add()
			back.Min, back.Max = lower, upper
		}
	}
	add()
}

// whole merges the chunks that points lay inside of.
func (u *undoing) whole(back plan.Step, before []piece, points []catalog.Key) {
	back.Kind = plan.Merge
	for _, c := range before {
		back.Chunks = 1
		for _, p := range points {
			if c.Min.Less(p) && p.Less(c.Max) {
				back.Chunks++
			}
		}
		if back.Chunks > 1 {
			back.Min, back.Max, back.From = c.Min, c.Max, c.Shard
			u.add(back)
		}
	}
}

// finish numbers the rounds, adds up, and names the plan.
func (u *undoing) finish() (*plan.Plan, error) {
	p := u.p
	round := 0
	for steps := range chunkBy(p.Steps, func(s plan.Step) int { return s.Round }) {
		round++
		for i := range steps {
			steps[i].Round = round
		}
	}
	p.Totals.Rounds = round
	changes := map[catalog.ShardID]*plan.ShardChange{}
	of := func(id catalog.ShardID) *plan.ShardChange {
		if changes[id] == nil {
			changes[id] = &plan.ShardChange{Shard: id}
		}
		return changes[id]
	}
	for _, s := range p.Steps {
		switch s.Kind {
		case plan.Move:
			p.Totals.Moves++
			p.Totals.Bytes, p.Totals.Documents = p.Totals.Bytes+s.Bytes, p.Totals.Documents+s.Documents
			of(s.From).Before.Bytes += s.Bytes
			of(s.To).After.Bytes += s.Bytes
		case plan.Split:
			p.Totals.Splits++
		case plan.Merge:
			p.Totals.Merges++
		}
	}
	for _, c := range changes {
		p.Shards = append(p.Shards, *c)
	}
	slices.SortFunc(p.Shards, func(a, b plan.ShardChange) int { return cmp.Compare(a.Shard, b.Shard) })
	p.Reached = true
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	p.ID = "undo-" + hex.EncodeToString(sum[:4])
	return p, nil
}
