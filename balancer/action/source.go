package action

import (
	"context"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/sim"
)

// Source is the input of a read-only action: a cluster, or a Snapshot of one.
type Source struct {
	// Client is connected to the cluster; nil if Snapshot is set.
	Client *mongo.Client
	// ReadPreference is the read preference for large collections of config, if the user has chosen
	// one; nil means secondaries if they answer.
	ReadPreference *readpref.ReadPref
	// ClientOptions are the options of the client, for connections to members; with nil, members are not
	// read.
	ClientOptions *options.ClientOptions
	// Origin describes the origin of the cluster's Snapshots.
	Origin catalog.Source
	// Snapshot is a Snapshot that was read before, for example from a file.
	Snapshot *catalog.Snapshot
	// TimeZone is the time zone of the config servers, if the user has named it.
	TimeZone *time.Location
	// Clock is the cluster's clock, for repeated reads; nil if there is only a Snapshot.
	Clock apply.Clock
	// WritableCluster is the cluster for changes that a read-only verb makes on request, with guards, policies
	// and the audit log; nil refuses such changes.
	WritableCluster *Cluster
	// RunComputation, if set, wraps computations that take long or need much memory.
	RunComputation func(compute func() error) error

	report *serialReporter // gets the progress of a read; may be nil
	// maxFullTableChunks is the number of chunks up to which plans keep all routing tables; 0 means
	// defaultMaxFullTableChunks.
	maxFullTableChunks int64
}

// Read reads parts of the cluster. A Snapshot that was set is returned unchanged, except for its clock.
func (s Source) Read(ctx context.Context, o live.ReaderOptions) (*catalog.Snapshot, error) {
	if o.TimeZone == nil {
		o.TimeZone = s.TimeZone
	}
	if s.Snapshot != nil {
		return s.Snapshot.WithClock(o.TimeZone), nil
	}
	o.Source = s.Origin
	read, err := s.Reader(o).Read(ctx)
	if err != nil {
		return nil, &NoAnswerError{err}
	}
	return read, nil
}

// Reader returns a reader for repeated reads of parts of the cluster.
func (s Source) Reader(o live.ReaderOptions) *live.Reader {
	if s.report != nil {
		o.OnProgress = s.report.reportRead
	}
	o.MemberClientOptions = s.ClientOptions
	return live.NewSecondaryReader(s.Client, s.ReadPreference, o)
}

// readAndReport reads the cluster and reports the snapshot. timeZone is the one of the config servers; empty to
// determine it.
func (s Source) readAndReport(
	ctx context.Context, o live.ReaderOptions, timeZone string, r *serialReporter,
) (*catalog.Snapshot, error) {
	var err error
	if o.TimeZone, err = locationOf(timeZone); err != nil {
		return nil, err
	}
	s.report = r
	read, err := s.Read(ctx, o)
	if err == nil {
		r.Report(SnapshotRead{read})
	}
	return read, err
}

func (s Source) compute(work func() error) error {
	if s.RunComputation == nil {
		return work()
	}
	return s.RunComputation(work)
}

// hasCollection reports whether the cluster has a collection, according to the cluster.
func (s Source) hasCollection(ctx context.Context, ns string) bool {
	database, collection, named := strings.Cut(ns, ".")
	if !named || s.Client == nil {
		return false
	}
	names, err := s.Client.Database(database).ListCollectionNames(ctx, bson.D{{Key: "name", Value: collection}})
	return err == nil && len(names) > 0
}

// newSimWatch returns a function that reports the progress of a simulation, and ends the simulation with the
// context.
func (s *serialReporter) newSimWatch(ctx context.Context) sim.ProgressFunc {
	return func(p sim.Progress) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.Report(SimulationProgress{p})
		return nil
	}
}
