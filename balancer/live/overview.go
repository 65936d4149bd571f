// Package live looks at a sharded cluster through its mongos.
package live

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Part is something that an overview reads; parts are added up.
type Part uint

// The parts. Each costs one command, or as many as it says.
const (
	Settings    Part = 1 << iota // config.settings
	Balancer                     // balancerStatus
	Shards                       // config.shards
	Drains                       // with Shards: one shardDrainingStatus for each that drains, from 8.3 on
	Databases                    // config.databases
	Collections                  // config.collections, the sharded ones
	Unsharded                    // and the others that are there, with the same command
	Statuses                     // one balancerCollectionStatus for each sharded collection
	Counts                       // with Collections: their chunks on each shard, counted by the server
	Zones                        // config.tags
	Sizes                        // $shardedDataDistribution, from 6.0.3 on
	Rounds                       // the newest rounds of config.actionlog
	Outcomes                     // config.changelog, counted by the server: two commands
	Migrations                   // $currentOp, config.migrations and config.locks
	Reshardings                  // $currentOp, config.reshardingOperations
	Moves                        // the newest migrations of config.changelog, those that failed too
	Identity                     // who answers, and which cluster it is: hello, buildInfo, config.version
	Routers                      // config.mongos
	Switches                     // the newest time that the balancer was turned on or off, in config.actionlog
	Reach                        // with Shards: which of them the router gets no answer from, by connPoolStats
	OldSizes                     // with Sizes: before 6.0.3 one $collStats for each collection
)

// Look is a reader that makes a Snapshot of some parts of a cluster, none of
// which grows with the number of chunks: what the everyday questions need,
// without the right to read anything else.
type Look struct {
	Parts Part
	// Namespaces are the only collections to read; nil = all. Without the part
	// Collections they are taken to exist.
	Namespaces []string
	// Shard has only the chunks on one shard counted, and only its draining looked
	// at; empty = of all.
	Shard catalog.ShardID
	// Outcomes are those of the last Span before Now.
	Span time.Duration
	// Now is the Snapshot's time, Release its release. The part Identity learns
	// them from the cluster.
	Now     time.Time
	Release catalog.Release
	// Lenient takes an error of Balancer and Statuses for a gap of the Snapshot.
	// One of Sizes and Migrations always is one: many a user may not look there,
	// and many a server does not tell.
	Lenient bool
	// Tolerant is Lenient for all parts but Identity and Collections, without which
	// there is no picture.
	Tolerant bool
	// Source is what the Snapshot says of where it came from; SourceLive when it has
	// no kind.
	Source catalog.Source
	// Judge says of which collections Statuses are asked for; nil = of all.
	Judge func(ns string) bool
}

// Overview is what a Look saw.
type Overview struct {
	*catalog.Snapshot
	// Distribution has the documents of $shardedDataDistribution as they were,
	// by namespace; nil when the server did not tell.
	Distribution []bson.Raw
}

// PartError says which part of a Look failed. Err is the command runner's.
type PartError struct {
	What string
	Err  error
}

// Error names the part.
func (e *PartError) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the command runner's error.
func (e *PartError) Unwrap() error { return e.Err }

// Read looks at the cluster. Its error is a *PartError.
func (l Look) Read(ctx context.Context, a CommandRunner) (*Overview, error) {
	o := &overview{Look: l, ctx: ctx, commands: a, parts: catalog.SnapshotParts{
		Source: l.Source, Config: map[string][]bson.Raw{},
	}}
	o.parts.Source.Kind = cmp.Or(l.Source.Kind, catalog.SourceLive)
	for _, step := range o.steps() {
		if l.Parts&step.part == 0 {
			continue
		}
		err := step.read()
		if err != nil && l.Tolerant && step.gap != "" {
			err = o.gap(catalog.Gap{What: step.gap}, err)
		}
		if err != nil {
			return nil, partError(step.what, err)
		}
	}
	o.parts.Time, o.parts.Release = o.Now, o.Release
	return &Overview{catalog.NewSnapshot(o.parts), o.distribution}, nil
}

// partError names the part, unless the error does so itself.
func partError(what string, err error) error {
	var known *PartError
	if errors.As(err, &known) {
		return known
	}
	return &PartError{what, err}
}

// overview is a Look under way.
type overview struct {
	Look
	ctx          context.Context
	commands     CommandRunner
	parts        catalog.SnapshotParts
	distribution []bson.Raw
}

type step struct {
	part Part
	what string
	gap  string // as in catalog.Gap; empty for what there is no picture without
	read func() error
}

// steps returns the parts in the order in which they are read: what lies on
// collections and shards comes after them.
func (o *overview) steps() []step {
	return []step{
		{Identity, "asking the router who it is", "", o.identity},
		{Settings, "reading config.settings", "settings", o.settings},
		{Balancer, "status of the balancer", "balancer", o.balancer},
		{Shards, "reading config.shards", "shards", o.shards},
		{Reach, "asking the router for its connections", "reach", o.reach},
		{Drains, "status of draining shards", "draining", o.drains},
		{Databases, "reading config.databases", "databases", o.databases},
		{Collections | Statuses | Counts | Sizes, "reading config.collections", "", o.collections},
		{Counts, "counting config.chunks", "chunks", o.counts},
		{Zones, "reading config.tags", "tags", o.zones},
		{Routers, "reading config.mongos", "mongos", o.routers},
		{Sizes, "reading the sizes of data", "sizes", o.sizes},
		{Rounds, "reading config.actionlog", "actionlog", o.rounds},
		{Switches, "reading config.actionlog", "actionlog", o.switches},
		{Outcomes, "reading config.changelog", "changelog", o.outcomes},
		{Migrations | Reshardings, "looking for migrations", "operations", o.underWay},
		{Moves, "reading config.changelog", "changelog", o.moves},
		{Statuses, "status of collections", "balance", o.statuses},
	}
}

// find returns all documents of a query on the config database.
func (o *overview) find(collection string, filter bson.D, more ...bson.E) ([]bson.Raw, error) {
	command := bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}}
	return o.commands.RunCursorCommand(o.ctx, "config", append(command, more...))
}

// aggregate returns all documents of a pipeline; the collection 1 stands for the
// database itself.
func (o *overview) aggregate(database string, collection any, stages ...bson.D) ([]bson.Raw, error) {
	pipeline := make(bson.A, len(stages))
	for i, stage := range stages {
		pipeline[i] = stage
	}
	return o.commands.RunCursorCommand(o.ctx, database, bson.D{
		{Key: "aggregate", Value: collection}, {Key: "pipeline", Value: pipeline}, {Key: "cursor", Value: bson.D{}},
	})
}

func sortedBy(field string, direction int32) bson.E {
	return bson.E{Key: "sort", Value: bson.D{{Key: field, Value: direction}}}
}

// gap notes what the server would not show. No answer is no gap: it is an error.
func (o *overview) gap(g catalog.Gap, err error) error {
	if o.ctx.Err() != nil || !refused(err) && !senseless(err) {
		return err
	}
	o.parts.Source.Gaps = append(o.parts.Source.Gaps, gapBecause(g, err))
	return nil
}

// lenient is gap for what is an error unless the Look is lenient.
func (o *overview) lenient(g catalog.Gap, err error) error {
	if !o.Lenient && !o.Tolerant {
		return err
	}
	return o.gap(g, err)
}

func (o *overview) settings() error {
	docs, err := o.find("settings", bson.D{})
	if err != nil {
		return err
	}
	o.parts.Config["settings"] = docs
	o.parts.Settings, o.parts.SettingsProblem = settingsOf(o.Release, docs)
	return nil
}

func (o *overview) balancer() error {
	if !o.Release.HasModes() {
		return o.balancerBefore34()
	}
	reply, err := o.commands.RunCommand(o.ctx, "admin", bson.D{{Key: "balancerStatus", Value: int32(1)}})
	if err != nil {
		return o.lenient(catalog.Gap{What: "balancer"}, err)
	}
	o.parts.Balancer = balancerState(reply)
	return nil
}

func (o *overview) balancerBefore34() error {
	settings, err := o.find("settings", aboutBalancer)
	if err != nil {
		return o.lenient(catalog.Gap{What: "balancer"}, err)
	}
	locks, err := o.find("locks", aboutBalancer)
	if err != nil {
		return o.lenient(catalog.Gap{What: "balancer"}, err)
	}
	o.parts.Balancer = stateBefore34(settings, locks)
	return nil
}

func (o *overview) databases() error {
	docs, err := o.find("databases", bson.D{}, sortedBy("_id", 1))
	o.parts.Config["databases"] = docs
	for _, doc := range docs {
		o.parts.Databases = append(o.parts.Databases, catalog.Database{
			Name: text(doc, "_id"), Primary: catalog.ShardID(text(doc, "primary")),
		})
	}
	return err
}

func (o *overview) zones() error {
	filter := bson.D{}
	if len(o.Namespaces) > 0 {
		filter = bson.D{{Key: "ns", Value: bson.D{{Key: "$in", Value: o.Namespaces}}}}
	}
	docs, err := o.find("tags", filter,
		bson.E{Key: "sort", Value: bson.D{{Key: "ns", Value: int32(1)}, {Key: "min", Value: int32(1)}}})
	o.parts.Config["tags"] = docs
	return err
}

func (o *overview) statuses() error {
	for _, c := range o.parts.Collections {
		if c.Unsplittable || o.Judge != nil && !o.Judge(c.Namespace) {
			continue
		}
		if !o.Release.JudgesCollections() && (o.Lenient || o.Tolerant) {
			o.parts.Source.Gaps = append(o.parts.Source.Gaps, noJudgement(c.Namespace))
			continue
		}
		reply, err := o.commands.RunCommand(o.ctx, "admin", bson.D{{Key: "balancerCollectionStatus", Value: c.Namespace}})
		if err != nil {
			if err := o.lenient(catalog.Gap{What: "balance", Namespace: c.Namespace}, err); err != nil {
				return &PartError{"status of " + c.Namespace, err}
			}
			continue
		}
		c.Reported = reportedStatus(reply)
	}
	return nil
}

// reportedStatus reads the reply of balancerCollectionStatus (rules/01-selection §7).
func reportedStatus(reply bson.Raw) *catalog.ReportedStatus {
	r := &catalog.ReportedStatus{
		Compliant: isSet(reply.Lookup("balancerCompliant")), Violation: text(reply, "firstComplianceViolation"),
		Phase: text(reply, "details", "currentPhase"), RemainingChunks: -1,
	}
	r.ChunkSizeMB, _ = reply.Lookup("chunkSize").AsFloat64OK()
	if left, err := reply.LookupErr("details", "progress", "remainingChunksToProcess"); err == nil {
		if n, ok := left.AsInt64OK(); ok {
			r.RemainingChunks = n
		}
	}
	return r
}
