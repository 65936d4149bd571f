package apply

import (
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// estimatedStepCommands returns the commands of a step whose bounds are only estimates: the step applies to a
// chunk of its shard in a range, and the donor determines the split points. A step that has begun keeps
// the range with which it began.
func (s commandBuilder) estimatedStepCommands(r plan.Range) (commands []Command, span plan.Range, err error) {
	if begun, ok := s.actualRanges[s.step.Number]; ok {
		span = begun
	} else if span, ok = s.chooseRange(r); !ok {
		return nil, span, nil // the chunks in the range contain less than the plan expected
	}
	switch s.step.Kind {
	case plan.Move:
		commands, err = s.estimatedMoveCommands(span)
	case plan.Split:
		commands = s.estimatedSplitCommands(span)
	default:
		commands = s.estimatedMergeCommands(span)
	}
	return commands, span, err
}

// chooseRange returns the range of a step that has not begun: the chunk on the step's shard at the
// expected position, else the first chunk of the shard in the range. For a merge it returns the
// adjacent chunks at the expected position. found is false if there is no such chunk.
func (s commandBuilder) chooseRange(r plan.Range) (span plan.Range, found bool) {
	if s.step.Kind == plan.Merge {
		return s.chooseMergeRange(r)
	}
	for _, c := range s.chunks {
		if c.Shard != s.step.From {
			continue
		}
		here := !s.step.Min.Less(c.Min) && s.step.Min.Less(c.Max)
		if !found || here {
			span, found = s.extendToZoneBound(clip(c, r), c), true
		}
		if here {
			break
		}
	}
	return span, found
}

// extendToZoneBound extends a part of a chunk to the end of the chunk or to the next zone boundary,
// since chunks may have been merged in the meantime.
func (s commandBuilder) extendToZoneBound(part plan.Range, c catalog.Chunk) plan.Range {
	part.Max = c.Max
	for _, zone := range s.coll.Zones.Ranges() {
		for _, bound := range []catalog.Key{zone.Min, zone.Max} {
			if part.Min.Less(bound) && bound.Less(part.Max) {
				part.Max = bound
			}
		}
	}
	return part
}

// chooseMergeRange returns the range of the first adjacent chunks on the shard of a merge.
func (s commandBuilder) chooseMergeRange(r plan.Range) (span plan.Range, found bool) {
	for _, c := range s.chunks {
		there := c.Shard == s.step.From && catalog.Overlap(c.Min, c.Max, s.step.Min, s.step.Max)
		switch {
		case there && span.Min.IsZero():
			span = clip(c, r)
		case there && span.Max.Equal(c.Min):
			span.Max = clip(c, r).Max
		case !span.Min.IsZero():
			return span, true
		}
	}
	return span, !span.Min.IsZero()
}

// clip returns the part of a chunk that lies in a range.
func clip(c catalog.Chunk, r plan.Range) plan.Range {
	part := plan.Range{Min: c.Min, Max: c.Max}
	if part.Min.Less(r.Min) {
		part.Min = r.Min
	}
	if r.Max.Less(part.Max) {
		part.Max = r.Max
	}
	return part
}

// estimatedMoveCommands returns the move of about one chunk size, beginning at the lower bound of span.
func (s commandBuilder) estimatedMoveCommands(span plan.Range) ([]Command, error) {
	c, found := s.chunkAt(span.Min)
	switch {
	case !found:
		return nil, newChangedError(s.step, "no chunk of %s contains %s", s.step.Namespace, s.bound(span.Min))
	case c.Shard == s.step.To:
		return nil, nil
	case c.Shard != s.step.From:
		return nil, newChangedError(s.step, "the chunk of %s that contains %s is on %s, was on %s",
			s.step.Namespace, s.bound(span.Min), c.Shard, s.step.From)
	}
	at := s
	at.step.Min, at.step.Max = span.Min, span.Max
	commands := at.movePartCommands(c)
	last := slices.IndexFunc(commands, func(c Command) bool { return c.Kind == plan.Move })
	commands = commands[:last+1]
	if m := &commands[last]; m.Min.Less(s.step.Max) && !m.Max.Less(s.step.Max) {
		m.ExpectedBounds = []catalog.Key{s.step.Max}
	} else {
		m.ExpectedBounds = nil
	}
	return commands, s.checkMoveAllowed(commands)
}

// estimatedSplitCommands returns the splits of a chunk at the points that its donor has returned. Before
// the donor was asked, it returns one split without a point.
func (s commandBuilder) estimatedSplitCommands(span plan.Range) (commands []Command) {
	points, asked := s.splitPoints[s.step.Number]
	if !asked {
		cut := s.newCommand(plan.Split)
		cut.Min, cut.Max, cut.From, cut.DonorChoosesEnd = span.Min, span.Max, s.step.From, true
		cut.ExpectedBounds = s.step.Points
		return []Command{cut}
	}
	for _, point := range slices.Backward(points) {
		if c, found := s.chunkAt(point); found && !c.Min.Equal(point) && c.Shard == s.step.From {
			cut := s.newCommand(plan.Split)
			cut.Point = point
			commands = append(commands, cut)
		}
	}
	return commands
}

// estimatedMergeCommands returns the merge of adjacent chunks, unless they are one chunk already.
func (s commandBuilder) estimatedMergeCommands(span plan.Range) []Command {
	inside := slices.DeleteFunc(slices.Clone(s.chunks), func(c catalog.Chunk) bool {
		return c.Shard != s.step.From || c.Min.Less(span.Min) || span.Max.Less(c.Max)
	})
	if len(inside) < 2 || !catalog.CoverExactly(inside, inside[0].Min, inside[len(inside)-1].Max) {
		return nil
	}
	m := s.newCommand(plan.Merge)
	m.Min, m.Max = inside[0].Min, inside[len(inside)-1].Max
	return []Command{m}
}
