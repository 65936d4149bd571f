package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
)

// Options say what is read, and set limits.
type Options struct {
	// Duration is the time between the two reads of the counters; zero means a minute.
	Duration time.Duration
	// MaxSampleAge is the maximum age of samples; zero means an hour.
	MaxSampleAge time.Duration
	// MaxSamples and MaxDocuments limit what is read of a collection: by default 50,000 sampled
	// queries, and 1,000 of the newest documents of each shard.
	MaxSamples, MaxDocuments int
	// SamplesPerSecond is the rate, in queries per second, at which queries are sampled during the count in
	// collections that are not sampled yet; 0 starts no sampling.
	SamplesPerSecond float64
	// Logged contains operations from logs, by collection. They replace sampled queries.
	Logged map[string][]heat.LoggedOperation
	Clock  pace.Clock
	// OnPhase is called with a description of each phase; may be nil.
	OnPhase func(string)
}

// CollectionLoad is the load of one collection.
type CollectionLoad struct {
	// Input contains the data that were read. Map is the load map computed from them.
	Input heat.Input
	Map   heat.Map
	// Analyzer is the state of query sampling, as set with configureQueryAnalyzer.
	Analyzer Analyzer
	// FromLogs says that the samples are from logs.
	FromLogs bool
	// Notes describe data that could not be read, with reasons.
	Notes []string
}

// Analyzer is an entry of config.queryAnalyzers.
type Analyzer struct {
	On               bool
	SamplesPerSecond float64 // maximum number of samples per second
	Since            time.Time
	// Temporary says that the sampling was started for this read only.
	Temporary bool
}

// samplerRefreshDelay and sampleWriteDelay add up to the delay until the sample of a query can be read:
// routers learn within 10 s that they have to sample (queryAnalysisSamplerConfigurationRefreshSecs),
// and shards write samples every 90 s (queryAnalysisWriterIntervalSecs).
const (
	samplerRefreshDelay = 10 * time.Second
	sampleWriteDelay    = 90 * time.Second
)

// These are the time limits of reads, since a command to all shards waits for a shard that is down.
// After the first timeout, laterReadTimeout applies to all other reads.
const (
	samplesTimeout      = 15 * time.Second
	readTimeout         = 5 * time.Second
	laterReadTimeout    = time.Second
	stopSamplingTimeout = 30 * time.Second // to stop sampling
)

// withLimit returns a context with a time limit for a read; done records its outcome.
func (r *loadReader) withLimit(ctx context.Context, most time.Duration) (limited context.Context, done func(error)) {
	if r.timedOut {
		most = min(most, laterReadTimeout)
	}
	limited, cancel := context.WithTimeout(ctx, most) // the driver sends the deadline as maxTimeMS
	return limited, func(err error) {
		r.timedOut = r.timedOut || err != nil && limited.Err() != nil || mongo.IsTimeout(err)
		cancel()
	}
}

// runCursorCommand returns the documents of a command, with a time limit.
func (r *loadReader) runCursorCommand(
	ctx context.Context,
	most time.Duration,
	db string,
	command bson.D,
) ([]bson.Raw, error) {
	limited, done := r.withLimit(ctx, most)
	docs, err := r.runner.RunCursorCommand(limited, db, command)
	done(err)
	return docs, err
}

// loadReader is a read in progress.
type loadReader struct {
	Options
	runner   live.CommandRunner
	snapshot *catalog.Snapshot

	collections []*collection
	timedOut    bool // a read has timed out: later reads get less time
}

type collection struct {
	ns, db, name string
	state        *catalog.CollectionState
	before       map[catalog.ShardID]live.OperationCounts
	began        time.Time // start of the count
	result       CollectionLoad
	samples      []heat.Sample // of queries
	inserts      []heat.Sample
	from, until  time.Time // period of the samples; until is zero for now
}

// Read reads the load of collections. The snapshot must contain their routing tables.
func Read(ctx context.Context, r live.CommandRunner, snapshot *catalog.Snapshot, namespaces []string, o Options) (
	list []CollectionLoad, err error) {
	o.Duration, o.MaxSampleAge = cmp.Or(o.Duration, time.Minute), cmp.Or(o.MaxSampleAge, time.Hour)
	o.MaxSamples, o.MaxDocuments = cmp.Or(o.MaxSamples, 50_000), cmp.Or(o.MaxDocuments, 1000)
	if o.OnPhase == nil {
		o.OnPhase = func(string) {}
	}
	rd := &loadReader{Options: o, runner: r, snapshot: snapshot}
	for _, ns := range namespaces {
		state := snapshot.Collection(ns)
		db, name, err := catalog.SplitNamespace(ns)
		if err != nil || state == nil || state.Table == nil {
			return nil, fmt.Errorf("the chunks of %s were not read", ns)
		}
		rd.collections = append(rd.collections, &collection{ns: ns, db: db, name: name, state: state})
	}
	end, err := rd.startSampling(ctx)
	defer end()
	if err != nil {
		return nil, err
	}
	if err := rd.readCountersAndWait(ctx); err != nil {
		return nil, err
	}
	for _, c := range rd.collections {
		if err := rd.readSamples(ctx, c); err != nil {
			return nil, err
		}
		if err := rd.readNewestDocs(ctx, c); err != nil {
			return nil, err
		}
		rd.estimate(ctx, c)
		list = append(list, c.result)
	}
	return list, ctx.Err()
}

// noteUnread records data that could not be read. It returns an error only if the context has ended.
func (c *collection) noteUnread(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.result.Notes = append(c.result.Notes, fmt.Sprintf("%s could not be read: %v", what, err))
	return nil
}

// interruptedStopTimeout is the maximum time for stopping the sampling after the user has ended a run.
const interruptedStopTimeout = 2 * time.Second

// ReadSampledCollections returns the collections whose queries are sampled; none if they can't be read.
func ReadSampledCollections(ctx context.Context, r live.CommandRunner) (names []string) {
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	docs, err := r.RunCursorCommand(limited, "config", bson.D{{Key: "find", Value: "queryAnalyzers"},
		{Key: "filter", Value: bson.D{{Key: "mode", Value: "full"}}}})
	if err != nil {
		return nil
	}
	for _, doc := range docs {
		if ns, ok := doc.Lookup("_id").StringValueOK(); ok {
			names = append(names, ns)
		}
	}
	return names
}

// startSampling reads which collections have query sampling, and starts it where requested. end stops
// it again.
func (r *loadReader) startSampling(ctx context.Context) (end func(), err error) {
	var asked []*collection
	end = func() {
		ending, cancel := live.OutlivingContext(ctx, ctx, interruptedStopTimeout)
		defer cancel()
		for _, c := range asked {
			limited, cancel := context.WithTimeout(ending, stopSamplingTimeout)
			_, err := r.runner.RunCommand(limited, "admin",
				bson.D{{Key: "configureQueryAnalyzer", Value: c.ns}, {Key: "mode", Value: "off"}})
			cancel()
			if err != nil {
				r.OnPhase(fmt.Sprintf("queries of %s are still sampled: %v", c.ns, err))
			}
		}
	}
	if !r.snapshot.Release().FCVAtLeast(catalog.Release70) {
		return end, nil
	}
	for _, c := range r.collections {
		docs, err := r.runCursorCommand(ctx, readTimeout, "config", bson.D{{Key: "find", Value: "queryAnalyzers"},
			{Key: "filter", Value: bson.D{{Key: "_id", Value: c.ns}}}})
		if err != nil {
			if err := c.noteUnread(ctx, "config.queryAnalyzers", err); err != nil {
				return end, err
			}
		}
		for _, doc := range docs {
			mode, _ := doc.Lookup("mode").StringValueOK()
			c.result.Analyzer.On = mode == "full"
			c.result.Analyzer.SamplesPerSecond, _ = doc.Lookup("samplesPerSecond").AsFloat64OK()
			c.result.Analyzer.Since, _ = doc.Lookup("startTime").TimeOK()
		}
		if c.result.Analyzer.On || r.SamplesPerSecond <= 0 {
			continue
		}
		_, err = r.runner.RunCommand(ctx, "admin", bson.D{{Key: "configureQueryAnalyzer", Value: c.ns},
			{Key: "mode", Value: "full"}, {Key: "samplesPerSecond", Value: r.SamplesPerSecond}})
		if err != nil {
			if !errors.As(live.ServerError(err), new(*mongoerr.ServerError)) {
				asked = append(asked, c) // without a reply, the sampling may have started
			}
			return end, err
		}
		asked = append(asked, c)
		c.result.Analyzer = Analyzer{On: true, Temporary: true, SamplesPerSecond: r.SamplesPerSecond, Since: r.Clock.Now()}
	}
	return end, nil
}

// readCountersAndWait reads the operation counters, and then waits for Duration.
func (r *loadReader) readCountersAndWait(ctx context.Context) (err error) {
	for _, c := range r.collections {
		c.began = r.Clock.Now()
		if c.before, err = r.readCounters(ctx, c); err != nil {
			return err
		}
	}
	asked := slices.ContainsFunc(r.collections, func(c *collection) bool { return c.result.Analyzer.Temporary })
	counted := slices.ContainsFunc(r.collections, func(c *collection) bool { return c.before != nil })
	wait := r.Duration
	switch {
	case !counted && !asked:
		return nil // no shard answered
	case asked:
		wait += samplerRefreshDelay + sampleWriteDelay
	}
	r.OnPhase("counting for " + humanize.Duration(wait))
	return r.Clock.Sleep(ctx, wait)
}

// readSamples reads the sampled queries, or takes the operations of logs.
func (r *loadReader) readSamples(ctx context.Context, c *collection) error {
	if r.Logged != nil {
		r.samplesFromLogs(c)
		return nil
	}
	if !r.snapshot.Release().FCVAtLeast(catalog.Release70) {
		return nil
	}
	c.from = r.Clock.Now().Add(-r.MaxSampleAge)
	r.OnPhase("reading the sampled queries of " + c.ns)
	docs, err := r.runCursorCommand(ctx, samplesTimeout, "admin",
		bson.D{{Key: "aggregate", Value: int32(1)}, {Key: "pipeline",
			Value: bson.A{
				bson.D{{Key: "$listSampledQueries", Value: bson.D{{Key: "namespace", Value: c.ns}}}},
				bson.D{{Key: "$match", Value: bson.D{{Key: "expireAt", Value: bson.D{{Key: "$gte",
					Value: bson.NewDateTimeFromTime(c.from.Add(heat.SampleExpiration))}}}}}},
				bson.D{{Key: "$sort", Value: bson.D{{Key: "expireAt", Value: int32(-1)}}}},
				bson.D{{Key: "$limit", Value: int32(r.MaxSamples)}},
				bson.D{{Key: "$project", Value: bson.D{{Key: "cmdName", Value: 1}, {Key: "expireAt", Value: 1},
					{Key: "cmd.filter", Value: 1}, {Key: "cmd.collation", Value: 1}, {Key: "cmd.query", Value: 1},
					{Key: "cmd.remove", Value: 1}, {Key: "cmd.updates.q", Value: 1}, {Key: "cmd.updates.collation", Value: 1},
					{Key: "cmd.deletes.q", Value: 1}, {Key: "cmd.deletes.collation", Value: 1}}}},
			}}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: int32(10_000)}}}})
	if err != nil {
		return c.noteUnread(ctx, "the sampled queries", err)
	}
	for _, doc := range docs {
		for _, s := range heat.ParseSampledQuery(doc) {
			c.samples = append(c.samples, heat.NewSample(c.state.Pattern, s))
		}
	}
	if len(c.samples) > 0 {
		c.from = slices.MinFunc(c.samples, func(a, b heat.Sample) int { return a.At.Compare(b.At) }).At
	}
	return nil
}

func (r *loadReader) samplesFromLogs(c *collection) {
	lines := r.Logged[c.ns]
	if len(lines) == 0 {
		c.result.Notes = append(c.result.Notes, "the logs have no operation of "+c.ns+" with a filter")
		return
	}
	c.result.FromLogs, c.from, c.until = true, lines[0].At, lines[len(lines)-1].At
	c.samples = heat.SamplesOf(c.state.Table, lines)
}

// readNewestDocs reads documents that were inserted during the count, because inserts are not sampled.
// It requires ObjectIds in _id, which contain the time.
func (r *loadReader) readNewestDocs(ctx context.Context, c *collection) error {
	projection := bson.D{{Key: "_id", Value: 1}}
	for _, field := range c.state.Pattern.Fields() {
		if field != "_id" {
			projection = append(projection, bson.E{Key: field, Value: 1})
		}
	}
	since := bson.NewObjectIDFromTimestamp(c.began.Truncate(time.Second))
	copy(since[4:], make([]byte, 8))
	docs, err := r.runCursorCommand(ctx, readTimeout, c.db, bson.D{{Key: "find", Value: c.name},
		{Key: "filter", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: since}}}}},
		{Key: "projection", Value: projection}, {Key: "sort", Value: bson.D{{Key: "_id", Value: -1}}},
		{Key: "limit", Value: int32(r.MaxDocuments)}})
	if err != nil {
		return c.noteUnread(ctx, "the newest documents", err)
	}
	for _, doc := range docs {
		id, isID := doc.Lookup("_id").ObjectIDOK()
		if !isID {
			continue
		}
		if s, ok := heat.NewInsertSample(c.state.Pattern, doc, id.Timestamp()); ok {
			c.inserts = append(c.inserts, s)
		}
	}
	return nil
}
