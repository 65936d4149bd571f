package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// checkRemaining reports what remains on the drained shard after all steps.
func (l *checker) checkRemaining() {
	if !l.isDrain() {
		if l.Plan != nil {
			for _, f := range l.Plan.Left {
				if f.Code != diagnosis.Orphans {
					l.addWarning(f)
				}
			}
		}
		return
	}
	shard, ok := l.Snapshot.Shard(l.Shard)
	if !ok {
		return
	}
	marked := shard.Draining
	shard.Draining, shard.ReportedDrain = true, nil // ask what an empty shard would require
	d := diagnosis.DrainOf(l.Snapshot, shard)
	d.NotMarked = !marked
	d.JumboToForce, d.ForceCommands = 0, nil // the plan covers jumbo chunks
	chunksOnly, rest := d, d
	chunksOnly.Databases, chunksOnly.Collections = nil, nil
	rest.Disabled, rest.DisabledByRun = nil, false
	known := len(chunksOnly.Commands()) > 0
	if known {
		l.addGoalObstacle(chunksOnly.OperatorFinding())
	}
	if l.BelongsToShardsh != nil {
		rest.Databases = slices.DeleteFunc(slices.Clone(rest.Databases), l.BelongsToShardsh)
		rest.Collections = slices.DeleteFunc(slices.Clone(rest.Collections), l.BelongsToShardsh)
	}
	if len(rest.Commands()) > 0 && !l.MovePrimaries {
		o := l.addGoalObstacle(rest.OperatorFinding())
		o.Option, o.OptionEffect = "movePrimaries", "moves it"
	}
	l.checkPlanRemaining(known)
}

// checkPlanRemaining reports what keeps ranges on the shard of a drain; known says that some of it was
// already reported.
func (l *checker) checkPlanRemaining(known bool) {
	if l.Plan == nil || l.Plan.ReachesGoal {
		return
	}
	var still []diagnosis.Finding
	for _, f := range l.Plan.Left {
		switch f.Code {
		case diagnosis.Orphans, diagnosis.DrainNeedsOperator, diagnosis.DrainComplete, diagnosis.PlanLimited:
		case diagnosis.Draining:
			f.Sentence = fmt.Sprintf("the plan does not empty the shard: %s", f.Sentence)
			still = append(still, f)
		default:
			known = true
			l.addGoalObstacle(f)
		}
	}
	if !known {
		for _, f := range still {
			l.addGoalObstacle(f)
		}
	}
}

// checkCollections reports collections of which nothing may be moved.
func (l *checker) checkCollections() {
	byNamespace := l.movesByNamespace()
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		c := l.Snapshot.Collection(ns)
		if c != nil && c.ForbidsChunkOperations(l.Snapshot.Release()) {
			l.addBlocking(diagnosis.NewFinding(diagnosis.ChunkOperationsForbidden, diagnosis.Scope{Namespace: ns},
				"splits, merges and migrations of "+ns+" are forbidden by the server",
				"wait for the end of the operation that forbade them"))
			continue
		}
		if c == nil || len(byNamespace[ns].from) == 0 || c.AllowMigrations && c.PermitMigrations {
			continue
		}
		remedy := fmt.Sprintf("sh.enableMigrations(%q)", ns)
		if c.AllowMigrations {
			remedy = "wait for the end of what changes the collection"
		}
		l.addBlocking(diagnosis.NewFinding(diagnosis.MigrationsForbidden, diagnosis.Scope{Namespace: ns},
			"migrations of "+ns+" are forbidden", remedy))
	}
}

// checkOperations reports other operations that change whole collections or move chunks during the run.
func (l *checker) checkOperations() {
	byNamespace := l.movesByNamespace()
	about := func(ns string) bool {
		c := l.Snapshot.Collection(ns)
		return byNamespace[ns] != nil || l.isDrain() && c != nil && c.CountOn(l.Shard).Chunks > 0
	}
	reported := map[string]bool{}
	for _, r := range l.Snapshot.Parts().Reshardings {
		reported[r.Namespace] = true
		f := diagnosis.ReshardingFinding(l.Snapshot, r)
		f.Commands, f.InsteadOfWaiting, f.Actor = append(f.Commands, f.InsteadOfWaiting...), nil, diagnosis.Operator
		switch {
		case about(r.Namespace):
			f.Sentence += "; wait for its end, or abort it"
			l.addBlocking(f)
		case l.Remove:
			f.Sentence += "; the manual allows no removal of a shard meanwhile"
			l.addWarning(f)
		}
	}
	for _, c := range l.Snapshot.Collections() {
		if c.Resharding && !reported[c.Namespace] && about(c.Namespace) {
			l.addBlocking(diagnosis.NewFinding(diagnosis.Resharding, diagnosis.Scope{Namespace: c.Namespace},
				c.Namespace+" is being resharded", fmt.Sprintf("sh.abortReshardCollection(%q)", c.Namespace)))
		}
	}
	busy := l.involvedShards()
	for _, m := range l.Snapshot.Parts().Migrations {
		if slices.Contains(busy, m.From) || slices.Contains(busy, m.To) {
			f := diagnosis.MigrationFinding(l.Snapshot, m)
			f.Sentence += ": the run waits for its end"
			l.addWarning(f)
		}
	}
}

// Indexes are the indexes of a collection, sorted by name, on the shards that have chunks of the
// collection.
type Indexes map[catalog.ShardID][]Index

// Index is an index of a collection on a shard.
type Index struct {
	Name string
	// SupportsShardKey says that the shard can use the index to move chunks.
	SupportsShardKey bool
}

// checkIndexes reports shards that lack an index which migrations need.
func (l *checker) checkIndexes() {
	byNamespace := l.movesByNamespace()
	for _, ns := range slices.Sorted(maps.Keys(byNamespace)) {
		c, has, m := l.Snapshot.Collection(ns), l.Indexes[ns], byNamespace[ns]
		if c == nil || has == nil {
			continue
		}
		donors := *c
		donors.Unindexed = slices.DeleteFunc(slices.Clone(m.from), func(id catalog.ShardID) bool {
			list, answered := has[id]
			return !answered || slices.ContainsFunc(list, func(i Index) bool { return i.SupportsShardKey })
		})
		for _, f := range diagnosis.UnindexedFindings(&donors) {
			l.addBlocking(f)
		}
		l.checkRecipientIndexes(c, has, m)
	}
}

// checkRecipientIndexes reports recipients that lack an index of a donor: servers create it only if the
// recipient has no documents of the collection.
func (l *checker) checkRecipientIndexes(c *catalog.CollectionState, has Indexes, m *stepSummary) {
	for _, to := range m.to {
		list, answered := has[to]
		data := c.Sizes[to]
		if !answered || data.Documents+data.Orphans == 0 {
			continue
		}
		var missing []string
		for _, from := range m.from {
			for _, index := range has[from] {
				there := slices.ContainsFunc(list, func(i Index) bool { return i.Name == index.Name })
				if !there && !slices.Contains(missing, index.Name) {
					missing = append(missing, index.Name)
				}
			}
		}
		if len(missing) == 0 {
			continue
		}
		l.addBlocking(
			diagnosis.NewFinding(diagnosis.RecipientIndexMissing, diagnosis.Scope{Namespace: c.Namespace, Shard: to},
				fmt.Sprintf("shard %s has documents of %s and lacks the index %s of its donor: it refuses to receive chunks",
					to, c.Namespace, strings.Join(missing, " ")),
				fmt.Sprintf("%s.createIndex(<key of %s>)", diagnosis.CollectionExpr(c.Namespace), missing[0])),
		)
	}
}

// Unmovable is a chunk that no split makes small enough to be moved, because all its documents have the
// same key.
type Unmovable struct {
	Namespace string
	Pattern   catalog.KeyPattern
	Chunk     catalog.Chunk
	Bytes     int64
	// WriteBlock is roughly how long writes are blocked while the chunk is moved by force.
	WriteBlock time.Duration
	// Estimated says that the size is an estimate, because the user may not read it; the chunk may be
	// small.
	Estimated bool
}

// checkUnmovable reports chunks that only force moves.
func (l *checker) checkUnmovable() {
	for _, u := range l.Unmovable {
		if !l.movesChunk(u) {
			continue
		}
		at := u.Chunk.Min.String()
		cost := fmt.Sprintf("%s, writes to the collection wait for about %s", humanize.Bytes(u.Bytes),
			humanize.Duration(max(time.Second, u.WriteBlock.Round(time.Second))))
		scope := diagnosis.Scope{Namespace: u.Namespace, Shard: u.Chunk.Shard, Chunk: u.Chunk.Min}
		sized := []diagnosis.Number{{Name: "bytes", Value: u.Bytes, Unit: diagnosis.Bytes}}
		if u.Estimated {
			l.addWarning(
				diagnosis.NewFinding(diagnosis.JumboChunks, scope, fmt.Sprintf("the chunk of %s at %s on %s is flagged "+
					"jumbo, and all of it may have one shard key; this user may not read its size", u.Namespace, at,
					u.Chunk.Shard), fmt.Sprintf("sh.chunks(%q, { jumbo: true })", u.Namespace)),
			)
			continue
		}
		if l.ForceJumbo {
			f := diagnosis.NewFinding(diagnosis.ChunkUnmovable, scope, fmt.Sprintf(
				"the chunk of %s at %s on %s would be moved by force: %s", u.Namespace, at, u.Chunk.Shard, cost))
			f.Numbers = sized
			l.addWarning(f)
			continue
		}
		f := diagnosis.NewFinding(diagnosis.ChunkUnmovable, scope, fmt.Sprintf(
			"the chunk of %s at %s stays on %s: it is too large to be moved (%s), and can't be cut, as all of it has one "+
				"shard key", u.Namespace, at, u.Chunk.Shard, humanize.Bytes(u.Bytes)),
			fmt.Sprintf("sh.refineCollectionShardKey(%q, <key>)", u.Namespace))
		f.Numbers = sized
		o := l.addGoalObstacle(f)
		o.Option, o.OptionEffect = "forceJumbo", "moves it by force: "+cost
	}
}

// movesChunk reports whether a step moves the chunk, or a part of the chunk.
func (l *checker) movesChunk(u Unmovable) bool {
	if l.Plan == nil {
		return false
	}
	return slices.ContainsFunc(l.Plan.Steps, func(s plan.Step) bool {
		return s.Kind == plan.Move && s.Namespace == u.Namespace && s.From == u.Chunk.Shard &&
			catalog.Overlap(s.Min, s.Max, u.Chunk.Min, u.Chunk.Max)
	})
}

// checkDeletions reports moves that have to wait until a shard has deleted a donated range, and until
// when.
func (l *checker) checkDeletions() {
	if l.Plan == nil {
		return
	}
	type place struct {
		ns    string
		shard catalog.ShardID
	}
	var order []place
	count, due := map[place]int64{}, map[place]time.Time{}
	for _, d := range diagnosis.PendingDeletions(l.Snapshot) {
		at := place{d.Namespace, d.Shard}
		if !l.waitsForDeletion(d) {
			continue
		}
		if count[at]++; count[at] == 1 {
			order = append(order, at)
		}
		since := time.Unix(int64(d.Timestamp.T), 0).UTC()
		if until := since.Add(diagnosis.CleanupDelayOf(l.Snapshot, d.Shard)); until.After(due[at]) {
			due[at] = until
		}
	}
	for _, at := range order {
		f := diagnosis.NewFinding(diagnosis.MoveWaitsForDeletion, diagnosis.Scope{Namespace: at.ns, Shard: at.shard},
			fmt.Sprintf(
				"shard %s has not deleted %s of %s that it donated and that steps move: they wait until about %s "+
					"(orphanCleanupDelaySecs is %s)", at.shard, humanize.Count(count[at], "range"), at.ns,
				due[at].Format(time.RFC3339), humanize.Duration(diagnosis.CleanupDelayOf(l.Snapshot, at.shard))))
		f.BalancerActsAt = due[at]
		f.Numbers = []diagnosis.Number{{Name: "ranges", Value: count[at]}}
		l.addWarning(f)
	}
}

// waitsForDeletion reports whether a step moves a range from or to a shard that first has to delete a
// part of the range.
func (l *checker) waitsForDeletion(d catalog.RangeDeletion) bool {
	c := l.Snapshot.Collection(d.Namespace)
	if c == nil {
		return false
	}
	return slices.ContainsFunc(l.Plan.Steps, func(s plan.Step) bool {
		return s.Kind == plan.Move && s.Namespace == d.Namespace && (s.To == d.Shard || s.From == d.Shard) &&
			d.Overlaps(c.Pattern, s.Min, s.Max)
	})
}
