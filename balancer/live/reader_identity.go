package live

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// SendHello returns the reply to hello, or to isMaster before 4.4.2.
func SendHello(ctx context.Context, run func(context.Context, string, bson.D) (bson.Raw, error)) (bson.Raw, error) {
	hello, err := run(ctx, "admin", bson.D{{Key: "hello", Value: int32(1)}})
	if mongoerr.Is(ServerError(err), mongoerr.CommandNotFound) {
		return run(ctx, "admin", bson.D{{Key: "isMaster", Value: int32(1)}})
	}
	return hello, err
}

// greetRouter is SendHello to a mongos. The error is ErrNotSharded if the server is not one.
func greetRouter(ctx context.Context, run func(context.Context, string, bson.D) (bson.Raw, error)) (bson.Raw, error) {
	hello, err := SendHello(ctx, run)
	if err != nil {
		return nil, err
	}
	if text(hello, "msg") != "isdbgrid" {
		return nil, ErrNotSharded
	}
	return hello, nil
}

// readIdentity reads the release of the mongos and its time.
func (r *reading) readIdentity(ctx context.Context) error {
	hello, err := greetRouter(ctx, r.source.run)
	if err != nil {
		return err
	}
	if ms, ok := hello.Lookup("localTime").DateTimeOK(); ok {
		r.parts.Time = time.UnixMilli(ms).UTC()
	}
	if t, i, ok := hello.Lookup("$clusterTime", "clusterTime").TimestampOK(); ok {
		r.parts.ClusterTime = bson.Timestamp{T: t, I: i}
	}
	info, err := r.source.run(ctx, "admin", bson.D{{Key: "buildInfo", Value: int32(1)}})
	if err != nil {
		return &ReadError{What: "buildInfo", Err: err}
	}
	r.parts.Version = text(info, "version")
	release, known := catalog.ReleaseOf(r.parts.Version)
	if !known {
		return &ReadError{What: "buildInfo", Err: fmt.Errorf("unknown version: %q", r.parts.Version)}
	}
	r.parts.Release = release
	return nil
}

// readClusterIDAndClock reads the id of the cluster and the time of the config server. On a server that
// simulates a cluster, hello may return another time.
func (r *reading) readClusterIDAndClock(ctx context.Context) error {
	docs, err := r.source.list(ctx, query{collection: "version", pipeline: []bson.D{
		{{Key: "$limit", Value: int32(1)}},
		{{Key: "$project", Value: bson.D{{Key: "clusterId", Value: int32(1)}, {Key: "now", Value: "$$NOW"}}}},
	}})
	for _, doc := range docs {
		r.parts.ClusterID, _ = doc.Lookup("clusterId").ObjectIDOK()
		if now := date(doc, "now"); !now.IsZero() {
			r.parts.Time = now
		}
	}
	r.dropForeignSnapshot()
	return r.gapOrError(ctx, 0, catalog.Gap{What: "time"}, err)
}

// readConfigVersionDoc reads the document of config.version.
func (r *reading) readConfigVersionDoc(ctx context.Context) error {
	docs, err := r.source.list(ctx, findQuery("version", bson.D{}))
	r.retainDocuments("version", docs)
	for _, doc := range docs {
		if id, ok := doc.Lookup("clusterId").ObjectIDOK(); ok {
			r.parts.ClusterID = id
		}
	}
	r.dropForeignSnapshot()
	return err
}

// dropForeignSnapshot drops the older Snapshot if it is of another cluster or release.
func (r *reading) dropForeignSnapshot() {
	if r.old == nil {
		return
	}
	if p := r.old.Parts(); p.Version != r.parts.Version || p.ClusterID != r.parts.ClusterID {
		r.old = nil
	}
}
