package reads

import (
	"errors"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// readsFor captures the reads of a query. On a member it reads only from that member.
func readsFor(c *call.Call, ns string, filter *filter.Filter) ([]mock.Read, error) {
	nodes, special, err := c.Nodes()
	if c.Node.Member == nil && c.ReadPreference.AllowsSecondaries() && c.SnapshotTime == nil {
		c.Request.ReadFromSecondaries()
	}
	switch {
	case err != nil:
		return nil, asRouterError(c, err)
	case special:
		reads, err := c.Request.CaptureReadsFrom(nodes, ns, filter)
		return reads, asRouterError(c, err)
	case c.Node.Member == nil:
		return c.Request.CaptureReads(ns, filter)
	}
	docs, isOwn, err := c.Node.MemberState.Read(c, ns)
	switch {
	case err != nil:
		return nil, err
	case !isOwn:
		return c.Request.MemberReads(c.Node.Member.Shard, ns, filter)
	}
	return []mock.Read{c.Request.MemberOnlyRead(c.Node.Member.Shard, docs)}, nil
}

// asRouterError converts an error of a shard's node to the router's error, whose text depends on the command.
func asRouterError(c *call.Call, err error) error {
	of, isNode := errors.AsType[*mock.NodeError](err)
	switch {
	case !isNode:
		return err
	case c.Cmd.Name == "find":
		return mongoerr.Wrap(of.Cause, "Encountered non-retryable error during query")
	case c.Cmd.Name == "count" && of.Shard != "":
		return mongoerr.Wrap(of.Cause, "failed on: "+string(of.Shard))
	}
	return of.Cause
}

// Stats returns a collection's counters on the shards that own chunks, or on
// the member.
func Stats(c *call.Call, ns string) []mock.LocalStats {
	if c.Node.Member == nil {
		return c.Cluster.Statistics().Collection(ns)
	}
	if s, ok := c.Node.MemberState.Stats(c, ns); ok {
		return []mock.LocalStats{s}
	}
	return nil
}

// Indexes returns a collection's indexes; on a member, the indexes on that member. It returns false if
// the collection does not exist.
func Indexes(c *call.Call, ns string) ([]store.IndexSpec, bool) {
	if c.Node.Member == nil {
		return c.Cluster.Indexes().List(ns)
	}
	docs, isOwn, err := c.Node.MemberState.Read(c, ns)
	switch {
	case err != nil:
		return nil, false
	case !isOwn:
		return c.Cluster.Statistics().MemberIndexes(c.Node.Member.Shard, ns)
	}
	return docs.Indexes(), true
}

// checkMemberStage rejects stages on a member that apply to the whole cluster.
func checkMemberStage(c *call.Call, name string) error {
	switch name {
	case "$collStats", "$indexStats", "$currentOp", "$listLocalSessions", "$planCacheStats":
		return nil
	}
	if c.Node.Member == nil {
		return nil
	}
	return mongoerr.New(mongoerr.NotImplemented, "the mock supports %s only on mongos", name)
}
