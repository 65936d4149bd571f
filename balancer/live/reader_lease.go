package live

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// jobGraceExpr is the expression for the time, in milliseconds, for which an expired lease still counts
// as running: for the lease of a job, the time until its next call can be expected.
var jobGraceExpr = bson.D{{Key: "$cond", Value: bson.A{
	bson.D{{Key: "$eq", Value: bson.A{
		bson.D{{Key: "$substrCP", Value: bson.A{"$holder.doing", 0, len(JobDoingPrefix)}}}, JobDoingPrefix}}},
	int64(5 * time.Minute / time.Millisecond), int64(0),
}}}

// readLeaseAndPause reads the lease of shardsh, if there is one. If the user may not read it, or the servers
// are too old for the query, the Snapshot has none.
func (r *reading) readLeaseAndPause(ctx context.Context) error {
	docs, err := r.listFromShards(ctx, firstShardTimeout,
		query{database: LeaseDatabase, collection: LeaseCollection, pipeline: []bson.D{
			{{Key: "$set", Value: bson.D{{Key: "running", Value: bson.D{
				{Key: "$gt", Value: bson.A{bson.D{{Key: "$add", Value: bson.A{"$expires", jobGraceExpr}}}, clusterTime}}}}}}},
			{{Key: "$project", Value: bson.D{{Key: "token", Value: 0}, {Key: "entry", Value: 0}}}},
		}})
	if err != nil {
		if ctx.Err() == nil && errors.As(ServerError(err), new(*mongoerr.ServerError)) {
			return nil
		}
		return err
	}
	lease := &catalog.Lease{}
	for _, doc := range docs {
		if ns := text(doc, "_id", "paused"); ns != "" {
			lease.PausedCollections = append(lease.PausedCollections, ns)
			if since := date(doc, "since"); lease.Doing == "" && (lease.Since.IsZero() || since.Before(lease.Since)) {
				lease.Since = since
			}
			continue
		}
		if text(doc, "_id") == pauseID {
			r.parts.RunsPause = parsePause(doc)
		}
		if text(doc, "_id") != engineLease {
			continue
		}
		lease.Doing, lease.Host = text(doc, "holder", "doing"), text(doc, "holder", "host")
		lease.PID = int(integer(doc, "holder", "pid"))
		lease.Since, lease.Expires = date(doc, "since"), date(doc, "expires")
		lease.Running, _ = doc.Lookup("running").BooleanOK()
	}
	slices.Sort(lease.PausedCollections)
	if lease.Doing != "" || len(lease.PausedCollections) > 0 {
		r.parts.Lease = lease
	}
	return nil
}
