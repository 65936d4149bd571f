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
	e := evidenceOf(s)
	k := clock{settings: s.Settings(), in: o.Location}
	if k.in == nil {
		k.in = cmp.Or(e.offset, time.UTC)
	}
	prepared, changed := o.prepare(s)
	r := ratesOf(e, s.Release())
	courses, err := o.courses(prepared, r)
	if err != nil {
		return Forecast{}, err
	}
	likely := middle(courses)
	likely.credit = underWay(s)
	f := Forecast{
		Goal: o.Goal, At: s.Time().In(k.in), Windowed: k.settings.Window != nil || len(k.settings.Days) > 0,
		Moves: likely.moves, Bytes: likely.bytes, Left: likely.left,
	}
	opens := f.span(k, likely, between(courses, s.Time()), r)
	f.blocked(s, likely, opens)
	f.Done = likely.idle(s.Time()) && len(f.Because) == 0
	f.Basis = append(changed, basis{r, e, k, likely, o}.words()...)
	return f, nil
}

// fewMoves and fewChunks are how many a simulation may have for others with other
// models of contents to be worth their time: with more of them, what single chunks
// hold evens out.
const (
	fewMoves  = 4000
	fewChunks = 200_000
)

// courses simulates the goal under several models of what chunks hold, the
// likeliest first.
func (o Options) courses(s *catalog.Snapshot, r rates) ([]course, error) {
	settings := s.Settings()
	settings.Window, settings.Days = nil, nil // the clock has them
	parts := s.WithSettings(settings).Parts()
	parts.Deletions, parts.DeletionsKnown = diagnosis.PendingDeletions(s), true
	open := catalog.NewSnapshot(parts)
	run := func(contents sim.Contents, seed uint64) (course, error) {
		return simulate(open, o.Goal, sim.Config{
			Location: time.UTC, IgnoreMode: true, Contents: sim.Estimated(contents), Costs: r.costs,
			Link: r.links.between, Seed: seed, Rand: rand.New(rand.NewPCG(seed, 1)),
		})
	}
	first, err := run(likeliest(s), o.Seed)
	chunks := 0
	for _, c := range diagnosis.Sharded(s) {
		chunks += c.Table.Len()
	}
	if err != nil || first.moves+first.failed == 0 || first.moves > fewMoves || chunks > fewChunks {
		return []course{first}, err
	}
	list := []course{first}
	for i := range uint64(2) {
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
func likeliest(s *catalog.Snapshot) sim.Contents {
	if slices.ContainsFunc(s.Collections(), func(c *catalog.CollectionState) bool { return len(c.ChunkSizes) > 0 }) {
		return sim.Measured
	}
	return sim.Even
}

// nineInTen is how many standard deviations on each side hold nine of ten.
const nineInTen = 1.645

// start is how long a round that is due may take to begin.
const start = 10 * time.Second

// middle returns the course that takes neither the longest nor the shortest.
func middle(courses []course) course {
	list := slices.SortedFunc(slices.Values(courses), func(a, b course) int { return a.done.Compare(b.done) })
	return list[len(list)/2]
}

// underWay returns how long the oldest migration under way goes on already.
func underWay(s *catalog.Snapshot) (longest time.Duration) {
	for _, m := range s.Parts().Migrations {
		if !m.Since.IsZero() {
			longest = max(longest, s.Time().Sub(m.Since))
		}
	}
	return longest
}

// span sets the times; it reports false when the window never opens.
func (f *Forecast) span(k clock, c course, between float64, r rates) (ok bool) {
	if c.idle(f.At) {
		return true
	}
	if f.Likely, ok = k.take(c, f.At, 1); !ok {
		return false
	}
	unsure := math.Hypot(r.unsure(c.working(), c.unused(r.links)), between)
	f.Low, _ = k.take(c, f.At, math.Exp(-nineInTen*unsure))
	f.High, _ = k.take(c, f.At, math.Exp(nineInTen*unsure))
	f.Likely += start / 2
	f.High += start
	return true
}

// between returns the standard deviation of the logarithm of what courses take.
func between(courses []course, now time.Time) float64 {
	var sum, squares float64
	for _, c := range courses {
		l := math.Log(max(1, c.done.Sub(now).Seconds()))
		sum, squares = sum+l, squares+l*l
	}
	n := float64(len(courses))
	return math.Sqrt(math.Max(0, squares/n-sum/n*sum/n))
}

// blocked says what keeps the goal from being reached.
func (f *Forecast) blocked(s *catalog.Snapshot, c course, opens bool) {
	d := diagnosis.Of(s)
	f.Because = append(f.Because, d.About(diagnosis.SettingsUnreadable)...)
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
func (f *Forecast) stuck(c course) (list []diagnosis.Finding) {
	switch f.Goal.Kind {
	case plan.Drain:
		end := c.end
		shard, _ := end.Shard(f.Goal.Shard)
		if drain := diagnosis.DrainOf(end, shard); len(drain.Commands()) > 0 {
			list = append(list, drain.Remainder())
		}
		if c.left > 0 {
			list = append(list, causes(end, diagnosis.Scope{Shard: f.Goal.Shard})...)
		}
	case plan.Balance, plan.Zones:
		for _, b := range diagnosis.Balances(c.end) {
			asked := slices.Contains(f.Goal.Namespaces, b.Namespace) ||
				len(f.Goal.Namespaces) == 0 && b.Hold == diagnosis.NotHeld
			if asked && b.Known && !b.Balanced {
				list = append(list, causes(c.end, diagnosis.Scope{Namespace: b.Namespace})...)
			}
		}
	case plan.Defragment:
		if !c.reached && c.moves > 0 {
			list = append(list, diagnosis.Of(c.end).About(diagnosis.Defragmenting, diagnosis.DefragmentationIdle)...)
		}
	}
	return list
}

// causes are what keeps a part of the cluster as it is, but for what is about the
// balancer as such.
func causes(s *catalog.Snapshot, about diagnosis.Scope) (list []diagnosis.Finding) {
	own := []diagnosis.Code{diagnosis.BalancerOff, diagnosis.WindowShut, diagnosis.SettingsUnreadable}
	a := diagnosis.Why(s, about)
	for _, f := range append(a.Causes, a.Symptoms...) {
		if f.Severity > diagnosis.Info && !slices.Contains(own, f.Code) {
			list = append(list, f)
		}
	}
	return list
}
