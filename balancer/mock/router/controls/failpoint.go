package controls

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/failpoint"
	"shardsh/balancer/mongoerr"
)

func failPointHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"configureFailPoint": configureFailPoint,
	}
}

func configureFailPoint(c *call.Call) (bson.D, error) {
	if c.DB != "admin" {
		return nil, mongoerr.New(mongoerr.Unauthorized, "configureFailPoint may only be run against the admin database.")
	}
	name := args.Text(c.Body.Lookup(c.Invoked))
	points := &c.Node.FailPoints
	point := map[string]*failpoint.Point{failpoint.Command: &points.Command, failpoint.GetMore: &points.GetMore}[name]
	if point == nil {
		return nil, mongoerr.New(mongoerr.BadValue, "the mock has the fail points '%s' and '%s', not '%s'", failpoint.Command,
			failpoint.GetMore, name)
	}
	next, err := failpoint.Read(c.Body.Raw, name)
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "count", Value: point.Replace(next)}}, nil
}
