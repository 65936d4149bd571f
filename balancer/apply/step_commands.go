package apply

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// commandBuilder contains a step and the chunks in its range.
type commandBuilder struct {
	clusterState
	step   plan.Step
	coll   *catalog.CollectionState
	chunks []catalog.Chunk // chunks that overlap the step's range
}

func (s commandBuilder) newCommand(kind plan.StepKind) Command {
	settings := s.snapshot.Settings()
	return Command{
		Kind: kind, Namespace: s.step.Namespace, Pattern: s.coll.Pattern, Settings: settings,
		ChunkSize: s.coll.ChunkSize(settings),
	}
}

// canMoveRanges reports whether parts of chunks can be moved.
func (s commandBuilder) canMoveRanges() bool {
	return s.snapshot.Release().FCVAtLeast(catalog.Release60)
}

func (s commandBuilder) bound(k catalog.Key) bson.Raw { return s.coll.Pattern.Bound(k) }

// moveCommands returns the moves of the chunks that are still on the donor. The plan contains the exact
// range of the step. Chunks may have been split or merged around the range since the plan was made.
func (s commandBuilder) moveCommands() (commands []Command, err error) {
	for _, c := range s.chunks {
		switch c.Shard {
		case s.step.To: // done
		case s.step.From:
			commands = append(commands, s.movePartCommands(c)...)
		default:
			return nil, newChangedError(s.step, "the chunk of %s from %s to %s is on %s; the plan moves it from %s to %s",
				s.step.Namespace, s.bound(c.Min), s.bound(c.Max), c.Shard, s.step.From, s.step.To)
		}
	}
	if len(commands) == 0 {
		return s.mergeCutCommands(), nil
	}
	return commands, s.checkMoveAllowed(commands)
}

// mergeCutCommands returns the merges of chunks that were split only to be moved. It merges them in an
// undo. Up to 5.0 it also merges them in a drain: the policy of those releases counts chunks, and the
// balancer would have moved the chunk unsplit, with force.
func (s commandBuilder) mergeCutCommands() (commands []Command) {
	if !s.isUndo && (s.canMoveRanges() || s.step.Reason != policy.ReasonDrain) {
		return nil
	}
	for first := 0; first < len(s.chunks); {
		next := first + 1
		for next < len(s.chunks) && s.isCut(s.chunks[next].Min) {
			next++
		}
		if next > first+1 && catalog.CoverExactly(s.chunks[first:next], s.chunks[first].Min, s.chunks[next-1].Max) {
			m := s.newCommand(plan.Merge)
			m.Min, m.Max = s.chunks[first].Min, s.chunks[next-1].Max
			commands = append(commands, m)
		}
		first = next
	}
	return commands
}

// isCut reports whether the step has split a chunk at a bound. When donors split ranges at their
// median, the journal can't record the split points before the splits.
func (s commandBuilder) isCut(bound catalog.Key) bool {
	before, known := s.priorChunks[s.step.Number]
	return slices.ContainsFunc(s.splitPoints[s.step.Number], bound.Equal) ||
		known && s.step.Min.Less(bound) && bound.Less(s.step.Max) &&
			!slices.ContainsFunc(before, func(p priorChunk) bool { return p.Min.Equal(bound) })
}

// checkMoveAllowed returns an error if the collection does not allow migrations.
func (s commandBuilder) checkMoveAllowed(moves []Command) error {
	if len(moves) == 0 {
		return nil
	}
	if !s.coll.AllowMigrations || !s.coll.PermitMigrations {
		return &BlockedError{"migrations of " + s.step.Namespace + " are forbidden",
			fmt.Sprintf("sh.enableMigrations(%q)", s.step.Namespace)}
	}
	return s.checkRecipient()
}

// movePartCommands returns the moves of the part of a chunk that lies in the step's range, in pieces if
// the part has to be split. Before 6.0 only whole chunks can move, so the part is split off first.
func (s commandBuilder) movePartCommands(c catalog.Chunk) (commands []Command) {
	lower, upper := c.Min, c.Max
	if lower.Less(s.step.Min) {
		lower = s.step.Min
	}
	if s.step.Max.Less(upper) {
		upper = s.step.Max
	}
	bounds := []catalog.Key{lower}
	for _, point := range s.splitPoints[s.step.Number] {
		if lower.Less(point) && point.Less(upper) {
			bounds = append(bounds, point)
		}
	}
	slices.SortFunc(bounds, catalog.Key.Compare)
	bounds = append(bounds, upper)
	for i, point := range bounds {
		outer := i == 0 || i == len(bounds)-1
		if !point.Equal(c.Min) && !point.Equal(c.Max) && !(outer && s.canMoveRanges()) {
			cut := s.newCommand(plan.Split)
			cut.Point = point
			commands = append(commands, cut)
		}
	}
	for i, upper := range bounds[1:] {
		m := s.newCommand(plan.Move)
		m.Min, m.Max, m.From, m.To = bounds[i], upper, s.step.From, s.step.To
		m.ExpectedBounds = []catalog.Key{upper}
		// As in the server's balancer, the donor splits a chunk that is too large, and moves only a
		// part. A defragmentation moves whole chunks, and an undo moves exactly what was moved before.
		m.DonorChoosesEnd = s.canMoveRanges() && upper.Equal(c.Max) && s.step.Reason != policy.ReasonDefragmentation &&
			!s.isUndo
		commands = append(commands, m)
	}
	return commands
}

// checkRecipient checks the recipient of a move.
func (s commandBuilder) checkRecipient() error {
	to, ok := s.snapshot.Shard(s.step.To)
	switch {
	case !ok:
		return newChangedError(s.step, "its recipient %s is not in the cluster any more", s.step.To)
	case to.Draining && s.step.To != s.unmarkedShard:
		return newChangedError(s.step, "its recipient %s is draining", s.step.To)
	case to.Full() && s.snapshot.Release().HasMaxShardSize():
		return newChangedError(s.step, "its recipient %s has reached its maxSize", s.step.To)
	}
	// As in the server's balancer, a range across a zone boundary belongs to no zone. A defragmentation
	// does not check zones.
	zone := s.coll.Zones.ZoneOf(s.step.Min, s.step.Max)
	if zone == catalog.NoZone || to.HasZone(zone) || s.step.Reason == policy.ReasonDefragmentation {
		return nil
	}
	what := fmt.Sprintf("%s to %s of %s is in zone %s now, and shard %s is not",
		humanize.Literal(s.bound(s.step.Min)), humanize.Literal(s.bound(s.step.Max)), s.step.Namespace, zone, s.step.To)
	switch {
	case !s.isUndo:
		return newChangedError(s.step, "%s", what)
	case s.snapshot.Release().BalancesBySize(): // moveRange does not check zones
		return nil
	}
	return &BlockedError{fmt.Sprintf("step %d: %s, and servers up to 5.0 refuse such a move", s.step.Number, what),
		"remove the range from the zone first (sh.removeRangeFromZone)"}
}

// splitCommands returns the splits at the points that are not chunk bounds yet, beginning with the last
// point, so that the lower bound of the chunk stays the same.
func (s commandBuilder) splitCommands() (commands []Command, err error) {
	for i := len(s.step.Points) - 1; i >= 0; i-- {
		point := s.step.Points[i]
		c, found := s.chunkAt(point)
		switch {
		case !found:
			return nil, newChangedError(s.step, "no chunk of %s contains %s", s.step.Namespace, s.bound(point))
		case c.Min.Equal(point): // done
		case c.Shard != s.step.From:
			return nil, newChangedError(s.step, "the chunk of %s that contains %s is on %s, was on %s",
				s.step.Namespace, s.bound(point), c.Shard, s.step.From)
		default:
			cut := s.newCommand(plan.Split)
			cut.Point = point
			commands = append(commands, cut)
		}
	}
	return commands, nil
}

func (s commandBuilder) chunkAt(k catalog.Key) (catalog.Chunk, bool) {
	for _, c := range s.chunks {
		if !k.Less(c.Min) && k.Less(c.Max) {
			return c, true
		}
	}
	return catalog.Chunk{}, false
}

// mergeCommands returns the merge, unless the range is one chunk already.
func (s commandBuilder) mergeCommands() ([]Command, error) {
	if len(s.chunks) == 1 {
		return nil, nil
	}
	for _, c := range s.chunks {
		if c.Shard != s.step.From {
			return nil, newChangedError(s.step, "the chunk of %s from %s to %s is on %s; the plan merges it on %s",
				s.step.Namespace, s.bound(c.Min), s.bound(c.Max), c.Shard, s.step.From)
		}
	}
	if !catalog.CoverExactly(s.chunks, s.step.Min, s.step.Max) {
		return nil, newChangedError(s.step, "no chunks of %s cover exactly %s to %s any more",
			s.step.Namespace, s.bound(s.step.Min), s.bound(s.step.Max))
	}
	m := s.newCommand(plan.Merge)
	m.Min, m.Max = s.step.Min, s.step.Max
	return []Command{m}, nil
}
