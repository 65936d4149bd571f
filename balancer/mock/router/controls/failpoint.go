package controls

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/failpoint"
	"shardsh/balancer/mongoerr"
)

func failPointHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"configureFailPoint": configureFailPoint,
		"waitForFailPoint":   waitForFailPoint,
	}
}

func configureFailPoint(c *call.Call) (bson.D, error) {
	if c.DB != "admin" {
		return nil, mongoerr.New(mongoerr.Unauthorized, "configureFailPoint may only be run against the admin database.")
	}
	name := args.Text(c.Body.Lookup(c.InvokedAs))
	if slices.Contains(mock.FailPointNames(), name) {
		return configureBlockingPoint(c, name)
	}
	point := commandFailPoint(c, name)
	if point == nil {
		return nil, unknownFailPoint(name)
	}
	next, err := failpoint.ReadPoint(c.Body.Raw, name)
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "count", Value: point.Replace(next)}}, nil
}

// configureBlockingPoint sets a fail point that blocks threads: on the port of a member for that member,
// through a router for all members.
func configureBlockingPoint(c *call.Call, name string) (bson.D, error) {
	mode, err := failpoint.ReadMode(c.Body.Raw)
	if err != nil {
		return nil, err
	}
	c.Cluster.Lock()
	defer c.Cluster.Unlock()
	count := c.Cluster.FailPoints().Configure(name, shardOfMember(c), mode)
	return bson.D{{Key: "count", Value: count}}, nil
}

// shardOfMember is the shard whose member is asked; empty for a router.
func shardOfMember(c *call.Call) catalog.ShardID {
	if c.Node.Member == nil {
		return ""
	}
	return c.Node.Member.Shard
}

func commandFailPoint(c *call.Call, name string) *failpoint.Point {
	points := &c.Node.FailPoints
	return map[string]*failpoint.Point{failpoint.Command: &points.Command, failpoint.GetMore: &points.GetMore}[name]
}

func unknownFailPoint(name string) error {
	known := append([]string{failpoint.Command, failpoint.GetMore}, mock.FailPointNames()...)
	return mongoerr.New(mongoerr.BadValue, "the mock has the fail points %s, not '%s'", strings.Join(known, ", "), name)
}

// waitForFailPoint waits until the fail point's total number of entries since the process start has
// reached timesEntered.
func waitForFailPoint(c *call.Call) (bson.D, error) {
	name, times := c.Args.Text("waitForFailPoint"), c.Args.Int("timesEntered")
	if slices.Contains(mock.FailPointNames(), name) {
		return bson.D{}, c.Cluster.FailPoints().Await(c.Ctx, c.Deadline, name, shardOfMember(c), times)
	}
	point := commandFailPoint(c, name)
	if point == nil {
		return nil, unknownFailPoint(name)
	}
	return bson.D{}, c.Cluster.ClockUnderLock().Await(c.Ctx, c.Deadline,
		func() bool { return point.TimesEntered() >= times })
}
