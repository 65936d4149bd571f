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

// Make forecasts how long a cluster takes to reach a goal. It needs the routing tables of all sharded
// collections, and is more exact with rates measured from the change log. Equal Snapshots and options
// give equal forecasts.
func Make(s *catalog.Snapshot, o Options) (Forecast, error) {
	o.Goal.Kind = cmp.Or(o.Goal.Kind, plan.Balance)
	o, err := o.check(s)
	if err != nil {
		return Forecast{}, err
	}
	if o.Goal.Kind == plan.Load {
		return o.forecastLoad(s)
	}
	e := readEvidence(s)
	first, last := s.ExtremeTimeZones()
	k := balancerWindow{settings: s.Settings(), locations: []*time.Location{first, last}, clock: s.Parts().Clock}
	prepared, changed := o.prepare(s)
	r := fitRates(e, sim.SnapshotCosts(s))
	simulations, err := o.simulations(prepared, r)
	if err != nil {
		return Forecast{}, err
	}
	likely, likeliest := medianSimulation(simulations), simulations[0]
	f := Forecast{
		Goal: o.Goal, At: s.BalancerTime(), HasWindow: k.settings.HasWindow(),
		Moves: likeliest.moves, Bytes: likeliest.bytes, StuckChunks: likely.chunksLeft,
	}
	opens := f.setRange(k, simulations, r, e.roundTime)
	f.setReasons(s, likely, opens)
	f.Done = likely.neededNoWork(s.Time()) && len(f.BlockedBy) == 0
	f.Basis = append(changed, basis{r, k, likely, s.Time(), len(diagnosis.PendingDeletions(s))}.sentences()...)
	return f, nil
}

// maxMovesToResimulate and maxChunksToResimulate limit the size of a simulation that is repeated with other
// models of chunk contents. In larger simulations, the differences between single chunks average out.
const (
	maxMovesToResimulate  = 4000
	maxChunksToResimulate = 200_000
)

// simulations simulates the goal with several models of chunk contents, the likeliest first.
func (o Options) simulations(s *catalog.Snapshot, r rates) ([]simulation, error) {
	settings := s.Settings()
	settings.Window, settings.Days = nil, nil // the clock handles windows and days
	parts := s.WithSettings(settings).Parts()
	parts.Deletions, parts.DeletionsKnown = diagnosis.PendingDeletions(s), true
	open := withMergedSizes(catalog.NewSnapshot(parts))
	run := func(contents sim.ContentsModel, seed uint64) (simulation, error) {
		return simulate(open, o.Goal, sim.Config{
			Location: time.UTC, IgnoreMode: true, Contents: sim.WithEstimates(contents), Costs: r.costs,
			Resume: true, OnProgress: o.OnProgress, Link: r.links.link, Seed: seed, Rand: newRand(seed),
		})
	}
	first, err := run(likeliestModel(s), o.Seed)
	chunks := 0
	for _, c := range diagnosis.Sharded(s) {
		chunks += int(c.Count().Chunks)
	}
	if err != nil || first.moves+first.failed == 0 || first.moves > maxMovesToResimulate ||
		chunks > maxChunksToResimulate {
		return []simulation{first}, err
	}
	list := []simulation{first}
	more := uint64(2)
	if o.Goal.Kind == plan.Defragment {
		more = 8 // the order of moves depends on small differences
	}
	for i := range more {
		c, err := run(sim.Skewed(math.Min(1, r.bytesStdDev), o.Seed+i), o.Seed+1+i)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// likeliestModel returns the best model: one of measured sizes if the Snapshot has some.
func likeliestModel(s *catalog.Snapshot) sim.ContentsModel {
	if slices.ContainsFunc(s.Collections(), func(c *catalog.CollectionState) bool {
		return len(c.ChunkSizes) > 0 || len(c.Sampled) > 0
	}) {
		return sim.Measured
	}
	return sim.Even
}

// MaxRoundDelay is the longest delay of a round that is due.
const MaxRoundDelay = 10 * time.Second

// medianSimulation returns the simulation with the median time.
func medianSimulation(simulations []simulation) simulation {
	list := slices.SortedFunc(slices.Values(simulations), func(a, b simulation) int { return a.doneAt.Compare(b.doneAt) })
	return list[len(list)/2]
}

// normalQuantiles returns equally likely quantiles of the normal distribution.
func normalQuantiles() (list []float64) {
	const points = 39
	for i := range points {
		list = append(list, math.Sqrt2*math.Erfinv(2*(float64(i)+0.5)/points-1))
	}
	return list
}

// setRange sets the range to the 90 % interval of the simulations, each varied by the uncertainty of
// its rates. It reports false when the window never opens.
func (f *Forecast) setRange(k balancerWindow, simulations []simulation, r rates, round time.Duration) (ok bool) {
	if medianSimulation(simulations).neededNoWork(f.At) {
		return true
	}
	var all []time.Duration
	for _, c := range simulations {
		unsure := r.logStdDev(c.workingTime(), c.bytes, c.unmeasuredShare(r.links))
		for _, z := range normalQuantiles() {
			for _, in := range k.locations {
				took, ok := k.duration(c, f.At, in, math.Exp(unsure*z))
				if !ok {
					return false
				}
				all = append(all, took)
			}
		}
	}
	slices.Sort(all)
	left := 15 // excludes one in 15 on each side; with fewer excluded, ranges held 97 % of the true times
	if f.Goal.Kind == plan.Defragment {
		left = 20
	}
	f.Low, f.Likely, f.High = all[len(all)/left], all[len(all)/2], all[len(all)-1-len(all)/left]
	f.Likely += MaxRoundDelay / 2
	f.High += MaxRoundDelay
	if f.Goal.Kind == plan.Defragment {
		// The next moves begin when the current round ends, and the remaining time of that round is
		// unknown.
		f.Low, f.High = max(f.Low/4, f.Low-round), f.High+round
	}
	return true
}

// setReasons sets the obstacles that keep the goal from being reached.
func (f *Forecast) setReasons(s *catalog.Snapshot, c simulation, opens bool) {
	d := diagnosis.Diagnose(s)
	f.BlockedBy = append(f.BlockedBy, d.FindingsWithCodes(diagnosis.SettingsUnreadable, diagnosis.ShardUnreachable)...)
	if s.Settings().Mode != catalog.ModeFull || diagnosis.ModeOf(s) == catalog.ModeOff {
		if f.AssumesBalancerOn = !c.neededNoWork(s.Time()); f.AssumesBalancerOn {
			f.BlockedBy = append(f.BlockedBy, d.FindingsWithCodes(diagnosis.BalancerOff)...)
		}
	}
	if !opens {
		f.BlockedBy = append(f.BlockedBy, d.FindingsWithCodes(diagnosis.WindowShut)...)
	}
	f.BlockedBy = append(f.BlockedBy, f.obstacleFindings(c)...)
	f.Never = len(f.BlockedBy) > 0 || !opens
}

// obstacleFindings returns the obstacles at the end of the simulation.
func (f *Forecast) obstacleFindings(c simulation) (list []diagnosis.Finding) {
	switch f.Goal.Kind {
	case plan.Drain:
		end := c.end
		shard, _ := end.Shard(f.Goal.Shard)
		drain := diagnosis.DrainOf(end, shard)
		if len(drain.Commands()) > 0 {
			list = append(list, drain.OperatorFinding())
		}
		if c.chunksLeft > 0 {
			for _, f := range causeFindings(end, diagnosis.Scope{Shard: f.Goal.Shard}) {
				// The finding about moves by hand already covers jumbo chunks.
				byHand := f.Code == diagnosis.DrainNeedsOperator || f.Code == diagnosis.JumboChunks && drain.JumboToForce > 0
				if !byHand {
					list = append(list, f)
				}
			}
		}
	case plan.Balance, plan.Zones:
		if f.Goal.Kind == plan.Balance && len(f.Goal.Namespaces) == 0 {
			return unbalancedFindings(c.end)
		}
		var even []string
		for _, b := range diagnosis.Balances(c.end) {
			asked := len(f.Goal.Namespaces) == 0 || slices.Contains(f.Goal.Namespaces, b.Namespace)
			switch {
			case !asked:
			case b.Known && b.Balanced:
				even = append(even, b.Namespace)
			default:
				list = append(list, causeFindings(c.end, diagnosis.Scope{Namespace: b.Namespace})...)
			}
		}
		list = append(list, leftUnevenFindings(c.end, even)...)
	case plan.Defragment:
		if !c.reached && c.moves > 0 {
			list = append(list, diagnosis.Diagnose(c.end).FindingsWithCodes(diagnosis.Defragmenting,
				diagnosis.DefragmentationIdle)...)
		}
	}
	return list
}

// unbalancedFindings finds the obstacles that keep a cluster from being balanced, as a plan does.
func unbalancedFindings(end *catalog.Snapshot) []diagnosis.Finding {
	a := diagnosis.Why(diagnosis.IdleWithBalancerOn(end), diagnosis.Scope{})
	return slices.DeleteFunc(slices.Concat(a.Causes, a.Symptoms), func(f diagnosis.Finding) bool {
		return !f.PreventsBalance() || f.Code == diagnosis.NotBalanced // the balancer will fix this
	})
}

// leftUnevenFindings finds uneven data that the balancer can't move, in collections that the balancer
// calls balanced.
func leftUnevenFindings(s *catalog.Snapshot, balanced []string) []diagnosis.Finding {
	if len(balanced) == 0 {
		return nil
	}
	a := diagnosis.Why(s, diagnosis.Scope{})
	return slices.DeleteFunc(a.Causes, func(f diagnosis.Finding) bool {
		return f.Code != diagnosis.OnlyJumboChunks || !slices.Contains(balanced, f.Scope.Namespace)
	})
}

// causeFindings returns the causes in a part of the cluster, except those about the balancer as a
// whole.
func causeFindings(s *catalog.Snapshot, about diagnosis.Scope) (list []diagnosis.Finding) {
	own := []diagnosis.Code{
		diagnosis.BalancerOff, diagnosis.WindowShut, diagnosis.WindowTimeZoneUnknown, diagnosis.SettingsUnreadable,
	}
	a := diagnosis.Why(s, about)
	for _, f := range append(a.Causes, a.Symptoms...) {
		if f.Severity > diagnosis.Info && !slices.Contains(own, f.Code) {
			list = append(list, f)
		}
	}
	return list
}

// newRand returns the random source of a simulation. It returns nil for seed 0, which keeps the order
// of the catalog, as plans do.
func newRand(seed uint64) *rand.Rand {
	if seed == 0 {
		return nil
	}
	return rand.New(rand.NewPCG(seed, 1))
}
