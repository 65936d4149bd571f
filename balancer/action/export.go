package action

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"shardsh/balancer/advisory"
	"shardsh/balancer/apply"
	"shardsh/balancer/check"
	"shardsh/balancer/export"
	"shardsh/balancer/report/machine"
)

// The defaults of Export.
const (
	DefaultExportEvery       = 30 * time.Second
	DefaultExportCollections = 20
	DefaultForecastEvery     = 5 * time.Minute
	DefaultReadTimeout       = time.Minute
)

// Export reads clusters periodically, and serves their metrics to Prometheus. It changes nothing.
type Export struct {
	// Policy contains the rules that each cluster is checked against, and says which collections count.
	Policy *check.Policy
	// AdvisoriesFile is a file that adds known server faults or mutes some.
	AdvisoriesFile string
	// Every is the interval at which a cluster is read. A cluster that takes long to read is read less
	// often: reading takes at most a fifth of the time.
	Every time.Duration
	// StaleAfter is the age from which values are no longer exported; zero means five times Every.
	// Values of a cluster that is slow to read are exported for ten times the duration of a read.
	StaleAfter time.Duration
	// Timeout is the maximum duration of a read.
	Timeout time.Duration
	// ForecastEvery is the interval at which the time to balance is computed; zero means never.
	ForecastEvery time.Duration
	// MaxCollections is the number of collections with their own series; the worst collections are chosen.
	MaxCollections int
	// Heat counts the operations of shards.
	Heat  bool
	Clock apply.Clock
	Log   *slog.Logger
	// DescribeError returns the text of an error without secrets.
	DescribeError func(error) string
}

// Target is a cluster to read.
type Target struct {
	// Name is the value of the label cluster. Labels contains further labels, as alternating names and
	// values.
	Name   string
	Labels []string
	// Identity distinguishes targets of the same name.
	Identity string
	// Open connects to the cluster. It is called again after a failed read.
	Open func(ctx context.Context) (source Source, done func(), err error)
}

// minExportInterval is the minimum interval at which a cluster is read.
const minExportInterval = time.Second

// Validate checks the options.
func (e Export) Validate() error {
	switch {
	case e.Every < minExportInterval:
		return refuse("{every} takes at least %v", minExportInterval)
	case e.StaleAfter != 0 && e.StaleAfter <= e.Every:
		return refuse("{stale} has to be longer than {every}, %v", e.Every)
	case e.Timeout <= 0:
		return refuse("{timeout} takes a time above 0")
	case e.ForecastEvery < 0:
		return refuse("{forecast} takes a time, or 0 for never")
	case e.MaxCollections < 0:
		return refuse("{collections} must be a number of collections, not negative")
	}
	return nil
}

// Exporter reads clusters independently of each other, and returns the latest metrics at any time.
type Exporter struct {
	Export
	advisories    advisory.List
	families      []machine.Family // without samples
	ctx           context.Context
	cancel        context.CancelFunc
	work          sync.WaitGroup
	forecastQueue chan *exportTarget // targets whose forecast is due

	mu           sync.Mutex
	clusters     []*exportTarget
	lastReloadOK bool
}

// Start returns an Exporter without clusters. Close ends it.
func (e Export) Start(ctx context.Context) (*Exporter, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if e.StaleAfter == 0 {
		e.StaleAfter = 5 * e.Every
	}
	faults, err := LoadAdvisories(e.AdvisoriesFile)
	if err != nil {
		return nil, err
	}
	x := &Exporter{
		Export:        e,
		advisories:    faults,
		families:      export.ClusterReading{}.Families(0),
		forecastQueue: make(chan *exportTarget),
		lastReloadOK:  true,
	}
	x.ctx, x.cancel = context.WithCancel(ctx)
	x.work.Go(x.runForecasts)
	return x, nil
}

// Close cancels all reads and waits for their end.
func (e *Exporter) Close() {
	e.cancel()
	e.work.Wait()
}

// SetTargets sets the clusters to read. Clusters that were read before continue without interruption.
func (e *Exporter) SetTargets(targets []Target) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := map[string]*exportTarget{}
	for _, c := range e.clusters {
		before[c.target.Name] = c
	}
	e.clusters, e.lastReloadOK = nil, true
	for _, t := range targets {
		c := before[t.Name]
		if c != nil && c.target.Identity == t.Identity {
			delete(before, t.Name)
		} else {
			c = e.startTarget(t)
		}
		e.clusters = append(e.clusters, c)
	}
	for _, c := range before {
		c.cancel()
	}
}

// RecordReloadFailure records that reloading the targets has failed; the previous targets stay.
func (e *Exporter) RecordReloadFailure() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastReloadOK = false
}

func (e *Exporter) startTarget(t Target) *exportTarget {
	c := &exportTarget{Exporter: e, target: t, up: true}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(e.ctx)
	e.work.Go(func() { c.run(ctx) })
	return c
}

// ReadTargetsOnce reads clusters once; it is used instead of SetTargets.
func (e *Exporter) ReadTargetsOnce(ctx context.Context, targets []Target) {
	var reading sync.WaitGroup
	for _, t := range targets {
		c := &exportTarget{Exporter: e, target: t, up: true, cancel: func() {}}
		e.clusters = append(e.clusters, c)
		reading.Go(func() {
			defer c.disconnect()
			if c.readAndRecord(ctx); e.ForecastEvery > 0 && c.snapshot != nil {
				c.forecast(ctx)
				c.last.Forecast = c.outlook
				c.publish(c.last)
			}
		})
	}
	reading.Wait()
}

// runForecasts computes the requested forecasts one at a time.
func (e *Exporter) runForecasts() {
	for {
		select {
		case <-e.ctx.Done():
			return
		case c := <-e.forecastQueue:
			c.forecast(e.ctx)
		}
	}
}
