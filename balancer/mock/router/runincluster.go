package router

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/sampling"
	"shardsh/balancer/mock/router/servers"
)

// runInCluster runs a command on a cluster whose nodes may be down or slow, or that has a failure
// configured for the command.
func (r *Router) runInCluster(cmd *call.Command, c *call.Call) (bson.D, error) {
	var failure *mock.Failure
	c.Request, failure = r.Cluster.BeginRequest(cmd.Name)
	c.Request.SetContext(c.Ctx, c.Deadline, c.WithoutLock)
	c.Request.SetRouter(r.Entry.Node, r.Routes)
	if cmd.Effect == commands.Reads && cmd.Name != "count" {
		c.Request.SetWaitsForNodes()
	}
	reply, err := r.runUnlessFailed(failure, cmd, c)
	r.Counters.CountContacted(c.Request)
	c.HasSlowNodes = c.Request.HasSlowNodes()
	return reply, c.WithRetryLabel(err)
}

// delayReply returns the reply after the effects of slow nodes, and its delay in real time. The delay is 0
// on virtual time, because the cluster's clock has advanced instead.
func (r *Router) delayReply(c *call.Call, raw bson.Raw) (bson.Raw, time.Duration) {
	if !c.HasSlowNodes {
		return raw, 0
	}
	r.Cluster.Lock()
	defer r.Cluster.Unlock()
	took := c.Request.SlownessDelay(int64(len(c.Body.Raw) + len(raw)))
	if late := r.Cluster.Now().Add(took); !c.Deadline.IsZero() && late.After(c.Deadline) {
		took = max(0, c.Deadline.Sub(r.Cluster.Now()))
		raw = r.reply(nil, call.ErrMaxTime())
	}
	if r.Cluster.ClockUnderLock().IsRealTime() || r.Cluster.ClockUnderLock().IsDriven() {
		return raw, took
	}
	r.Cluster.ClockUnderLock().Spend(took)
	return raw, 0
}

func (r *Router) runUnlessFailed(failure *mock.Failure, cmd *call.Command, c *call.Call) (bson.D, error) {
	if failure != nil && failure.CloseConnection {
		c.DropConnection()
		return nil, call.ErrConnectionClosed()
	}
	if failure != nil && failure.Code != 0 {
		return nil, failure.Err()
	}
	applyEffectsBefore(cmd, c)
	if err := contactNodes(cmd, c); err != nil {
		return nil, err
	}
	if err := call.CheckCollectionUUID(cmd, c); err != nil {
		return nil, err
	}
	began := time.Now()
	reply, err := cmd.Run(c)
	err = withQuery(cmd, c, err)
	servers.RecordQuery(cmd, c, reply, err, time.Since(began))
	applyEffectsAfter(cmd, c, err == nil)
	reply = withSnapshotTime(c, reply)
	countTargets(cmd, c)
	sampleQuery(cmd, c)
	if err != nil {
		return reply, err
	}
	concern, err := r.writeConcernError(failure, cmd, c)
	if err != nil {
		return nil, err
	}
	if concern != nil {
		reply = append(reply, bson.E{Key: "writeConcernError", Value: concern})
	}
	return reply, nil
}

// sampleQuery samples a command if its collection has query sampling enabled and a sample is due. The
// cluster's lock is held.
func sampleQuery(cmd *call.Command, c *call.Call) {
	all := c.Node.Analyzers
	if len(all) == 0 {
		return
	}
	name, isText := c.Body.Lookup(c.InvokedAs).StringValueOK()
	a := all.Active(c.DB + "." + name)
	if !isText || a == nil {
		return
	}
	list, err := call.WithoutLock(c, func(context.Context) ([]sampling.Query, error) {
		return sampling.Queries(c.DB+"."+name, cmd.Name, c.Body.Raw), nil
	})
	if err == nil {
		a.Record(list, c.Cluster.Now())
	}
}

// writeConcernError returns the write concern error of a command that was applied, nil for none. The error
// was requested as a failure of the command or of a shard that it contacted, or the cluster cannot satisfy
// the write concern.
func (r *Router) writeConcernError(failure *mock.Failure, cmd *call.Command, c *call.Call) (bson.D, error) {
	if failure != nil && failure.WriteConcernError != nil {
		return failure.WriteConcernError, nil
	}
	if concern := c.Request.WriteConcernError(); concern != nil {
		return concern, nil
	}
	return awaitWriteConcern(cmd, c)
}

// failWithoutLock fails a command that runs without the cluster's lock, if a failure is configured for
// it.
func (r *Router) failWithoutLock(cmd *call.Command, c *call.Call) error {
	if cmd.MockOnly {
		return nil
	}
	failure := r.Cluster.Faults().TakeFailure(cmd.Name)
	if failure == nil {
		return nil
	}
	if failure.CloseConnection {
		c.DropConnection()
		return call.ErrConnectionClosed()
	}
	return failure.Err()
}

// isCrashedMember reports whether the node is a crashed member. A crashed member closes its connections.
func (r *Router) isCrashedMember() bool {
	if r.Member == nil {
		return false
	}
	r.Cluster.Lock()
	defer r.Cluster.Unlock()
	return r.Cluster.Faults().IsDown(r.Member.Shard)
}

// contactNodes fails if a node that the command always contacts is unavailable.
func contactNodes(cmd *call.Command, c *call.Call) error {
	needs := cmd.Contacts
	if needs == 0 {
		return nil
	}
	ns := c.TargetNamespace(cmd)
	db := catalog.DatabaseOf(ns)
	for _, need := range []struct {
		of  commands.Nodes
		ask func() error
	}{
		{commands.ConfigServer, c.Request.ContactConfig},
		{commands.EveryShard, c.Request.ContactShards},
		{commands.Owners, func() error { return c.Request.Contact(ns, nil) }},
		{commands.OwnersUnversioned, func() error { return c.Request.ContactUnversioned(ns) }},
		{commands.PrimaryShard, func() error { return c.Request.ContactPrimary(db) }},
	} {
		if needs&need.of == 0 {
			continue
		}
		if err := need.ask(); err != nil {
			return err
		}
	}
	return nil
}

// countTargets counts a request by the number of shards that it contacted. The cluster's lock is held.
func countTargets(cmd *call.Command, c *call.Call) {
	by := c.Node.Counters.ByTarget[cmd.Name]
	name, isText := c.Body.Lookup(c.InvokedAs).StringValueOK()
	if by == nil || !isText {
		return
	}
	coll, sharded, err := c.Cluster.ConfigDB().ShardedEntry(c.DB + "." + name)
	if err != nil || !sharded {
		by[call.ToUnsharded].Add(1)
		return
	}
	switch n := c.Request.ShardsReached(); {
	case n <= 1:
		by[call.ToOneShard].Add(1)
	case n >= len(c.Cluster.ConfigDB().Table(coll.Namespace).Owners()):
		by[call.ToAllShards].Add(1)
	default:
		by[call.ToManyShards].Add(1)
	}
}
