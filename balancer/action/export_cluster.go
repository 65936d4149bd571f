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
	closeSource func() // nil if not connected
	readers     [2]*live.Reader
	measureLoad func(context.Context, *catalog.Snapshot) (map[catalog.ShardID]heat.Load, error)
	flagsReadAt time.Time // when all chunks were last read for their flags
	moves       export.MoveCounter
	lastLogged  string // the last error that was logged
	last        export.ClusterReading

	mu          sync.Mutex
	snapshot    *catalog.Snapshot // the last snapshot; nil if there is none
	outlook     *forecast.Forecast
	forecastAt  time.Time
	forecasting bool
	lines       [][]byte // of each family
	up          bool
	readAt      time.Time // when lines were read
	attemptTook time.Duration
	readTook    time.Duration // duration of the last successful read
	reads       int
	failures    int
}

const (
	// exportParts are the parts of a snapshot that each read reads.
	exportParts = live.DefaultParts&^(live.ChunkFlags|live.CollectionSizes) | live.Drains
	// flagsEvery is the interval at which the flags of chunks are read. Flags change without a new
	// version of the chunk.
	flagsEvery = 5 * time.Minute
	// pauseFactor is the ratio of the pause after a read to the duration of the read.
	pauseFactor = 4
	// staleReadFactor is the minimum lifetime of values, as a multiple of the duration of a read.
	staleReadFactor = 2 * (pauseFactor + 1)
	// maxLogEntries is the maximum number of entries that are read of each log.
	maxLogEntries = 20_000
)

// run reads the cluster until ctx ends.
func (e *exportTarget) run(ctx context.Context) {
	defer e.disconnect()
	for ctx.Err() == nil {
		began := e.Clock.Now()
		e.readAndRecord(ctx)
		e.requestForecast(ctx)
		took := e.Clock.Now().Sub(began)
		_ = e.Clock.Sleep(ctx, max(e.Every-took, pauseFactor*took)) // returns when ctx ends
	}
}

func (e *exportTarget) disconnect() {
	if e.closeSource != nil {
		e.closeSource()
		e.closeSource = nil
	}
}

// readAndRecord reads the cluster once.
func (e *exportTarget) readAndRecord(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	began := e.Clock.Now()
	err := mongoerr.CatchPanic(nil, "reading the cluster", func() error { return e.readOnce(bounded) })
	if ctx.Err() != nil {
		return
	}
	if err != nil && bounded.Err() != nil {
		err = fmt.Errorf("the read took more than %v", e.Timeout)
	}
	if err != nil {
		e.disconnect()
	}
	e.logTrouble(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reads++
	e.attemptTook, e.up = e.Clock.Now().Sub(began), err == nil
	if err != nil {
		e.failures++
	} else {
		e.readAt, e.readTook = e.Clock.Now(), e.attemptTook
	}
}

// logTrouble logs the first of several failed reads, and the first success afterwards.
func (e *exportTarget) logTrouble(err error) {
	text := ""
	if err != nil {
		text = e.DescribeError(err)
	}
	switch {
	case text == e.lastLogged:
	case text == "":
		e.Log.Info("the cluster can be read again", "cluster", e.target.Name)
	default:
		e.Log.Warn("the cluster can't be read", "cluster", e.target.Name, "error", text)
	}
	e.lastLogged = text
}

// readOnce reads the cluster and computes its metrics.
func (e *exportTarget) readOnce(ctx context.Context) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	s, err := e.readSince(ctx)
	if err != nil {
		return err
	}
	cluster := check.Cluster{Diagnosis: diagnosis.Diagnose(s), MetadataUnsupported: "the exporter does not ask for it",
		NotAuditedReason: "the exporter does not ask for it", Advisories: &e.advisories}
	r := export.ClusterReading{Report: e.Policy.Check(e.target.Name, cluster), Moves: &e.moves}
	if !isMock(s) {
		r.Advisories = e.advisories.Matching(advisory.Cluster{Snapshot: s})
	}
	e.moves.Add(s.Parts().Changes)
	if e.measureLoad != nil {
		if r.Operations, err = e.measureLoad(ctx, s); err != nil {
			return err
		}
	}
	e.mu.Lock()
	r.Forecast, e.snapshot = e.outlook, s
	e.mu.Unlock()
	e.publish(r)
	return nil
}

func (e *exportTarget) open(ctx context.Context) (err error) {
	if e.closeSource != nil {
		return nil
	}
	if e.source, e.closeSource, err = e.target.Open(ctx); err != nil {
		e.closeSource = nil
		return err
	}
	if e.source.Snapshot != nil {
		return errors.New("a snapshot file never changes: give the address of a cluster")
	}
	for i, parts := range []live.Part{exportParts, exportParts | live.ChunkFlags} {
		e.readers[i] = e.source.Reader(live.ReaderOptions{Parts: parts, Source: e.source.Origin, MaxLogEntries: maxLogEntries,
			TimeZone: e.source.TimeZone})
	}
	if e.Heat {
		e.measureLoad = e.source.NewLoadMeter()
	}
	return nil
}

// readSince reads what has changed since the last read.
func (e *exportTarget) readSince(ctx context.Context) (*catalog.Snapshot, error) {
	reader := e.readers[0]
	flags := e.Clock.Now().Sub(e.flagsReadAt) >= flagsEvery
	if flags {
		reader = e.readers[1]
	}
	e.mu.Lock()
	old := e.snapshot
	e.mu.Unlock()
	s, err := reader.ReadSince(ctx, old)
	if err == nil && old != nil && s.Parts().ClusterID != old.Parts().ClusterID {
		e.moves = export.MoveCounter{} // the address belongs to another cluster now
		s, err = reader.Read(ctx)
	}
	if err == nil && flags {
		e.flagsReadAt = e.Clock.Now()
	}
	return s, err
}

// publish stores the lines of a reading for Write.
func (e *exportTarget) publish(r export.ClusterReading) {
	lines := e.linesOf(r)
	e.last = r
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = lines
}

// linesOf returns the lines of all families of a reading.
func (e *exportTarget) linesOf(r export.ClusterReading) [][]byte {
	lines := make([][]byte, len(e.families))
	for i, f := range r.Families(e.MaxCollections) {
		for k, s := range f.Samples { // the label cluster comes first
			f.Samples[k].Labels = append(append(s.Labels[:2:2], e.target.Labels...), s.Labels[2:]...)
		}
		lines[i] = f.AppendSamples(nil)
	}
	return lines
}

// requestForecast requests a forecast of the time to balance if one is due; if the worker is busy
// with another cluster, it is requested at the next read.
func (e *exportTarget) requestForecast(ctx context.Context) {
	e.mu.Lock()
	due := e.ForecastEvery > 0 && e.up && e.snapshot != nil && !e.forecasting &&
		(e.forecastAt.IsZero() || e.Clock.Now().Sub(e.forecastAt) >= e.ForecastEvery)
	e.forecasting = e.forecasting || due
	e.mu.Unlock()
	if !due {
		return
	}
	select {
	case e.forecastQueue <- e:
	case <-ctx.Done():
	default: // requested again at the next read
		e.mu.Lock()
		defer e.mu.Unlock()
		e.forecasting = false
	}
}

// forecast computes the time to balance. If the computation takes too long, there is no forecast.
func (e *exportTarget) forecast(ctx context.Context) {
	e.mu.Lock()
	s := e.snapshot
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	var made *forecast.Forecast
	err := mongoerr.CatchPanic(nil, "the forecast", func() error {
		f, err := forecast.Make(s, forecast.Options{OnProgress: (&serialReporter{}).newSimWatch(ctx)})
		if err == nil {
			made = &f
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		e.Log.Warn("no forecast", "cluster", e.target.Name, "error", e.DescribeError(err))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outlook, e.forecastAt, e.forecasting = made, e.Clock.Now(), false
}
