package forecast

import (
	"cmp"
	"math"
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
	if err := o.check(s); err != nil {
		return Forecast{}, err
	}
	e := evidenceOf(s)
	k := clock{settings: s.Settings(), in: o.Location}
	if k.in == nil {
		k.in = cmp.Or(e.offset, time.UTC)
	}
	prepared, changed := o.prepare(s)
	r := ratesOf(e)
	courses, err := o.courses(prepared, r)
	if err != nil {
		return Forecast{}, err
	}
	f := Forecast{Goal: o.Goal, At: s.Time().In(k.in)}
	likely := courses[0]
	f.Moves, f.Bytes, f.Left = likely.moves, likely.bytes, likely.left
	opens := f.span(k, courses, r, s.Time())
	f.blocked(s, likely, opens)
	f.Done = likely.moves == 0 && !likely.done.After(s.Time()) && len(f.Because) == 0
	f.Basis = append(changed, basis{r, e, k, likely, o}.words()...)
	return f, nil
}

// fewMoves is how many moves a simulation may have for others with other models of
// contents to be worth their time: with more of them, what single chunks hold
// evens out.
const fewMoves = 4000

// courses simulates the goal under several models of what chunks hold, the
// likeliest first.
func (o Options) courses(s *catalog.Snapshot, r rates) ([]course, error) {
	settings := s.Settings()
	settings.Window, settings.Days = nil, nil // the clock has them
	open := s.WithSettings(settings)
	run := func(contents sim.Contents, seed uint64) (course, error) {
		return simulate(open, o.Goal, sim.Config{
			Location: time.UTC, IgnoreMode: true, Contents: contents, Costs: r.costs, Link: r.links, Seed: seed,
		})
	}
	first, err := run(likeliest(s), o.Seed)
	if err != nil || first.moves == 0 || first.moves > fewMoves {
		return []course{first}, err
	}
	list := []course{first}
	for i := range uint64(2) {
		c, err := run(sim.Skewed(math.Max(0.3, math.Min(1, r.skew)), o.Seed+i), o.Seed+1+i)
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

// span sets the times; it reports false when the window never opens.
func (f *Forecast) span(k clock, courses []course, r rates, now time.Time) bool {
	if courses[0].moves == 0 && !courses[0].done.After(now) {
		return true
	}
	var likely []time.Duration
	for i, c := range courses {
		low, ok := k.take(c, now, math.Exp(-nineInTen*r.unsure))
		if !ok {
			return false
		}
		middle, _ := k.take(c, now, 1)
		high, _ := k.take(c, now, math.Exp(nineInTen*r.unsure))
		likely = append(likely, middle)
		if i == 0 {
			f.Low, f.High = low, high
		}
		f.Low, f.High = min(f.Low, low), max(f.High, high)
	}
	slices.Sort(likely)
	f.Likely = likely[len(likely)/2] + start/2
	f.High += start
	return true
}

// blocked says what keeps the goal from being reached.
func (f *Forecast) blocked(s *catalog.Snapshot, c course, opens bool) {
	d := diagnosis.Of(s)
	f.Because = append(f.Because, d.About(diagnosis.SettingsUnreadable)...)
	if s.Settings().Mode != catalog.ModeFull || diagnosis.ModeOf(s) == catalog.ModeOff {
		f.IfOn = c.moves > 0 || !c.reached
		if f.IfOn {
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
