package action

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/live/load"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// HeatPlan is the first round of a run for the goal load. Later rounds count operations again.
type HeatPlan struct {
	// MaxLoadBefore and After are the largest load of a shard as a multiple of the mean.
	MaxLoadBefore float64    `json:"before"`
	MaxLoadAfter  float64    `json:"after"`
	Steps         []HeatStep `json:"steps"`
	Left          []Leftover `json:"left"`
}

// HeatStep is a split if Point is set, and a move otherwise.
type HeatStep struct {
	Namespace  string          `json:"ns"`
	Min        string          `json:"min"`
	Max        string          `json:"max"`
	Point      string          `json:"at,omitzero"`
	From       catalog.ShardID `json:"from"`
	To         catalog.ShardID `json:"to,omitzero"`
	LoadOfMean float64         `json:"ofMean,omitzero"` // load that a move transfers, as a multiple of the mean
	Bytes      int64           `json:"bytes,omitzero"`
}

// readHeat estimates the load of the chunks of collections, for one round.
func (b Balance) readHeat(ctx context.Context, c Cluster, namespaces []string) ([]heat.Map, error) {
	s, err := live.NewReader(c.Client, live.ReaderOptions{Parts: heatParts, Required: live.Chunks, Namespaces: namespaces,
		MemberClientOptions: c.ClientOptions}).Read(ctx)
	if err != nil {
		return nil, err
	}
	return readSampledHeat(ctx, c.Client, s, namespaces, load.Options{Duration: b.OpsInterval, Clock: c.Clock})
}

// readSampledHeat estimates the load of the chunks of collections, for a run. It fails with
// ErrNoSamples if no sampled query tells which chunks have the load.
func readSampledHeat(
	ctx context.Context, client *mongo.Client, s *catalog.Snapshot, namespaces []string, o load.Options,
) (maps []heat.Map, err error) {
	o.MaxSampleAge = maxSampleAge
	list, err := load.Read(ctx, live.NewCommandRunner(client), s, namespaces, o)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.Map.Samples > r.Map.InsertSamples {
			maps = append(maps, r.Map)
		}
	}
	if len(maps) == 0 {
		return nil, fmt.Errorf("%w; to have some sampled, enter %s, and try again after two minutes", runner.ErrNoSamples,
			samplingCommand(namespaces[0]))
	}
	return maps, nil
}

// readHeat estimates the load of the chunks of collections, for a preview.
func (s Source) readHeat(
	ctx context.Context,
	read *catalog.Snapshot,
	patterns []string,
	r *serialReporter,
) ([]heat.Map, error) {
	if s.Client == nil {
		return nil, refuse("{goal} load reads counters and samples, and a file has none: name a cluster")
	}
	names, err := plan.MatchNamespaces(read, patterns)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(runner.WithoutServerOwned(names, patterns), func(ns string) bool {
		return read.Collection(ns).Table == nil
	})
	if len(names) == 0 {
		return nil, refuse("{goal} load: there is no sharded collection")
	}
	maps, err := readSampledHeat(ctx, s.Client, read, names, load.Options{Clock: s.Clock, OnPhase: r.note})
	if err != nil {
		return nil, &NoAnswerError{err}
	}
	return maps, nil
}

// samplingCommand returns the command that starts the sampling of a collection's queries.
func samplingCommand(ns string) string {
	db, name, _ := catalog.SplitNamespace(ns)
	return fmt.Sprintf(`db.getSiblingDB(%q).getCollection(%q).configureQueryAnalyzer({ mode: "full", `+
		`samplesPerSecond: 5 })`, db, name)
}

// previewLoad returns the steps of the first round.
func (b Balance) previewLoad(ctx context.Context, c Cluster, r *serialReporter) (*HeatPlan, error) {
	s, err := c.withDiskLimit(b.DiskLimit).snapshot(ctx, b.Namespaces, r)
	if err != nil {
		return nil, err
	}
	names, err := plan.MatchNamespaces(s, b.Namespaces)
	if err != nil {
		return nil, err
	}
	maps, err := readSampledHeat(ctx, c.Client, s, runner.WithoutServerOwned(names, b.Namespaces),
		load.Options{Duration: b.OpsInterval, Clock: c.Clock})
	if err != nil {
		return nil, err
	}
	colls, places := heat.SnapshotInput(s, maps)
	o := heat.Options{LoadKind: b.LoadKind, Horizon: b.CoolDown}
	if b.DiskLimit > 0 {
		o.Volumes = catalog.NewVolumes(s, b.DiskLimit)
	}
	return heatPlanOf(heat.Decide(colls, places, o), maps), nil
}

func heatPlanOf(d heat.Decision, maps []heat.Map) *HeatPlan {
	p := &HeatPlan{MaxLoadBefore: d.MaxLoadRatioBefore, MaxLoadAfter: d.MaxLoadRatioAfter, Steps: []HeatStep{},
		Left: []Leftover{}}
	patterns := map[string]catalog.KeyPattern{}
	for _, m := range maps {
		patterns[m.Namespace] = m.Pattern
	}
	for _, s := range d.Steps {
		text := func(k catalog.Key) string { return humanize.Literal(patterns[s.Namespace].Bound(k)) }
		step := HeatStep{Namespace: s.Namespace, Min: text(s.Min), Max: text(s.Max), From: s.From, To: s.To,
			LoadOfMean: s.LoadOfMean,
			Bytes:      s.Bytes}
		if !s.Point.IsZero() {
			step.Point = text(s.Point)
		}
		p.Steps = append(p.Steps, step)
	}
	for _, left := range runner.LeftoversOfLoad(d, maps) {
		p.Left = append(p.Left, Leftover(left))
	}
	return p
}
