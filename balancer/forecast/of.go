package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// Of says how long a cluster takes to a goal. It needs the routing tables of all
// sharded collections, and says better what it can measure on the change log.
// Equal Snapshots and options give equal forecasts.
func Of(s *catalog.Snapshot, o Options) (Forecast, error) {
	o.Goal.Kind = cmp.Or(o.Goal.Kind, plan.Balance)
	o, err := o.check(s)
	if err != nil {
		return Forecast{}, err
	}
	if o.Goal.Kind == plan.Load {
		return o.evenOut(s)
	}
	e := evidenceOf(s)
	first, last := s.ClockBounds()
	k := clock{settings: s.Settings(), in: []*time.Location{first, last}, known: s.Parts().Clock}
	prepared, changed := o.prepare(s)
	r := ratesOf(e, sim.SnapshotCosts(s))
	simulations, err := o.simulations(prepared, r)
	if err != nil {
		return Forecast{}, err
	}
	likely, likeliest := middle(simulations), simulations[0]
	f := Forecast{
		Goal: o.Goal, At: s.BalancerTime(), Windowed: k.settings.HasWindow(),
		Moves: likeliest.moves, Bytes: likeliest.bytes, Left: likely.left,
	}
	opens := f.span(k, simulations, r, e.round)
	f.blocked(s, likely, opens)
	f.Done = likely.idle(s.Time()) && len(f.Because) == 0
	f.Basis = append(changed, basis{r, e, k, likely, s.Time(), len(diagnosis.PendingDeletions(s))}.words()...)
	return f, nil
}

// fewMoves and fewChunks are how many a simulation may have for others with other
// models of contents to be worth their time: with more of them, what single chunks
// hold evens out.
const (
	fewMoves  = 4000
	fewChunks = 200_000
)

// simulations simulates the goal under several models of what chunks hold, the
// likeliest first.
func (o Options) simulations(s *catalog.Snapshot, r rates) ([]simulation, error) {
	settings := s.Settings()
	settings.Window, settings.Days = nil, nil // the clock has them
	parts := s.WithSettings(settings).Parts()
	parts.Deletions, parts.DeletionsKnown = diagnosis.PendingDeletions(s), true
	open := resumed(catalog.NewSnapshot(parts))
	run := func(contents sim.ContentsModel, seed uint64) (simulation, error) {
		return simulate(open, o.Goal, sim.Config{
			Location: time.UTC, IgnoreMode: true, Contents: sim.Estimated(contents), Costs: r.costs,
			Resume: true, Watch: o.Watch, Link: r.links.between, Seed: seed, Rand: lots(seed),
		})
	}
	first, err := run(likeliest(s), o.Seed)
	chunks := 0
	for _, c := range diagnosis.Sharded(s) {
		chunks += int(c.Count().Chunks)
	}
	if err != nil || first.moves+first.failed == 0 || first.moves > fewMoves || chunks > fewChunks {
		return []simulation{first}, err
	}
	list := []simulation{first}
	more := uint64(2)
	if o.Goal.Kind == plan.Defragment {
		more = 8 // what moves when hangs on little
	}
	for i := range more {
		c, err := run(sim.Skewed(math.Min(1, r.skew), o.Seed+i), o.Seed+1+i)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// likeliest returns the model that knows most: of measured sizes where there are
// some.
func likeliest(s *catalog.Snapshot) sim.ContentsModel {
	if slices.ContainsFunc(s.Collections(), func(c *catalog.CollectionState) bool {
		return len(c.ChunkSizes) > 0 || len(c.Sampled) > 0
	}) {
		return sim.Measured
	}
	return sim.Even
}

// start is how long a round that is due may take to begin.
const start = 10 * time.Second

// middle returns the trajectory that takes neither the longest nor the shortest.
func middle(simulations []simulation) simulation {
	list := slices.SortedFunc(slices.Values(simulations), func(a, b simulation) int { return a.done.Compare(b.done) })
	return list[len(list)/2]
}

// grid are points of the normal distribution that are equally likely.
func grid() (list []float64) {
	const points = 39
	for i := range points {
		list = append(list, math.Sqrt2*math.Erfinv(2*(float64(i)+0.5)/points-1))
	}
	return list
}

// span sets the times to what nine in ten of the simulations, each with what is not
// known of its speeds, keep within; it reports false when the window never opens.
func (f *Forecast) span(k clock, simulations []simulation, r rates, round time.Duration) (ok bool) {
	if middle(simulations).idle(f.At) {
		return true
	}
	var all []time.Duration
	for _, c := range simulations {
		unsure := r.logStdDev(c.working(), c.bytes, c.unmeasuredShare(r.links))
		for _, z := range grid() {
			for _, in := range k.in {
				took, ok := k.take(c, f.At, in, math.Exp(unsure*z))
				if !ok {
					return false
				}
				all = append(all, took)
			}
		}
	}
	slices.Sort(all)
	left := 15 // one in so many is left out on each side: with less, ranges held 97 % of the truths
	if f.Goal.Kind == plan.Defragment {
		left = 20
	}
	f.Low, f.Likely, f.High = all[len(all)/left], all[len(all)/2], all[len(all)-1-len(all)/left]
	f.Likely += start / 2
	f.High += start
	if f.Goal.Kind == plan.Defragment {
		// It goes on when a round ends, and how far the one under way is nobody tells.
		f.Low, f.High = max(f.Low/4, f.Low-round), f.High+round
	}
	return true
}

// blocked says what keeps the goal from being reached.
func (f *Forecast) blocked(s *catalog.Snapshot, c simulation, opens bool) {
	d := diagnosis.Of(s)
	f.Because = append(f.Because, d.About(diagnosis.SettingsUnreadable, diagnosis.ShardUnreachable)...)
	if s.Settings().Mode != catalog.ModeFull || diagnosis.ModeOf(s) == catalog.ModeOff {
		if f.IfOn = !c.idle(s.Time()); f.IfOn {
			f.Because = append(f.Because, d.About(diagnosis.BalancerOff)...)
		}
	}
	if !opens {
		f.Because = append(f.Because, d.About(diagnosis.WindowShut)...)
	}
	f.Because = append(f.Because, f.stuck(c)...)
	f.Never = len(f.Because) > 0 || !opens
}

// stuck finds what is in the way where the simulation ended.
func (f *Forecast) stuck(c simulation) (list []diagnosis.Finding) {
	switch f.Goal.Kind {
	case plan.Drain:
		end := c.end
		shard, _ := end.Shard(f.Goal.Shard)
		drain := diagnosis.DrainOf(end, shard)
		if len(drain.Commands()) > 0 {
			list = append(list, drain.Remainder())
		}
		if c.left > 0 {
			for _, f := range causes(end, diagnosis.Scope{Shard: f.Goal.Shard}) {
				// What is to be moved by hand was said, of which jumbo chunks are a part.
				byHand := f.Code == diagnosis.DrainNeedsOperator || f.Code == diagnosis.JumboChunks && drain.Flagged > 0
				if !byHand {
					list = append(list, f)
				}
			}
		}
	case plan.Balance, plan.Zones:
		if f.Goal.Kind == plan.Balance && len(f.Goal.Namespaces) == 0 {
			return unbalanced(c.end)
		}
		var even []string
		for _, b := range diagnosis.Balances(c.end) {
			asked := len(f.Goal.Namespaces) == 0 || slices.Contains(f.Goal.Namespaces, b.Namespace)
			switch {
			case !asked:
			case b.Known && b.Balanced:
				even = append(even, b.Namespace)
			default:
				list = append(list, causes(c.end, diagnosis.Scope{Namespace: b.Namespace})...)
			}
		}
		list = append(list, stays(c.end, even)...)
	case plan.Defragment:
		if !c.reached && c.moves > 0 {
			list = append(list, diagnosis.Of(c.end).About(diagnosis.Defragmenting, diagnosis.DefragmentationIdle)...)
		}
	}
	return list
}

// unbalanced finds what keeps a cluster from being balanced, as a plan does.
func unbalanced(end *catalog.Snapshot) []diagnosis.Finding {
	a := diagnosis.Why(diagnosis.AtWork(end), diagnosis.Scope{})
	return slices.DeleteFunc(slices.Concat(a.Causes, a.Symptoms), func(f diagnosis.Finding) bool {
		return !f.Prevents() || f.Code == diagnosis.NotBalanced // the balancer goes on
	})
}

// stays finds what the balancer leaves uneven in collections that it calls balanced, since
// it can't move it.
func stays(s *catalog.Snapshot, balanced []string) []diagnosis.Finding {
	if len(balanced) == 0 {
		return nil
	}
	a := diagnosis.Why(s, diagnosis.Scope{})
	return slices.DeleteFunc(a.Causes, func(f diagnosis.Finding) bool {
		return f.Code != diagnosis.OnlyJumboChunks || !slices.Contains(balanced, f.Scope.Namespace)
	})
}

// causes are what keeps a part of the cluster as it is, but for what is about the
// balancer as such.
func causes(s *catalog.Snapshot, about diagnosis.Scope) (list []diagnosis.Finding) {
	own := []diagnosis.Code{
		diagnosis.BalancerOff, diagnosis.WindowShut, diagnosis.WindowUnplaced, diagnosis.SettingsUnreadable,
	}
	a := diagnosis.Why(s, about)
	for _, f := range append(a.Causes, a.Symptoms...) {
		if f.Severity > diagnosis.Info && !slices.Contains(own, f.Code) {
			list = append(list, f)
		}
	}
	return list
}

// lots returns the source of chance of a simulation: that of the seed 0 keeps the order of
// the catalog, as plans do.
func lots(seed uint64) *rand.Rand {
	if seed == 0 {
		return nil
	}
	return rand.New(rand.NewPCG(seed, 1))
}
