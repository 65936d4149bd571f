package action

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/live/load"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// Heat reports the load by shard, chunk and key. It changes nothing unless SamplesPerSecond is set.
type Heat struct {
	// Namespaces are the collections, by name or pattern; none means all.
	Namespaces []string
	// CountDuration is the time for which operations are counted; zero means a minute. Lookback is the
	// maximum age of samples; zero means an hour.
	CountDuration, Lookback time.Duration
	LoadKind                heat.LoadKind
	// Top is the number of chunks to name; zero means 10.
	Top int
	// MaxCollections is the maximum number of collections to read; zero means all.
	MaxCollections int
	// Logs are log files of servers. Their operations replace the sampled queries. Lookback is counted
	// from the newest operation.
	Logs []string
	// SamplesPerSecond is the number of queries per second, at most 50, to sample during the read in
	// collections whose queries are not sampled. configureQueryAnalyzer switches the sampling on, and
	// off again afterwards.
	SamplesPerSecond float64
}

// maxSampleAge is the maximum age of samples for runs, which need the current load.
const maxSampleAge = 15 * time.Minute

// maxSampleRate is the server's maximum for samplesPerSecond.
const maxSampleRate = 50

// Validate checks the options.
func (h Heat) Validate() error {
	switch {
	case h.LoadKind != "" && !slices.Contains(heat.LoadKinds(), h.LoadKind):
		return refuse("{by}: %q is none of reads, writes, mixed", string(h.LoadKind))
	case h.CountDuration < 0 || h.Lookback < 0:
		return refuse("{for} and {back} are times")
	case h.Top < 0:
		return refuse("{top} must be a number of chunks, not negative")
	case h.SamplesPerSecond > 0 && len(h.Logs) > 0:
		return refuse("{log} and {sample} exclude each other")
	case !(h.SamplesPerSecond >= 0 && h.SamplesPerSecond <= maxSampleRate): // also NaN
		return refuse("{sample} is up to %d queries a second", maxSampleRate)
	}
	return nil
}

// HeatResult is the load of the collections.
type HeatResult struct {
	LoadKind    heat.LoadKind    `json:"by"`
	Seconds     float64          `json:"seconds"` // for which operations were counted
	Collections []CollectionHeat `json:"collections"`
}

// CollectionHeat is the load of a collection.
type CollectionHeat struct {
	Namespace string `json:"ns"`
	// Source describes the data on which the figures are based.
	Source HeatSource `json:"source"`
	Total  heat.Load  `json:"total"`
	// ScatteredShare contains the fractions of queries that go to all shards.
	ScatteredShare heat.Load           `json:"scattered"`
	Shards         []ShardLoad         `json:"shards"`
	Chunks         []ChunkLoad         `json:"chunks"`
	HotKeys        []HotKeyLoad        `json:"hotKeys,omitempty"`
	Monotonic      *heat.Monotonic     `json:"-"`
	Findings       []diagnosis.Finding `json:"findings,omitempty"`
	// OverTime is the load over time and key ranges; nil without samples.
	OverTime *heat.Grid `json:"overTime,omitzero"`
	Map      *heat.Map  `json:"-"`
}

// HeatSource describes the data on which figures are based.
type HeatSource struct {
	Counters         bool    `json:"counters"` // $collStats was read twice
	Samples          int     `json:"samples"`  // sampled queries, or operations of logs
	Logged           bool    `json:"logged"`   // samples are from logs
	InsertSamples    int     `json:"inserts"`  // number of newest documents read
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	// SamplingCommand is the command that starts the sampling of queries; empty if queries are sampled.
	SamplingCommand string   `json:"enter,omitempty"`
	Notes           []string `json:"notes,omitempty"`
}

// Missing returns which data could not be read, and what the user can do about it.
func (s HeatSource) Missing() []string {
	if s.SamplingCommand == "" {
		return s.Notes
	}
	return append([]string{
		"No queries are sampled, so the load of chunks is not known. To sample queries, enter " + s.SamplingCommand},
		s.Notes...)
}

// ShardLoad is the load of a shard.
type ShardLoad struct {
	Shard    catalog.ShardID `json:"shard"`
	Load     heat.Load       `json:"perSecond"`
	Scatter  heat.Load       `json:"scatter"`
	Unplaced heat.Load       `json:"unplaced"`
	// LoadOfMean is the load as a multiple of the mean. BusySecondsPerSecond is the number of seconds per
	// second that the shard works.
	LoadOfMean           float64 `json:"ofMean"`
	BusySecondsPerSecond float64 `json:"time"`
	Chunks               int     `json:"chunks"`
}

// ChunkLoad is the load of one of the hottest chunks.
type ChunkLoad struct {
	Min           string          `json:"min"`
	Max           string          `json:"max"`
	Shard         catalog.ShardID `json:"shard"`
	Load          heat.Load       `json:"perSecond"`
	TotalInterval heat.Interval   `json:"between"` // of reads and writes together, with 95 % confidence
	Samples       int             `json:"samples"`
}

// HotKeyLoad is the load of one key.
type HotKeyLoad struct {
	Key        string          `json:"key"`
	Shard      catalog.ShardID `json:"shard"`
	Load       heat.Load       `json:"perSecond"`
	LoadOfMean float64         `json:"ofMean"`
	Samples    int             `json:"samples"`
}

// heatParts are the parts of the metadata that Heat reads.
const heatParts = live.Identity | live.Compatibility | live.Settings | live.Shards | live.Collections | live.Chunks |
	live.Zones

// Run reads the load.
func (h Heat) Run(ctx context.Context, source Source, r Reporter) (HeatResult, error) {
	if err := h.Validate(); err != nil {
		return HeatResult{}, err
	}
	if source.Snapshot != nil {
		return HeatResult{}, refuse("heat reads counters and samples, and a file has none: name a cluster")
	}
	report := &serialReporter{next: r}
	reads := live.ReaderOptions{Parts: heatParts, Required: live.Chunks, Namespaces: literalNames(h.Namespaces)}
	s, err := source.readAndReport(ctx, reads, "", report)
	if err != nil {
		return HeatResult{}, err
	}
	return h.runOnSnapshot(ctx, source, s, report)
}

// RunOnSnapshot reads the load of a cluster whose metadata, including the routing tables, were read
// before. If MaxCollections is set, it keeps the collections whose queries are sampled, then those with the most
// data.
func (h Heat) RunOnSnapshot(ctx context.Context, source Source, s *catalog.Snapshot, r Reporter) (HeatResult, error) {
	if err := h.Validate(); err != nil {
		return HeatResult{}, err
	}
	if source.Client == nil {
		return HeatResult{}, refuse("{heat} reads counters and samples, and a file has none: name a cluster")
	}
	return h.runOnSnapshot(ctx, source, s, &serialReporter{next: r})
}

func (h Heat) runOnSnapshot(
	ctx context.Context,
	source Source,
	s *catalog.Snapshot,
	report *serialReporter,
) (HeatResult, error) {
	names, err := plan.MatchNamespaces(s, h.Namespaces)
	if err != nil {
		return HeatResult{}, err
	}
	names = runner.WithoutServerOwned(names, h.Namespaces)
	wanted := len(names)
	names = slices.DeleteFunc(names, func(ns string) bool { return s.Collection(ns).Table == nil })
	if len(names) == 0 && wanted > 0 {
		return HeatResult{}, errors.New("config.chunks can't be read")
	}
	if h.MaxCollections > 0 && len(names) > h.MaxCollections {
		sampled := load.ReadSampledCollections(ctx, live.NewCommandRunner(source.Client))
		names = sortSampledFirst(names, s, sampled)[:h.MaxCollections]
	}
	var lines map[string][]heat.LoggedOperation
	if len(h.Logs) > 0 {
		if lines, err = readLoggedOperations(ctx, h.Logs, names, cmp.Or(h.Lookback, time.Hour)); err != nil {
			return HeatResult{}, err
		}
	}
	runner, ended, err := h.runnerForChanges(ctx, source, names)
	if err != nil {
		return HeatResult{}, err
	}
	list, err := load.Read(ctx, runner, s, names, load.Options{Duration: h.CountDuration, MaxSampleAge: h.Lookback,
		SamplesPerSecond: h.SamplesPerSecond, Logged: lines, Clock: source.Clock, OnPhase: report.note})
	if err = ended("", err); err != nil {
		return HeatResult{}, &NoAnswerError{err}
	}
	result := HeatResult{LoadKind: cmp.Or(h.LoadKind, heat.ByMixed),
		Seconds:     cmp.Or(h.CountDuration, time.Minute).Seconds(),
		Collections: []CollectionHeat{}}
	for _, one := range list {
		result.Collections = append(result.Collections, h.describe(one, result.LoadKind))
	}
	return result, nil
}

// sortSampledFirst sorts collections: collections whose queries are sampled come first, then those with
// the most data.
func sortSampledFirst(names []string, s *catalog.Snapshot, sampled []string) []string {
	bytes := func(ns string) int64 { return s.Collection(ns).Bytes() }
	rank := func(ns string) int { return map[bool]int{false: 1}[slices.Contains(sampled, ns)] }
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(bytes(b), bytes(a)))
	})
	return names
}

// NewLoadMeter returns a function that returns the operations per second of each shard since its previous
// call.
func (s Source) NewLoadMeter() func(context.Context, *catalog.Snapshot) (map[catalog.ShardID]heat.Load, error) {
	m := &load.Meter{Runner: live.NewCommandRunner(s.Client), Clock: s.Clock}
	return m.Read
}

// runnerForChanges returns the runner for the commands of a read. A read that starts the sampling of
// queries changes the cluster: its commands are checked by guards and policies, and are written to the
// audit log.
func (h Heat) runnerForChanges(ctx context.Context, source Source, names []string) (
	runner live.CommandRunner, ended func(stopped string, err error) error, err error) {
	switch {
	case h.SamplesPerSecond == 0:
		return live.NewCommandRunner(source.Client), func(_ string, err error) error { return err }, nil
	case source.WritableCluster == nil:
		return nil, nil, refuse("{sample} changes the cluster, which is not allowed here")
	}
	c := *source.WritableCluster
	if err := c.checkPermittedNow(ctx, consent.Request{Verb: heatVerb, Namespaces: names}); err != nil {
		return nil, nil, err
	}
	if c, ended, err = c.beginAudited(ctx, runStart{verb: heatVerb, namespaces: names}); err != nil {
		return nil, nil, err
	}
	return c.runner(), ended, nil
}

// heatVerb is the verb in policies and audit logs.
const heatVerb = "heat"

// literalNames returns the names if none of them is a pattern.
func literalNames(names []string) []string {
	if slices.ContainsFunc(names, func(n string) bool { return strings.ContainsAny(n, "*?[") }) {
		return nil
	}
	return names
}

func (h Heat) describe(r load.CollectionLoad, by heat.LoadKind) CollectionHeat {
	m := &r.Map
	w := m.WeightsFor(by)
	c := CollectionHeat{Namespace: m.Namespace, Total: m.Total, ScatteredShare: heat.Load(m.ScatteredShare), Map: m,
		Monotonic: m.Monotonic, Findings: diagnosis.HeatFindings(m, by), Shards: []ShardLoad{}, Chunks: []ChunkLoad{},
		Source: HeatSource{Counters: m.Counted, Samples: m.Samples - m.InsertSamples, InsertSamples: m.InsertSamples,
			Logged:           r.FromLogs,
			SamplesPerSecond: r.Analyzer.SamplesPerSecond, Notes: r.Notes}}
	if !r.Analyzer.On && c.Source.Samples == 0 && len(h.Logs) == 0 {
		c.Source.SamplesPerSecond = 0
		c.Source.SamplingCommand = samplingCommand(m.Namespace)
	}
	if c.Source.Samples > 0 {
		course := heat.MakeGrid(r.Input, m, maxGridRanges, maxGridTimes)
		for i := range course.Ranges {
			course.Ranges[i].MinText = boundText(m, course.Ranges[i].Min)
		}
		c.OverTime = &course
	}
	mean := m.Mean(w)
	for _, s := range m.Shards {
		one := ShardLoad{s.Shard, s.Load, s.Scatter, s.Unplaced, 0, s.BusySecondsPerSecond, s.Chunks}
		if mean > 0 {
			one.LoadOfMean = w.Weigh(s.Load) / mean
		}
		c.Shards = append(c.Shards, one)
	}
	top := h.Top
	if top == 0 {
		top = 10
	}
	for _, k := range m.Hottest(w, top) {
		if k.Samples == 0 || c.Source.Samples == 0 {
			break
		}
		c.Chunks = append(c.Chunks, ChunkLoad{boundText(m, k.Min), boundText(m, k.Max), k.Shard, k.Load, k.TotalInterval,
			int(k.Samples + 0.5)})
	}
	for _, k := range m.HotKeys {
		c.HotKeys = append(c.HotKeys, HotKeyLoad{boundText(m, k.Key), k.Shard, k.Load, k.LoadOfMean, k.Samples})
	}
	return c
}

// maxGridRanges and maxGridTimes are the maximum numbers of key ranges and time intervals of a heat map.
const (
	maxGridRanges = 40
	maxGridTimes  = 60
)

func boundText(m *heat.Map, k catalog.Key) string { return humanize.Literal(m.Pattern.Bound(k)) }
