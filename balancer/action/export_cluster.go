package action

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/export"
	"shardsh/balancer/forecast"
	"shardsh/balancer/heat"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// exportTarget is a cluster that is read repeatedly. The fields above mu belong to the goroutine that
// reads the cluster.
type exportTarget struct {
	*Exporter
	target Target
	cancel context.CancelFunc

	source      Source
	done        func() // nil if not connected
	readers     [2]*live.Reader
	meter       func(context.Context, *catalog.Snapshot) (map[catalog.ShardID]heat.Load, error)
	flagsReadAt time.Time // when all chunks were last read for their flags
	moves       export.Moves
	lastLogged  string // the last error that was logged
	last        export.ClusterReading

	mu          sync.Mutex
	snapshot    *catalog.Snapshot // the last snapshot; nil if there is none
	outlook     *forecast.Forecast
	forecastAt  time.Time
	forecasting bool
	lines       [][]byte // of each family
	up          bool
	read        time.Time // when lines were read
	took        time.Duration
	readTook    time.Duration // duration of the last successful read
	reads       int
	failures    int
}

const (
	// exportParts are the parts of a snapshot that each read reads.
	exportParts = live.DefaultParts&^(live.Flags|live.CollectionSizes) | live.Drains
	// flagsEvery is the interval at which the flags of chunks are read. Flags change without a new
	// version of the chunk.
	flagsEvery = 5 * time.Minute
	// restFactor is the ratio of the pause after a read to the duration of the read.
	restFactor = 4
	// staleReadFactor is the minimum lifetime of values, as a multiple of the duration of a read.
	staleReadFactor = 2 * (restFactor + 1)
	// logEntries is the maximum number of entries that are read of each log.
	logEntries = 20_000
)

// run reads the cluster until ctx ends.
func (c *exportTarget) run(ctx context.Context) {
	defer c.disconnect()
	for ctx.Err() == nil {
		began := c.Clock.Now()
		c.readAndRecord(ctx)
		c.askForecast(ctx)
		took := c.Clock.Now().Sub(began)
		_ = c.Clock.Sleep(ctx, max(c.Every-took, restFactor*took)) // returns when ctx ends
	}
}

func (c *exportTarget) disconnect() {
	if c.done != nil {
		c.done()
		c.done = nil
	}
}

// readAndRecord reads the cluster once.
func (c *exportTarget) readAndRecord(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	began := c.Clock.Now()
	err := mongoerr.CatchPanic(nil, "reading the cluster", func() error { return c.readOnce(bounded) })
	if ctx.Err() != nil {
		return
	}
	if err != nil && bounded.Err() != nil {
		err = fmt.Errorf("the read took more than %v", c.Timeout)
	}
	if err != nil {
		c.disconnect()
	}
	c.logTrouble(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	c.took, c.up = c.Clock.Now().Sub(began), err == nil
	if err != nil {
		c.failures++
	} else {
		c.read, c.readTook = c.Clock.Now(), c.took
	}
}

// logTrouble logs the first of several failed reads, and the first success afterwards.
func (c *exportTarget) logTrouble(err error) {
	text := ""
	if err != nil {
		text = c.Describe(err)
	}
	switch {
	case text == c.lastLogged:
	case text == "":
		c.Log.Info("the cluster can be read again", "cluster", c.target.Name)
	default:
		c.Log.Warn("the cluster can't be read", "cluster", c.target.Name, "error", text)
	}
	c.lastLogged = text
}

// readOnce reads the cluster and computes its metrics.
func (c *exportTarget) readOnce(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	s, err := c.readSince(ctx)
	if err != nil {
		return err
	}
	cluster := check.Cluster{Diagnosis: diagnosis.Diagnose(s), MetadataUnsupported: "the exporter does not ask for it",
		NotAuditedReason: "the exporter does not ask for it", Advisories: &c.advisories}
	r := export.ClusterReading{Report: c.Policy.Check(c.target.Name, cluster), Moves: &c.moves}
	if !isMock(s) {
		r.Advisories = c.advisories.Matching(advisory.Cluster{Snapshot: s})
	}
	c.moves.Add(s.Parts().Changes)
	if c.meter != nil {
		if r.Operations, err = c.meter(ctx, s); err != nil {
			return err
		}
	}
	c.mu.Lock()
	r.Forecast, c.snapshot = c.outlook, s
	c.mu.Unlock()
	c.publish(r)
	return nil
}

func (c *exportTarget) open(ctx context.Context) (err error) {
	if c.done != nil {
		return nil
	}
	if c.source, c.done, err = c.target.Open(ctx); err != nil {
		c.done = nil
		return err
	}
	if c.source.Snapshot != nil {
		return errors.New("a snapshot file never changes: give the address of a cluster")
	}
	for i, parts := range []live.Part{exportParts, exportParts | live.Flags} {
		c.readers[i] = c.source.Reader(live.ReaderOptions{Parts: parts, Source: c.source.Origin, LogEntries: logEntries,
			Zone: c.source.Zone})
	}
	if c.Heat {
		c.meter = c.source.Meter()
	}
	return nil
}

// readSince reads what has changed since the last read.
func (c *exportTarget) readSince(ctx context.Context) (*catalog.Snapshot, error) {
	reader := c.readers[0]
	flags := c.Clock.Now().Sub(c.flagsReadAt) >= flagsEvery
	if flags {
		reader = c.readers[1]
	}
	c.mu.Lock()
	old := c.snapshot
	c.mu.Unlock()
	s, err := reader.ReadSince(ctx, old)
	if err == nil && old != nil && s.Parts().ClusterID != old.Parts().ClusterID {
		c.moves = export.Moves{} // the address belongs to another cluster now
		s, err = reader.Read(ctx)
	}
	if err == nil && flags {
		c.flagsReadAt = c.Clock.Now()
	}
	return s, err
}

// publish stores the lines of a reading for Write.
func (c *exportTarget) publish(r export.ClusterReading) {
	lines := c.linesOf(r)
	c.last = r
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = lines
}

// linesOf returns the lines of all families of a reading.
func (c *exportTarget) linesOf(r export.ClusterReading) [][]byte {
	lines := make([][]byte, len(c.families))
	for i, f := range r.Families(c.Collections) {
		for k, s := range f.Samples { // the label cluster comes first
			f.Samples[k].Labels = append(append(s.Labels[:2:2], c.target.Labels...), s.Labels[2:]...)
		}
		lines[i] = f.AppendSamples(nil)
	}
	return lines
}

// askForecast requests a forecast of the time to balance if one is due; if the worker is busy
// with another cluster, it is requested at the next read.
func (c *exportTarget) askForecast(ctx context.Context) {
	c.mu.Lock()
	due := c.ForecastEvery > 0 && c.up && c.snapshot != nil && !c.forecasting &&
		(c.forecastAt.IsZero() || c.Clock.Now().Sub(c.forecastAt) >= c.ForecastEvery)
	c.forecasting = c.forecasting || due
	c.mu.Unlock()
	if !due {
		return
	}
	select {
	case c.forecastQueue <- c:
	case <-ctx.Done():
	default: // requested again at the next read
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forecasting = false
	}
}

// forecast computes the time to balance. If the computation takes too long, there is no forecast.
func (c *exportTarget) forecast(ctx context.Context) {
	c.mu.Lock()
	s := c.snapshot
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var made *forecast.Forecast
	err := mongoerr.CatchPanic(nil, "the forecast", func() error {
		f, err := forecast.Make(s, forecast.Options{Watch: (&serial{}).watch(ctx)})
		if err == nil {
			made = &f
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		c.Log.Warn("no forecast", "cluster", c.target.Name, "error", c.Describe(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outlook, c.forecastAt, c.forecasting = made, c.Clock.Now(), false
}
