package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/heat"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// Overview is the summary of a cluster. Lists have the worst elements first, so that shortened lists
// lose only what needs no attention.
type Overview struct {
	// Source is the address or the file. Version is the version of the router.
	Source    string    `json:"source"`
	ClusterID string    `json:"clusterId,omitzero"`
	Version   string    `json:"version"`
	Time      time.Time `json:"time"` // the cluster's time
	Balancer  Balancer  `json:"balancer"`
	// Totals are the sums over all shards and collections.
	Totals      Totals             `json:"totals"`
	Shards      []Shard            `json:"shards"`
	Collections []Collection       `json:"collections"`
	UnderWay    []RunningOperation `json:"underWay"`
	History     DayHistory         `json:"history"`
	// Deletions are the pending range deletions, if they are known.
	Deletions      []Deletion `json:"deletions"`
	DeletionsKnown bool       `json:"deletionsKnown"`
	// Answer says what is wrong, with all causes.
	Answer diagnosis.Answer `json:"why"`
	// Forecasts are the forecasts until the cluster is balanced, and until each draining shard is
	// drained. Forecasts and Plan are empty if they were not requested, or if they could not be
	// computed; Unread says why.
	Forecasts []forecast.Forecast `json:"forecasts"`
	Plan      *plan.Plan          `json:"-"`
	Planned   *plan.Totals        `json:"planned,omitzero"` // the totals of the Plan
	Unread    []string            `json:"unread"`
	// Heat is the load of collections; empty if it was not requested.
	Heat []Heat `json:"heat,omitempty"`
	// Operations are the operations a second of each shard, summed over the measured collections; nil
	// if they were not requested.
	Operations map[catalog.ShardID]heat.Load `json:"operations,omitempty"`
	// Maps are the chunk maps of the worst collections; nil if they were not requested.
	Maps []ChunkMap `json:"-"`
}

// Balancer describes the balancer.
type Balancer struct {
	Mode    string `json:"mode"`
	InRound bool   `json:"inRound"`
	Rounds  int64  `json:"rounds"`
	// Window describes when the balancer may move chunks; empty means always. Opens is when the window
	// opens; zero while it is open.
	Window string    `json:"window,omitzero"`
	Opens  time.Time `json:"opens,omitzero"`
	// OpeningInexact says that Opens is the latest possible time, because the time zone is unknown.
	OpeningInexact bool `json:"unplaced,omitzero"`
}

// Totals are sums over a cluster.
type Totals struct {
	Holding
	Shards      int `json:"shards"`
	Collections int `json:"collections"` // the sharded collections
	NotBalanced int `json:"notBalanced"`
}

// Holding is an amount of data. Bytes and Documents do not include Orphans.
type Holding struct {
	Bytes       int64 `json:"bytes"`
	Documents   int64 `json:"documents"`
	Chunks      int64 `json:"chunks"`
	Jumbo       int64 `json:"jumboChunks"`
	Orphans     int64 `json:"orphans"`
	OrphanBytes int64 `json:"orphanBytes"`
}

func (h *Holding) add(o Holding) {
	h.Bytes, h.Documents = h.Bytes+o.Bytes, h.Documents+o.Documents
	h.Chunks, h.Jumbo = h.Chunks+o.Chunks, h.Jumbo+o.Jumbo
	h.Orphans, h.OrphanBytes = h.Orphans+o.Orphans, h.OrphanBytes+o.OrphanBytes
}

// RunningOperation is a running operation.
type RunningOperation struct {
	// Kind is moveChunk, or the command on a whole collection.
	Kind      string          `json:"kind"`
	Namespace string          `json:"ns"`
	From      catalog.ShardID `json:"from,omitzero"`
	To        catalog.ShardID `json:"to,omitzero"`
	Min       string          `json:"min,omitzero"`
	State     string          `json:"state,omitzero"` // in the server's words
	Since     time.Time       `json:"since,omitzero"`
	// Copied of Total bytes are done; 0 if they are unknown.
	Copied int64 `json:"copied,omitzero"`
	Total  int64 `json:"total,omitzero"`
	// Remaining is the server's estimate, or else is based on the duration of the last moves; 0 if
	// there is none.
	Remaining time.Duration `json:"remainingNanos,omitzero"`
}

// Deletion sums up the pending range deletions of a collection on a shard.
type Deletion struct {
	Shard     catalog.ShardID `json:"shard"`
	Namespace string          `json:"ns"`
	Ranges    int             `json:"ranges"`
	Orphans   int64           `json:"orphans"`
	Running   int             `json:"running"` // ranges that are being deleted
}

// maxDrains is the maximum number of draining shards with a forecast.
const maxDrains = 3

// AddForecastsAndPlan adds forecasts and a plan. watch observes the simulations; it may be nil. The returned
// error is that of watch.
func (o *Overview) AddForecastsAndPlan(s *catalog.Snapshot, watch sim.ProgressFunc) error {
	var ended error
	seen := func(p sim.Progress) error {
		if watch != nil {
			ended = watch(p)
		}
		return ended
	}
	o.addForecast(s, plan.Goal{Kind: plan.Balance}, seen)
	drains := 0
	for _, shard := range o.Shards {
		if shard.Draining && drains < maxDrains && ended == nil {
			o.addForecast(s, plan.Goal{Kind: plan.Drain, Shard: shard.ID}, seen)
			drains++
		}
	}
	if ended != nil {
		return ended
	}
	planned, err := plan.Make(s, plan.Options{OnProgress: seen})
	if err != nil {
		o.Unread = append(o.Unread, err.Error())
		return ended
	}
	o.Plan, o.Planned = planned, &planned.Totals
	return nil
}

func (o *Overview) addForecast(s *catalog.Snapshot, goal plan.Goal, watch sim.ProgressFunc) {
	f, err := forecast.Make(s, forecast.Options{Goal: goal, OnProgress: watch})
	if err != nil {
		o.Unread = append(o.Unread, err.Error())
		return
	}
	o.Forecasts = append(o.Forecasts, f)
}

// AddMaps adds maps of the worst collections.
func (o *Overview) AddMaps(s *catalog.Snapshot) {
	for _, c := range o.Collections[:min(len(o.Collections), maxDrawnCollections)] {
		coll := s.Collection(c.Namespace)
		o.Maps = append(o.Maps, NewChunkMap(coll, coll.ChunkSize(s.Settings()), mapCells))
	}
}

// NewOverview returns the overview of a cluster without forecasts, a plan and maps, which take longer.
func NewOverview(s *catalog.Snapshot) *Overview {
	p := s.Parts()
	o := &Overview{
		Source: p.Source.Name, Version: p.Version, Time: p.Time,
		Balancer: balancerOf(s), Answer: diagnosis.Why(s, diagnosis.Scope{}),
		History: NewDayHistory(s), DeletionsKnown: p.DeletionsKnown,
		Forecasts: []forecast.Forecast{}, Unread: []string{},
	}
	if !p.ClusterID.IsZero() {
		o.ClusterID = p.ClusterID.Hex()
	}
	o.Unread = append(o.Unread, catalog.GapTexts(p.Source.Gaps)...)
	o.Collections = CollectionsOf(s)
	o.Shards = ShardsOf(s, o.Collections)
	o.Totals = o.totals()
	o.UnderWay = runningOperations(s, o.History)
	o.Deletions = deletionsOf(p.Deletions)
	return o
}

func balancerOf(s *catalog.Snapshot) Balancer {
	state := s.Parts().Balancer
	b := Balancer{
		Mode: string(diagnosis.ModeOf(s)), InRound: state.InRound, Rounds: state.Rounds, Window: s.WindowText(),
	}
	if o := s.NextOpening(); !o.Never && !o.Latest.Equal(s.Time()) {
		b.OpeningInexact = !o.IsExact()
		b.Opens = o.Latest
	}
	return b
}

func (o *Overview) totals() Totals {
	t := Totals{Shards: len(o.Shards)}
	for _, c := range o.Collections {
		t.add(c.Holding)
		if !c.Unsplittable {
			t.Collections++
		}
		if c.State == NotBalanced || c.State == BalancingDisabled {
			t.NotBalanced++
		}
	}
	return t
}

func runningOperations(s *catalog.Snapshot, h DayHistory) []RunningOperation {
	list := []RunningOperation{}
	for _, r := range s.Parts().Reshardings {
		list = append(list, RunningOperation{
			Kind: r.Kind, Namespace: r.Namespace, State: r.State, Since: r.Since,
			Copied: r.CopiedBytes, Total: r.TotalBytes, Remaining: r.Remaining,
		})
	}
	for _, m := range s.Parts().Migrations {
		one := RunningOperation{Kind: "moveChunk", Namespace: m.Namespace, From: m.From, To: m.To, Since: m.Since}
		if len(m.Min) > 0 {
			one.Min = humanize.Literal(m.Min)
		}
		if usual := h.MedianDuration(m.Namespace); usual > 0 && !m.Since.IsZero() {
			one.Remaining = max(0, usual-s.Time().Sub(m.Since))
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b RunningOperation) int { return a.Since.Compare(b.Since) })
	return list
}

func deletionsOf(all []catalog.RangeDeletion) []Deletion {
	type place struct {
		shard catalog.ShardID
		ns    string
	}
	sums := map[place]*Deletion{}
	for _, d := range all {
		at := place{d.Shard, d.Namespace}
		if sums[at] == nil {
			sums[at] = &Deletion{Shard: d.Shard, Namespace: d.Namespace}
		}
		sums[at].Ranges++
		sums[at].Orphans += d.Orphans
		if d.Processing {
			sums[at].Running++
		}
	}
	list := []Deletion{}
	for _, d := range sums {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b Deletion) int {
		return cmp.Or(cmp.Compare(b.Orphans, a.Orphans), cmp.Compare(b.Ranges, a.Ranges),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(string(a.Shard), string(b.Shard)))
	})
	return list
}
