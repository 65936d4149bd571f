package policy

import (
	"iter"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// mergeRunsPhase merges runs of adjacent chunks on one shard and in one zone. It is the first phase, which
// also measures the merged chunks, and the last phase (rules/02-defragmentation-and-merging §2.4,
// §2.6).
type mergeRunsPhase struct {
	phaseCollection
	completion
	name      PhaseName
	measures  bool
	shards    []shardRuns
	nextShard int // index of the shard
}

// shardRuns is the work on one shard. It is processed from the end.
type shardRuns struct {
	shard              catalog.ShardID
	toMerge, toMeasure []chunkRange
}

func newMergeRunsPhase(name PhaseName, s Situation) *mergeRunsPhase {
	p := &mergeRunsPhase{phaseCollection: newPhaseCollection(s), name: name, measures: name == PhaseMergeAndMeasure}
	p.normalNext = PhaseFinished
	if p.measures {
		p.normalNext = PhaseMoveAndMerge
	}
	work := make(map[catalog.ShardID]*shardRuns)
	for r := range findRuns(s.Table, s.Zones) {
		if r.len() == 1 && (!p.measures || r.measured) {
			continue
		}
		w := work[r.shard]
		if w == nil {
			w = &shardRuns{shard: r.shard}
			work[r.shard] = w
		}
		if r.len() > 1 {
			w.toMerge = append(w.toMerge, r.chunkRange)
		} else {
			w.toMeasure = append(w.toMeasure, r.chunkRange)
		}
	}
	for _, shard := range s.Table.Owners() {
		if w := work[shard]; w != nil {
			// The lowest range of a shard is processed first.
			slices.Reverse(w.toMerge)
			slices.Reverse(w.toMeasure)
			p.shards = append(p.shards, *w)
		}
	}
	return p
}

// chunkRun is a run of chunks that can be merged into one.
type chunkRun struct {
	chunkRange
	shard    catalog.ShardID
	measured bool // of the first chunk
}

func (r chunkRun) len() int { return int(r.to - r.from) }

// findRuns returns the maximal runs of chunks on one shard and in one zone, in key order. A chunk that
// is only partly in a zone is in no zone.
func findRuns(t *catalog.RoutingTable, zones *catalog.ZoneSet) iter.Seq[chunkRun] {
	return func(yield func(chunkRun) bool) {
		var run chunkRun
		var zone string
		for c := range t.All() {
			z := zones.ZoneOf(c.Min, c.Max)
			if run.len() > 0 && (c.Shard != run.shard || z != zone) {
				if !yield(run) {
					return
				}
				run.from = run.to
			}
			if run.len() == 0 {
				run.shard, run.measured, zone = c.Shard, c.Estimate.Known(), z
			}
			run.to++
		}
		yield(run)
	}
}

func (p *mergeRunsPhase) Name() PhaseName { return p.name }

// NextAction serves the shards in turn. On a shard with more chunks to measure than to merge, it
// measures.
func (p *mergeRunsPhase) NextAction() (StreamAction, bool) {
	for range p.shards {
		w := &p.shards[p.nextShard]
		p.nextShard = (p.nextShard + 1) % len(p.shards)
		switch measures, merges := len(w.toMeasure), len(w.toMerge); {
		case measures > merges:
			p.outstanding++
			return p.measureAction(w.shard, popSpan(&w.toMeasure)), true
		case merges > 0:
			p.outstanding++
			return p.mergeAction(w.shard, popSpan(&w.toMerge)), true
		}
	}
	return StreamAction{}, false
}

func popSpan(list *[]chunkRange) chunkRange {
	last := len(*list) - 1
	r := (*list)[last]
	*list = (*list)[:last]
	return r
}

func (p *mergeRunsPhase) RecordActionResult(a StreamAction, r StreamActionResult) *Measurement {
	p.outstanding--
	if p.aborted {
		return nil
	}
	if r.Err != nil && !canRetry(r.Err) {
		p.Abort(p.name)
		return nil
	}
	i := slices.IndexFunc(p.shards, func(w shardRuns) bool { return w.shard == a.Shard })
	w := &p.shards[i]
	switch {
	case a.Kind == MergeRange && r.Err != nil:
		w.toMerge = append(w.toMerge, a.chunkSpan)
	case a.Kind == MergeRange && p.measures:
		w.toMeasure = append(w.toMeasure, a.chunkSpan)
	case a.Kind == MeasureRange && r.Err != nil:
		w.toMeasure = append(w.toMeasure, a.chunkSpan)
	case a.Kind == MeasureRange:
		size := r.MeasuredBytes
		if r.MaxReached {
			size = catalog.TooBig
		}
		return &Measurement{a.Min, a.Max, catalog.NewEstimate(size)}
	}
	return nil
}

func (*mergeRunsPhase) NextMigration(*AvailableShards, time.Time) (Migration, bool) {
	return Migration{}, false
}
func (*mergeRunsPhase) RecordMigrationResult(Migration, error) {}

func (p *mergeRunsPhase) Abort(next PhaseName) {
	p.abort(next)
	p.shards, p.nextShard = nil, 0
}

func (p *mergeRunsPhase) IsComplete() bool { return p.Remaining() == 0 }

func (p *mergeRunsPhase) Remaining() int64 {
	left := p.outstanding
	for _, w := range p.shards {
		left += len(w.toMerge) + len(w.toMeasure)
	}
	return int64(left)
}
