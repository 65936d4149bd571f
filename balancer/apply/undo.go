package apply

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// ErrNothingToUndo says that a journal contains no step that can be undone.
var ErrNothingToUndo = errors.New("there is nothing to undo")

// UndoPlan returns the plan that reverts the steps that a journal records as begun: ranges return to the
// shards they were on, and chunks get their previous bounds. Steps that were not executed turn out to
// be done already.
//
// Undo does not restore the history and the versions of chunks, flags that a move or a split has
// cleared, and the time that a range deletion takes.
func UndoPlan(h *ParsedJournal) (*plan.Plan, error) {
	if h.lastPlan().plan.Goal.Kind == plan.Undo {
		if h.Finished() {
			return nil, fmt.Errorf("%w: it is undone already", ErrNothingToUndo)
		}
		return nil, errors.New("its undo has begun: resume it (--resume)")
	}
	p := plan.Plan{Basis: h.lastPlan().plan.Basis, SizeModel: h.lastPlan().plan.SizeModel, Undoes: h.path}
	p.Goal.Kind = plan.Undo
	u := undoBuilder{}
	bases := map[string]plan.CollectionBasis{}
	for i := len(h.plans) - 1; i >= 0; i-- {
		c := h.plans[i]
		for _, b := range c.plan.Basis.Collections {
			bases[b.Namespace] = b
		}
		for j := len(c.startedSteps) - 1; j >= 0; j-- {
			u.addUndoSteps(c.startedSteps[j])
		}
	}
	if len(u.steps) == 0 {
		return nil, ErrNothingToUndo
	}
	p.Basis.Collections = nil
	for _, ns := range slices.Sorted(maps.Keys(bases)) {
		if slices.ContainsFunc(u.steps, func(s plan.Step) bool { return s.Namespace == ns }) {
			p.Basis.Collections = append(p.Basis.Collections, bases[ns])
			p.Goal.Namespaces = append(p.Goal.Namespaces, ns)
		}
	}
	return plan.FromSteps(p, u.steps)
}

// undoBuilder collects the steps of an undo.
type undoBuilder struct{ steps []plan.Step }

func (u *undoBuilder) add(s plan.Step) { u.steps = append(u.steps, s) }

// addUndoSteps adds the steps that undo one step.
func (u *undoBuilder) addUndoSteps(b startedStep) {
	s := b.step
	back := plan.Step{Namespace: s.Namespace, From: s.From, Min: s.Min, Max: s.Max}
	back.Why = fmt.Sprintf("undoes step %d", s.Number)
	switch s.Kind {
	case plan.Move:
		points := append([]catalog.Key{s.Min, s.Max}, b.extraCuts...)
		if s.KnownRange != nil {
			points = slices.Clone(b.extraCuts)
		}
		ranges := b.movedRanges()
		for _, m := range slices.Backward(ranges) {
			u.addMovesBack(back, b, m)
		}
		for _, m := range b.moved {
			points = append(points, m.Min, m.Max)
		}
		u.addMerges(back, b, points)
	case plan.Split:
		points := s.Points
		if s.KnownRange != nil {
			points = b.extraCuts
		}
		u.addMerges(back, b, points)
	case plan.Merge:
		back.Kind = plan.Split
		upper := s.Max
		if s.KnownRange != nil {
			back.Min, back.Max, upper = b.actualRange.Min, b.actualRange.Max, b.actualRange.Max
		}
		for _, c := range b.priorChunks {
			if back.Min.Less(c.Min) && c.Min.Less(upper) {
				back.Points = append(back.Points, c.Min)
			}
		}
		if len(back.Points) > 0 {
			u.add(back)
		}
	}
}

// movedRanges returns the ranges that a step has moved, or may have moved if the step is not known to
// be done.
func (s startedStep) movedRanges() []RangeAmount {
	whole := RangeAmount{Min: s.step.Min, Max: s.step.Max, Documents: s.step.Documents, Bytes: s.step.Bytes}
	if s.step.KnownRange == nil {
		if len(s.moved) > 0 && s.done {
			whole.Bytes, whole.Documents = 0, 0
			for _, m := range s.moved {
				whole.Bytes, whole.Documents = whole.Bytes+m.Bytes, whole.Documents+m.Documents
			}
		}
		return []RangeAmount{whole}
	}
	if len(s.moved) > 0 {
		return s.moved
	}
	whole.Min, whole.Max = s.actualRange.Min, s.actualRange.Max
	return []RangeAmount{whole}
}

// addMovesBack adds moves of a range back to the donor, in as few ranges as possible.
func (u *undoBuilder) addMovesBack(back plan.Step, b startedStep, m RangeAmount) {
	back.Kind, back.From, back.To, back.Min = plan.Move, b.step.To, b.step.From, m.Min
	back.Bytes, back.Documents = m.Bytes, m.Documents
	add := func() {
		if back.Min.Less(back.Max) {
			u.add(back)
			back.Bytes, back.Documents = 0, 0 // the distribution over the ranges is not known
		}
	}
	back.Max = back.Min
	for _, c := range b.priorChunks {
		lower, upper := c.Min, c.Max
		if lower.Less(m.Min) {
			lower = m.Min
		}
		if m.Max.Less(upper) {
			upper = m.Max
		}
		switch {
		case !lower.Less(upper):
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

// mayHaveCut reports whether the donor may have split a chunk for a step that is not known to be done:
// for a move, or for a split at points that only the donor knows.
func (s startedStep) mayHaveCut(c priorChunk) bool {
	if s.done || s.step.KnownRange != nil && !c.Min.Equal(s.actualRange.Min) {
		return false
	}
	return s.step.Kind == plan.Move && c.Shard == s.step.From || s.step.Kind == plan.Split && s.step.KnownRange != nil
}

// addMerges adds the merges of chunks that contain points, and of a chunk that the donor may have split
// at an unknown point.
func (u *undoBuilder) addMerges(back plan.Step, b startedStep, points []catalog.Key) {
	back.Kind = plan.Merge
	for _, c := range b.priorChunks {
		back.Chunks = 1
		if b.mayHaveCut(c) {
			back.Chunks = 2
		}
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
