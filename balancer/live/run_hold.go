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

// RunHoldChecker checks whether runs of shardsh must not start new work, because of a pause, a quiesce,
// a change of the feature compatibility version, or because another client has stopped the balancer. It
// is not safe for concurrent use.
type RunHoldChecker struct {
	client   *mongo.Client
	commands CommandRunner
	now      func() time.Time

	// compatibilityReadAt is the time at which the compatibility version was last read.
	// compatibilityDenied says that the user may not read it.
	compatibilityReadAt time.Time
	compatibilityDenied bool
	balancerStoppedBy   string // who has stopped the balancer; empty until it was read
}

// NewRunHoldChecker returns a RunHoldChecker for a run. now is only used to measure durations.
func NewRunHoldChecker(client *mongo.Client, now func() time.Time) *RunHoldChecker {
	return &RunHoldChecker{client: client, commands: NewCommandRunner(client), now: now}
}

// RunHold is the result of a check.
type RunHold struct {
	// Reason is the reason with its remedy; empty if runs may continue.
	Reason string
	// QuiesceAbandoned says that the process of a quiesce has ended without restoring the balancer, so that
	// the caller has to restore it.
	QuiesceAbandoned bool
}

// runHoldReadTimeout limits the read of the records.
const runHoldReadTimeout = 15 * time.Second

// compatibilityTTL is the time for which a compatibility version is cached, so that a step costs one
// read, not two.
const compatibilityTTL = 5 * time.Second

// Check reads the records with one command, and sometimes sends a second one. It reads the balancer's
// mode only if the balancer was found stopped.
func (f *RunHoldChecker) Check(ctx context.Context, stopped bool) (RunHold, error) {
	frozen, err := f.checkRecords(ctx)
	if err != nil || frozen != (RunHold{}) {
		return frozen, err
	}
	if !f.compatibilityDenied &&
		(f.compatibilityReadAt.IsZero() || f.now().Sub(f.compatibilityReadAt) >= compatibilityTTL) {
		compatible, err := readCompatibility(ctx, f.commands)
		if err != nil {
			return frozen, err
		}
		f.compatibilityDenied = compatible == catalog.Compatibility{}
		if compatible.Changing() {
			why := fmt.Sprintf("the feature compatibility version is %v", compatible)
			if compatible.MovesMetadataToShards() {
				why += ", and no chunk can be split, merged or moved until that ends"
			}
			return RunHold{Reason: why + ": runs go on when setFeatureCompatibilityVersion has ended"}, nil
		}
		f.compatibilityReadAt = f.now()
	}
	if !stopped {
		return RunHold{}, nil
	}
	return f.checkBalancer(ctx)
}

// Invalidate clears the cache.
func (f *RunHoldChecker) Invalidate() {
	f.compatibilityReadAt = time.Time{}
}

// checkRecords reads the pause, and the record of a quiesce with its lease.
func (f *RunHoldChecker) checkRecords(ctx context.Context) (frozen RunHold, err error) {
	after := func(field string, time any) bson.D { return bson.D{{Key: "$gt", Value: bson.A{field, time}}} }
	docs, err := f.commands.RunCursorCommand(ctx, LeaseDatabase, bson.D{
		{Key: "aggregate", Value: LeaseCollection},
		{Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$match", Value: bson.D{{Key: "_id", Value: bson.D{
				{Key: "$in", Value: bson.A{pauseID, quiesceRecordID, quiesceLease}}}}}}},
			bson.D{{Key: "$set", Value: bson.D{
				{Key: "running", Value: after("$expires", clusterTime)}, {Key: "lasts", Value: after("$until", "$$NOW")}}}},
		}},
		{Key: "cursor", Value: bson.D{}}, ReadConcernMajority, {Key: "maxTimeMS", Value: runHoldReadTimeout.Milliseconds()},
	})
	if err = ServerError(err); err != nil {
		if mongoerr.Is(err, mongoerr.Unauthorized) {
			err = nil // this run could not have taken the lease either
		}
		return frozen, err
	}
	var quiesced bson.Raw
	held := false
	for _, doc := range docs {
		switch text(doc, "_id") {
		case pauseID:
			if p := parsePause(doc); p.Active {
				return RunHold{Reason: p.String() + "; to end it: shardsh pause --end"}, nil
			}
		case quiesceRecordID:
			quiesced = doc
			held = held || catalog.IsTruthyInJS(doc.Lookup("lasts"))
		case quiesceLease:
			held = held || catalog.IsTruthyInJS(doc.Lookup("running"))
		}
	}
	if quiesced == nil {
		return frozen, nil
	}
	frozen.Reason = "shardsh quiesce on " + text(quiesced,
		"host") + " keeps the cluster quiet; to end it: shardsh quiesce --end"
	frozen.QuiesceAbandoned = !held
	return frozen, nil
}

// checkBalancer checks whether the balancer is still stopped, and reads once who has stopped it.
func (f *RunHoldChecker) checkBalancer(ctx context.Context) (frozen RunHold, err error) {
	status, err := (&ActivityReader{Commands: f.commands}).ReadStatus(ctx)
	if err != nil {
		return frozen, err
	}
	if status.Mode != catalog.ModeOff {
		f.balancerStoppedBy = ""
		return frozen, nil
	}
	if f.balancerStoppedBy == "" {
		f.balancerStoppedBy = "another client has stopped the balancer during this run"
		seen, err := NewReader(f.client, ReaderOptions{Parts: BalancerSwitches}).Read(ctx)
		if err == nil {
			if s := seen.Parts().Balancer.Switched; s != nil && !s.On {
				f.balancerStoppedBy += " (at " + s.Time.UTC().Format(time.RFC3339)
				if s.Client != "" {
					f.balancerStoppedBy += ", from " + s.Client
				}
				f.balancerStoppedBy += ")"
			}
		}
	}
	return RunHold{Reason: f.balancerStoppedBy + "; to go on: sh.startBalancer()"}, nil
}
