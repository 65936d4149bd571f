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
	// Client is connected to the cluster; nil where Snapshot is set.
	Client *mongo.Client
	// ReadPreference is the read preference for large collections of config, if one was chosen; nil is
	// secondaries, where they answer.
	ReadPreference *readpref.ReadPref
	// Settings are those of the client, with which members are reached; nil leaves them alone.
	Settings *options.ClientOptions
	// Origin is what Snapshots of the cluster say about where they come from.
	Origin catalog.Source
	// Snapshot is one that was read before, such as that of a file.
	Snapshot *catalog.Snapshot
	// Zone is the time zone of the config servers, where somebody named it.
	Zone *time.Location
	// Clock is the cluster's, for what looks again; nil where there is only a Snapshot.
	Clock apply.Clock
	// Changes is the cluster for what a look changes when it is asked to, past guards, policies and
	// the audit; nil refuses that.
	Changes *Cluster
	// Computing, if set, wraps computations that take long or need much memory.
	Computing func(compute func() error) error

	report         *serial // of how far a read is; may be nil
	fullTableLimit int64   // how many chunks a cluster may have of which plans keep all tables; 0 is defaultFullTableLimit
}

// Read reads parts of the cluster. A Snapshot that was set is returned unchanged, except for its clock.
func (s Source) Read(ctx context.Context, o live.ReaderOptions) (*catalog.Snapshot, error) {
	if o.Zone == nil {
		o.Zone = s.Zone
	}
	if s.Snapshot != nil {
		return s.Snapshot.WithClock(o.Zone), nil
	}
	o.Source = s.Origin
	read, err := s.Reader(o).Read(ctx)
	if err != nil {
		return nil, &AccessError{err}
	}
	return read, nil
}

// Reader returns what reads parts of the cluster, again and again.
func (s Source) Reader(o live.ReaderOptions) *live.Reader {
	if s.report != nil {
		o.OnProgress = s.report.reportRead
	}
	o.MemberSettings = s.Settings
	return live.NewSecondaryReader(s.Client, s.ReadPreference, o)
}

// readAndReport reads the cluster and reports that it is read.
func (s Source) readAndReport(ctx context.Context, o live.ReaderOptions, r *serial) (*catalog.Snapshot, error) {
	s.report = r
	read, err := s.Read(ctx, o)
	if err == nil {
		r.Report(SnapshotRead{read})
	}
	return read, err
}

func (s Source) compute(work func() error) error {
	if s.Computing == nil {
		return work()
	}
	return s.Computing(work)
}

// hasCollection reports whether the cluster says that it has a collection.
func (s Source) hasCollection(ctx context.Context, ns string) bool {
	database, collection, named := strings.Cut(ns, ".")
	if !named || s.Client == nil {
		return false
	}
	names, err := s.Client.Database(database).ListCollectionNames(ctx, bson.D{{Key: "name", Value: collection}})
	return err == nil && len(names) > 0
}

// watch reports how far a simulation is, and ends it with the context.
func (s *serial) watch(ctx context.Context) sim.Watch {
	return func(p sim.Progress) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.Report(SimulationProgress{p})
		return nil
	}
}
