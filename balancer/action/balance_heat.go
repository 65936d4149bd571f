package action

import (
	"context"
	"fmt"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/live/load"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// HeatPlan is what a run for the goal load would do first. Later rounds count anew.
type HeatPlan struct {
	// Before and After are the largest load of a shard as a multiple of the mean.
	Before float64    `json:"before"`
	After  float64    `json:"after"`
	Steps  []HeatStep `json:"steps"`
	Left   []Left     `json:"left"`
}

// HeatStep is a split, which has At, or a move.
type HeatStep struct {
	Namespace string          `json:"ns"`
	Min       string          `json:"min"`
	Max       string          `json:"max"`
	At        string          `json:"at,omitzero"`
	From      catalog.ShardID `json:"from"`
	To        catalog.ShardID `json:"to,omitzero"`
	OfMean    float64         `json:"ofMean,omitzero"` // what a move takes along
	Bytes     int64           `json:"bytes,omitzero"`
}

// heat estimates where the load of collections goes, for a round.
func (b Balance) heat(ctx context.Context, c Cluster, namespaces []string) ([]heat.Map, error) {
	s, err := live.NewReader(c.Client, live.ReaderOptions{Parts: heatParts, Required: live.Chunks, Namespaces: namespaces,
		Direct: c.Settings}).Read(ctx)
	if err != nil {
		return nil, err
	}
	return b.heatOf(ctx, c, s, namespaces)
}

func (b Balance) heatOf(ctx context.Context, c Cluster, s *catalog.Snapshot, namespaces []string) ([]heat.Map, error) {
	list, err := load.Read(ctx, live.NewCommandRunner(c.Client), s, namespaces,
		load.Options{For: b.OpsInterval, Back: samplesBack, Clock: c.Clock})
	if err != nil {
		return nil, err
	}
	var maps []heat.Map
	for _, r := range list {
		if r.Map.Samples > r.Map.Inserts {
			maps = append(maps, r.Map)
		}
	}
	if len(maps) == 0 {
		return nil, fmt.Errorf("%w; to have some sampled, enter %s, and try again after two minutes", runner.ErrNoSamples,
			sampling(namespaces[0]))
	}
	return maps, nil
}

// sampling is the command that has queries of a collection sampled.
func sampling(ns string) string {
	db, name, _ := catalog.SplitNamespace(ns)
	return fmt.Sprintf(`db.getSiblingDB(%q).getCollection(%q).configureQueryAnalyzer({ mode: "full", `+
		`samplesPerSecond: 5 })`, db, name)
}

// foreseeLoad says what the first round would do.
func (b Balance) foreseeLoad(ctx context.Context, c Cluster, r *serial) (*HeatPlan, error) {
	s, err := c.measuring(b.DiskLimit).snapshot(ctx, b.Namespaces, r)
	if err != nil {
		return nil, err
	}
	names, err := plan.Namespaces(s, b.Namespaces)
	if err != nil {
		return nil, err
	}
	maps, err := b.heatOf(ctx, c, s, runner.Ours(names, b.Namespaces))
	if err != nil {
		return nil, err
	}
	var colls []heat.Collection
	for i := range maps {
		state := s.Collection(maps[i].Namespace)
		average := map[catalog.ShardID]int64{}
		for id, of := range state.Sizes {
			average[id] = of.Bytes / max(1, state.CountOn(id).Chunks)
		}
		colls = append(colls, heat.Collection{Map: &maps[i], Zones: state.Zones, Bytes: average, Stays: jumbos(state.Table)})
	}
	var places []heat.Place
	for _, shard := range s.Shards() {
		p := heat.Place{Shard: shard.ID, Accepts: !shard.Draining && !shard.Full(), Zones: shard.Zones, Room: -1}
		if b.DiskLimit > 0 && shard.Disk.Known() {
			p.Room = shard.Disk.Room(b.DiskLimit)
		}
		places = append(places, p)
	}
	return heatPlanOf(heat.Decide(colls, places, heat.Options{By: b.By, Horizon: b.CoolDown}), maps), nil
}

func jumbos(t *catalog.RoutingTable) func(catalog.Key) bool {
	return func(lower catalog.Key) bool { return t.Find(lower).Jumbo == catalog.JumboTrue }
}

func heatPlanOf(d heat.Decision, maps []heat.Map) *HeatPlan {
	p := &HeatPlan{Before: d.Before, After: d.After, Steps: []HeatStep{}, Left: []Left{}}
	patterns := map[string]catalog.KeyPattern{}
	for _, m := range maps {
		patterns[m.Namespace] = m.Pattern
	}
	for _, s := range d.Steps {
		text := func(k catalog.Key) string { return humanize.Literal(patterns[s.Namespace].Bound(k)) }
		step := HeatStep{Namespace: s.Namespace, Min: text(s.Min), Max: text(s.Max), From: s.From, To: s.To, OfMean: s.Share,
			Bytes: s.Bytes}
		if !s.At.IsZero() {
			step.At = text(s.At)
		}
		p.Steps = append(p.Steps, step)
	}
	for _, left := range runner.LeftByLoad(d, maps) {
		p.Left = append(p.Left, Left(left))
	}
	return p
}
