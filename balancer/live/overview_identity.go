package live

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// identity learns who answers, which cluster it belongs to, and what time it is
// there.
func (o *overview) identity() error {
	hello, err := greet(o.ctx, o.commands)
	if err != nil {
		return err
	}
	if ms, ok := hello.Lookup("localTime").DateTimeOK(); ok {
		o.Now = time.UnixMilli(ms).UTC()
	}
	info, err := o.commands.RunCommand(o.ctx, "admin", bson.D{{Key: "buildInfo", Value: int32(1)}})
	if err != nil {
		return err
	}
	o.parts.Version = text(info, "version")
	line, known := catalog.ReleaseOf(o.parts.Version)
	if !known {
		return fmt.Errorf("no known version: %q", o.parts.Version)
	}
	o.Release = line
	// The clock of hello may be another one: that of a server which plays a cluster.
	docs, err := o.aggregate("config", "version", bson.D{{Key: "$limit", Value: int32(1)}},
		bson.D{{Key: "$project", Value: bson.D{
			{Key: "clusterId", Value: int32(1)}, {Key: "now", Value: "$$NOW"},
		}}})
	if err != nil {
		return o.gap(catalog.Gap{What: "version"}, err)
	}
	for _, doc := range docs {
		o.parts.ClusterID, _ = doc.Lookup("clusterId").ObjectIDOK()
		if at := date(doc, "now"); !at.IsZero() {
			o.Now = at
		}
	}
	return nil
}

// greet returns what a router says of itself; another server is ErrNotSharded.
func greet(ctx context.Context, a CommandRunner) (bson.Raw, error) {
	hello, err := a.RunCommand(ctx, "admin", bson.D{{Key: "hello", Value: int32(1)}})
	if mongoerr.Is(ServerError(err), mongoerr.CommandNotFound) { // before 4.4.2
		hello, err = a.RunCommand(ctx, "admin", bson.D{{Key: "isMaster", Value: int32(1)}})
	}
	if err != nil {
		return nil, err
	}
	if text(hello, "msg") != "isdbgrid" {
		return nil, ErrNotSharded
	}
	return hello, nil
}

func (o *overview) routers() error {
	docs, err := o.find("mongos", bson.D{})
	for _, doc := range docs {
		if router, err := catalog.ParseRouter(doc); err == nil {
			o.parts.Routers = append(o.parts.Routers, router)
		}
	}
	return err
}
