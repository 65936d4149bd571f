package live

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Freeze finds out what wants the runs of shardsh to begin nothing: a pause, a quiesce, a
// change of the feature compatibility version, or that somebody has stopped the balancer. It is not
// for concurrent use.
type Freeze struct {
	client   *mongo.Client
	commands CommandRunner
	now      func() time.Time

	// compatible is when the compatibility version was read last; refused says that it
	// may not be read.
	compatible time.Time
	refused    bool
	stopped    string // who has stopped the balancer; empty until that was looked for
}

// NewFreeze returns a Freeze for a run. The clock is for durations.
func NewFreeze(client *mongo.Client, now func() time.Time) *Freeze {
	return &Freeze{client: client, commands: NewCommandRunner(client), now: now}
}

// Frozen is why nothing is to begin.
type Frozen struct {
	// Why is a sentence with what ends it; empty when runs may go on.
	Why string
	// Gone says that a quiesce has stopped the balancer whose process is gone: what it has
	// stopped is to be given back.
	Gone bool
}

// freezeWait limits the read of the records.
const freezeWait = 15 * time.Second

// compatibleFor is how long the compatibility version that was read is taken as it was:
// a step costs one read, not two.
const compatibleFor = 5 * time.Second

// Look finds out, with one command, rarely two. It asks for the balancer's mode only when
// that was found stopped.
func (f *Freeze) Look(ctx context.Context, stopped bool) (Frozen, error) {
	is, err := f.records(ctx)
	if err != nil || is != (Frozen{}) {
		return is, err
	}
	if !f.refused && (f.compatible.IsZero() || f.now().Sub(f.compatible) >= compatibleFor) {
		compatible, err := readCompatibility(ctx, f.commands)
		if err != nil {
			return is, err
		}
		f.refused = compatible == catalog.Compatibility{}
		if compatible.Changing() {
			why := fmt.Sprintf("the feature compatibility version is %v", compatible)
			if compatible.MovesMetadataToShards() {
				why += ", no chunk can be split, merged or moved meanwhile"
			}
			return Frozen{Why: why + ": runs go on when setFeatureCompatibilityVersion has ended"}, nil
		}
		f.compatible = f.now()
	}
	if !stopped {
		return Frozen{}, nil
	}
	return f.balancer(ctx)
}

// Forget has the next Look read all again.
func (f *Freeze) Forget() {
	f.compatible = time.Time{}
}

// records reads the pause, and the record of a quiesce with its lease.
func (f *Freeze) records(ctx context.Context) (is Frozen, err error) {
	after := func(field string, time any) bson.D { return bson.D{{Key: "$gt", Value: bson.A{field, time}}} }
	docs, err := f.commands.RunCursorCommand(ctx, LeaseDatabase, bson.D{
		{Key: "aggregate", Value: LeaseCollection},
		{Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$match", Value: bson.D{{Key: "_id", Value: bson.D{
				{Key: "$in", Value: bson.A{pauseID, quiescedID, quiesceLease}}}}}}},
			bson.D{{Key: "$set", Value: bson.D{
				{Key: "running", Value: after("$expires", clusterTime)}, {Key: "lasts", Value: after("$until", "$$NOW")}}}},
		}},
		{Key: "cursor", Value: bson.D{}}, majority, {Key: "maxTimeMS", Value: freezeWait.Milliseconds()},
	})
	if err = ServerError(err); err != nil {
		if mongoerr.Is(err, mongoerr.Unauthorized) {
			err = nil // nor could this run have the lease
		}
		return is, err
	}
	var quiesced bson.Raw
	held := false
	for _, doc := range docs {
		switch text(doc, "_id") {
		case pauseID:
			if p := pauseOf(doc); p.Active {
				return Frozen{Why: p.String() + "; to end it: shardsh pause --end"}, nil
			}
		case quiescedID:
			quiesced = doc
			held = held || isSet(doc.Lookup("lasts"))
		case quiesceLease:
			held = held || isSet(doc.Lookup("running"))
		}
	}
	if quiesced == nil {
		return is, nil
	}
	is.Why = "shardsh quiesce on " + text(quiesced, "host") + " keeps the cluster quiet; to end it: shardsh quiesce --end"
	is.Gone = !held
	return is, nil
}

// balancer asks whether the balancer is still stopped, and once by whom.
func (f *Freeze) balancer(ctx context.Context) (is Frozen, err error) {
	status, err := (&Quiet{Commands: f.commands}).Status(ctx)
	if err != nil {
		return is, err
	}
	if status.Mode != catalog.ModeOff {
		f.stopped = ""
		return is, nil
	}
	if f.stopped == "" {
		f.stopped = "somebody has stopped the balancer during this run"
		seen, err := NewReader(f.client, ReaderOptions{Parts: Switches}).Read(ctx)
		if err == nil {
			if s := seen.Parts().Balancer.Switched; s != nil && !s.On {
				f.stopped += " (at " + s.Time.UTC().Format(time.RFC3339)
				if s.Client != "" {
					f.stopped += ", from " + s.Client
				}
				f.stopped += ")"
			}
		}
	}
	return Frozen{Why: f.stopped + "; to go on: sh.startBalancer()"}, nil
}
