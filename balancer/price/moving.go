package price

import (
	"fmt"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

const blockedByMoves = "each range while its move is committed, as a rule well below a second"

// movesWay prices a plan that shardsh carries out itself, step after step.
func (p *comparer) movesWay(from *catalog.Snapshot) (Way, []plan.Step, error) {
	w := Way{Kind: Moves, WritesBlocked: blockedByMoves,
		Needs:    "any release; shardsh must run meanwhile, and the cluster's balancer must not work on the collection",
		Commands: []string{p.command(p.options.Goal)}}
	made, err := plan.Make(from, p.planOptions(p.options.Goal, p.options.DiskLimit))
	if err != nil {
		return w, nil, err
	}
	if p.missesGoal(made) {
		w.Refused = made.Left[0].Sentence
	}
	p.setStepTimes(&w, made.Steps)
	return w, made.Steps, nil
}

// missesGoal reports whether a plan does not reach the goal for the collection. The data that a drain
// leaves in other collections does not count.
func (p *comparer) missesGoal(made *plan.Plan) bool {
	if made.ReachesGoal || len(made.Left) == 0 {
		return false
	}
	return p.options.Goal.Kind != plan.Drain || slices.ContainsFunc(made.Shards, func(s plan.ShardChange) bool {
		return s.Shard == p.options.Goal.Shard && s.After.Chunks > 0
	})
}

// command returns the shardsh command for a goal.
func (p *comparer) command(goal plan.Goal) string {
	switch goal.Kind {
	case plan.Drain:
		return fmt.Sprintf("shardsh drain ADDRESS --shard %s --pause-balancing", goal.Shard)
	case plan.Consolidate:
		return fmt.Sprintf("shardsh plan ADDRESS --goal consolidate --ns %s -o merge.json && "+
			"shardsh apply merge.json ADDRESS --pause-balancing", p.coll.Namespace)
	}
	return fmt.Sprintf("shardsh plan ADDRESS --ns %s -o plan.json && shardsh apply plan.json ADDRESS --pause-balancing "+
		"--on-change replan", p.coll.Namespace)
}

// planOptions returns the options of a plan. Disks limit the plan where their sizes are known; a limit
// of zero means no limit.
func (p *comparer) planOptions(goal plan.Goal, limit float64) plan.Options {
	o := plan.Options{Goal: goal, IgnoreWindow: true, Costs: p.speeds.Costs(), Seed: p.options.Seed,
		OnProgress: p.options.OnProgress}
	if slices.ContainsFunc(p.snapshot.Shards(), func(shard catalog.ShardState) bool { return shard.Disk.Known() }) {
		o.Limits.Disk = limit
	}
	return o
}

// setStepTimes sets the duration of steps that are carried out one after another.
func (p *comparer) setStepTimes(w *Way, steps []plan.Step) {
	p.addMoves(w, steps)
	w.Low, w.Likely, w.High = p.speeds.StepsTime(steps, bytesSigma(w.Moves))
}

// bytesSigma returns the standard deviation of the logarithm of the bytes to move. With few chunks of
// unmeasured sizes, one chunk more or less makes a difference.
func bytesSigma(moves int) float64 { return 0.5 / math.Sqrt(math.Max(1, float64(moves))) }

// balancerWay prices the work of the cluster's own balancer.
func (p *comparer) balancerWay() (Way, bool, error) {
	w := Way{Kind: Balancer, WritesBlocked: blockedByMoves, Irreversible: "its moves: nothing takes them back",
		Needs:    "any release; the balancer on",
		Commands: []string{fmt.Sprintf("sh.startBalancer(); sh.enableBalancing(%q)", p.coll.Namespace)}}
	if p.options.Goal.Kind == plan.Drain {
		w.Commands = []string{fmt.Sprintf("sh.startBalancer(); sh.drain(%q)", p.options.Goal.Shard)}
	}
	on := p.snapshot
	if p.coll.NoBalance {
		next := *p.coll
		next.NoBalance = false
		on = on.WithCollection(&next)
	}
	f, err := forecast.Make(on, forecast.Options{Goal: p.options.Goal, Seed: p.options.Seed,
		OnProgress: p.options.OnProgress})
	if err != nil {
		return w, false, err
	}
	w.Low, w.Likely, w.High = f.Low, f.Likely, f.High
	never := f.Never && len(f.BlockedBy) > 0 && !(f.AssumesBalancerOn && len(f.BlockedBy) == 1)
	if never && (p.options.Goal.Kind != plan.Drain || f.StuckChunks > 0) {
		w.Refused = f.BlockedBy[len(f.BlockedBy)-1].Sentence
	}
	made, err := plan.Make(on, p.planOptions(p.options.Goal, 0))
	if err != nil {
		return w, false, err
	}
	p.addMoves(&w, made.Steps)
	return w, true, nil
}

// mergeFirstWay prices the merges that need no copy, followed by moves.
func (p *comparer) mergeFirstWay() (Way, bool, error) {
	goal := plan.Goal{Kind: plan.Consolidate, Namespaces: []string{p.coll.Namespace}}
	merges, err := plan.Make(p.snapshot, p.planOptions(goal, 0))
	// before 6.0, the balancer counts chunks
	if err != nil || len(merges.Steps) == 0 || !p.snapshot.Release().BalancesBySize() {
		return Way{}, false, err
	}
	merged, err := p.collectionAfterMerges(merges.Steps)
	if err != nil {
		return Way{}, false, err
	}
	w, steps, err := p.movesWay(p.snapshot.WithCollection(merged))
	if err != nil {
		return w, false, err
	}
	w.Kind, w.Moves, w.Bytes = MergeFirst, 0, 0
	w.Needs = "6.0; shardsh must run meanwhile, and the cluster's balancer must not work on the collection"
	w.Commands = []string{p.command(goal), p.command(p.options.Goal)}
	p.setStepTimes(&w, slices.Concat(merges.Steps, steps))
	w.High = scaled(w.High, mergedFactor(w.Moves))
	return w, true, nil
}

// mergedFactor returns how much longer than likely moves may take after merges. Merged chunks differ
// widely in size, and their sizes are not measured. A planner uses the average of a shard and moves
// some chunks needlessly, which matters more the fewer moves there are.
func mergedFactor(moves int) float64 { return 1 + bytesSigma(moves) }

// collectionAfterMerges returns the collection after merges.
func (p *comparer) collectionAfterMerges(steps []plan.Step) (*catalog.CollectionState, error) {
	var runs [][]catalog.Chunk
	for _, s := range steps {
		runs = append(runs, slices.Collect(p.coll.Table.Overlapping(s.Min, s.Max)))
	}
	draft := catalog.NewDraft(p.coll.Table)
	ids := uint32(0)
	commit := catalog.CommitRules{Release: p.snapshot.Release(), HistoryWindow: p.speeds.Costs().HistoryWindow,
		NewID: func() bson.ObjectID {
			ids++
			return bson.ObjectID{0: 'p', 8: byte(ids >> 24), 9: byte(ids >> 16), 10: byte(ids >> 8), 11: byte(ids)}
		}}
	if err := draft.Put(commit.MergeRuns(draft, runs)...); err != nil {
		return nil, fmt.Errorf("price: %w", err)
	}
	next := p.coll.WithTable(draft.Table())
	next.ChunkSizes = p.mergedSizes(next.Table)
	return next, nil
}

// mergedSizes returns the sizes of merged chunks: the sums of their parts.
func (p *comparer) mergedSizes(table *catalog.RoutingTable) (list []catalog.ChunkSize) {
	contents := p.contents()
	for chunk := range table.All() {
		size := catalog.ChunkSize{Min: chunk.Min}
		for part := range p.coll.Table.Overlapping(chunk.Min, chunk.Max) {
			amount := contents(part)
			size.Bytes, size.Documents = size.Bytes+amount.Bytes, size.Documents+amount.Documents
		}
		list = append(list, size)
	}
	return list
}

func (p *comparer) contents() func(catalog.Chunk) sim.Amount {
	return sim.Measured(p.coll, p.coll.ChunkSize(p.snapshot.Settings()))
}

// defragmentFirstWay prices a defragmentation by the balancer, followed by moves.
func (p *comparer) defragmentFirstWay() (Way, bool, error) {
	if !p.snapshot.Release().Defragments() || p.coll.Defragment {
		return Way{}, false, nil
	}
	goal := plan.Goal{Kind: plan.Defragment, Namespaces: []string{p.coll.Namespace}}
	f, err := forecast.Make(p.snapshot, forecast.Options{Goal: goal, Seed: p.options.Seed,
		OnProgress: p.options.OnProgress})
	if err != nil || f.Done {
		return Way{}, false, err
	}
	made, err := plan.Make(p.snapshot, p.planOptions(goal, 0))
	if err != nil {
		return Way{}, false, err
	}
	after, gone, err := p.simulateDefragmentation()
	if err != nil {
		return Way{}, false, err
	}
	w, steps, err := p.movesWay(after)
	if err != nil {
		return w, false, err
	}
	w.Kind, w.Moves, w.Bytes = DefragmentFirst, 0, 0
	w.Irreversible = "the defragmentation's merges and moves: nothing takes them back"
	w.Needs = "6.0; the balancer on at first"
	w.Commands = []string{fmt.Sprintf("sh.defragment(%q, { wait: true })", p.coll.Namespace), p.command(p.options.Goal)}
	waits := p.deletionWaits(gone, steps, after.Time())
	w.Likely += f.Likely + waits
	w.Low, w.High = scaled(w.Low+f.Low, 1/defragmentFactor), scaled(w.High+f.High, defragmentFactor)+defragmentDelay
	w.High += p.speeds.Costs().OrphanDelay // until then ranges can't return to their former shard
	if f.Never && !f.AssumesBalancerOn && len(f.BlockedBy) > 0 && w.Refused == "" {
		w.Refused = f.BlockedBy[0].Sentence
	}
	p.addMoves(&w, slices.Concat(made.Steps, steps))
	return w, true, nil
}

// defragmentFactor and defragmentDelay say how much longer than its forecast a defragmentation may take. Small
// differences decide which small chunks move, and the start of a phase depends on the current round.
const (
	defragmentFactor = 1.15
	defragmentDelay  = 90 * time.Second
)

func scaled(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// deletionWaits returns how long moves wait for ranges that return to a shard from which a
// defragmentation took them. A shard can't receive a range again before it has deleted the donated
// range.
func (p *comparer) deletionWaits(defragMoves []sim.Event, steps []plan.Step, begin time.Time) (sum time.Duration) {
	at := begin
	for _, s := range steps {
		if s.Kind != plan.Move {
			continue
		}
		for _, e := range defragMoves {
			deleted := e.Ended.Add(p.speeds.Costs().OrphanDelay)
			if e.From == s.To && catalog.Overlap(e.Min, e.Max, s.Min, s.Max) && deleted.After(at) {
				sum += deleted.Sub(at)
				at = deleted
			}
		}
		at = at.Add(p.speeds.MoveTime(s.From, s.To, s.Bytes))
	}
	return sum
}

// simulateDefragmentation returns the cluster after the balancer has defragmented the collection, and
// the moves of the defragmentation.
func (p *comparer) simulateDefragmentation() (after *catalog.Snapshot, moved []sim.Event, err error) {
	settings := p.snapshot.Settings()
	settings.AutoMerge, settings.Window, settings.Days = false, nil, nil
	next := *p.coll
	next.Defragment = true
	begin := p.snapshot.WithSettings(settings).WithCollection(&next)
	run, err := sim.New(begin, sim.Config{Location: time.UTC, IgnoreMode: true, Reasons: []policy.Reason{},
		Contents: sim.Measured, Costs: p.speeds.Costs(), OnProgress: p.options.OnProgress})
	if err != nil {
		return nil, nil, err
	}
	defer run.Close()
	for e := range run.EventsToRest(p.snapshot.Time().Add(365 * 24 * time.Hour)) {
		if e.Kind == sim.Moved {
			moved = append(moved, e)
		}
		if !run.IsDefragmenting(p.coll.Namespace) {
			break
		}
	}
	return run.Snapshot().WithSettings(p.snapshot.Settings()), moved, run.Err()
}
