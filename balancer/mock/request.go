package mock

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/routing"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// environment is what the commands of a cluster work with.
type environment struct {
	*setup
	addresses    *Addresses
	changes      *ChangeFeed
	chunks       *Chunks
	clock        *clock.Clock
	collections  *Collections
	config       *ConfigDB
	configChunks *ConfigChunks
	zones        *Zones
	databases    *Databases
	faults       *Faults
	ids          *ids.Source
	indexes      *Indexes
	locator      *locator
	log          *changeLog
	migrations   *Migrations
	shards       shardSet
	stats        *Statistics
	ttl          *ttlMonitor
}

// Request is one command under way: a client's, or one of the cluster's own
// (Background).
type Request struct {
	env *environment
	// command is its name; empty for the cluster's own.
	command string
	// nodeResults has the results of contacting nodes while failures were armed or nodes slow; went lists
	// all contacted nodes; the first ones are stored inline.
	nodeResults    map[catalog.ShardID]error
	contactedNodes []catalog.ShardID
	contactedBuf   [4]catalog.ShardID
	// writeConcernError is the first write concern error that a shard was made to answer.
	writeConcernError bson.D
	// shardsReached is how many shards the newest read or insert went to.
	shardsReached int
	// ctx, deadline and outside are the command's; nil for the cluster's own.
	ctx      context.Context
	deadline time.Time
	unlocked UnlockedRunner
	// router has sent it, and knows of the catalog what routes say.
	router     catalog.ShardID
	routerView routerView
	// waitsForNodes: it waits for nodes that are unavailable.
	waitsForNodes bool
	// key is the newest document's shard key, and room for the next one's.
	key []byte
	// secondary is what its reads lose where they go to secondaries; nil of primaries.
	secondary *SecondaryRead
	// insertTarget is where its newest new document went.
	insertTarget insertTarget
}

// BeginRequest begins a client's command; the failure armed for it, if any, is
// the caller's to report.
func (c *Cluster) BeginRequest(command string) (*Request, *Failure) {
	return &Request{env: c.env, command: command, router: routerNode}, c.faults.takeFailure(command, "")
}

// SetRouter sets the router that has sent the request, and its routing cache.
func (rq *Request) SetRouter(node catalog.ShardID, routes *routing.Cache) {
	rq.router, rq.routerView = node, routerView{cache: routes, config: rq.env.config, shards: rq.env.shards}
}

// JoinTo says which collection a pipeline is about.
func (rq *Request) JoinTo(ns string) { rq.routerView.joins = ns }

// Background returns a request that no client has sent: no router stands
// between it and the nodes, and no failure is armed for it.
func (c *Cluster) Background() *Request { return c.env.background() }

func (env *environment) background() *Request { return &Request{env: env} }

// HasSlowNodes reports whether nodes are slow that the command may have asked.
func (rq *Request) HasSlowNodes() bool { return len(rq.env.faults.slow) > 0 }

// SlownessDelay returns how much longer slow nodes make the command, which sent
// and received so many bytes.
func (rq *Request) SlownessDelay(bytes int64) time.Duration {
	if len(rq.env.faults.slow) == 0 {
		return 0
	}
	return rq.env.faults.commandDelay(rq.nodeResults, bytes)
}

// contact lets the router send the command under way to a node.
func (rq *Request) contact(id catalog.ShardID) error {
	if rq.command == "" {
		return nil // no client's command
	}
	if err := rq.env.faults.checkReachable(rq.router, id); err != nil {
		return err
	}
	if rq.contactedNodes == nil {
		rq.contactedNodes = rq.contactedBuf[:0]
	}
	if !slices.Contains(rq.contactedNodes, id) {
		rq.contactedNodes = append(rq.contactedNodes, id)
	}
	if len(rq.env.faults.failures) == 0 && len(rq.env.faults.slow) == 0 {
		return rq.nodeResults[id] // as nearly always: nothing to remember
	}
	err, known := rq.nodeResults[id]
	if known {
		return err
	}
	if f := rq.env.faults.takeFailure(rq.command, id); f != nil {
		err = rq.shardFailure(id, f)
	}
	if rq.nodeResults == nil {
		rq.nodeResults = map[catalog.ShardID]error{}
	}
	rq.nodeResults[id] = err
	return err
}

// EachContacted calls give with each contacted node and its result.
func (rq *Request) EachContacted(give func(id catalog.ShardID, err error)) {
	for _, id := range rq.contactedNodes {
		give(id, rq.nodeResults[id])
	}
}

// shardFailure returns what the router makes of a failure of one shard: a connection
// that is closed is its own trouble with the shard, and a write concern error
// does not stop the command.
func (rq *Request) shardFailure(id catalog.ShardID, f *Failure) error {
	switch {
	case f.CloseConnection:
		return rq.env.faults.connectionLostError(id)
	case f.WriteConcernError == nil:
		return f.Err()
	case rq.writeConcernError == nil:
		rq.writeConcernError = f.WriteConcernError
	}
	return nil
}

// WriteConcernError returns the write concern error of a shard for the current command
// (which was applied); nil without.
func (rq *Request) WriteConcernError() bson.D {
	return rq.writeConcernError
}

// ContactedShards lists the shards that the request went to, by name.
func (rq *Request) ContactedShards() (ids []catalog.ShardID) {
	for _, id := range rq.contactedNodes {
		if rq.env.shards[id] != nil && rq.nodeResults[id] == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// SecondaryLag is how far the secondaries of the nodes that the request went to are behind;
// 0 where none of them has one.
func (rq *Request) SecondaryLag() time.Duration {
	var most time.Duration
	for id := range rq.nodeResults {
		most = max(most, rq.env.faults.slow[id].Secondary)
	}
	return most
}

// AwaitSecondaries waits until those have what the request has written.
func (rq *Request) AwaitSecondaries(d time.Duration) error {
	over := false
	defer rq.env.clock.After(d, func() { over = true }).Cancel()
	return rq.env.clock.Await(rq.ctx, rq.deadline, func() bool { return over })
}

// primarySearchTimeout is how long a router or the config server looks for the primary of a shard before
// it gives up.
const primarySearchTimeout = 20 * time.Second

// WaitForNodes makes the request wait for unavailable shards when it inspects them. Reads
// and writes of documents never wait, to keep tests of faults fast.
func (rq *Request) WaitForNodes() { rq.waitsForNodes = true }

// contactOrWait is ask for what looks at a shard.
func (rq *Request) contactOrWait(id catalog.ShardID) error {
	if rq.waitsForNodes && id != configShard && rq.env.faults.checkReachable(rq.router, id) != nil {
		if err := rq.awaitNode(rq.router, id); err != nil {
			return err
		}
	}
	return rq.contact(id)
}

// awaitNode waits for a shard that is away, as long as a server looks for its primary (recording
// 20-live, 10-shard-down).
func (rq *Request) awaitNode(from, id catalog.ShardID) error {
	over := false
	defer rq.env.clock.After(primarySearchTimeout, func() { over = true }).Cancel()
	there := func() bool { return rq.env.faults.checkReachable(from, id) == nil }
	if err := rq.env.clock.Await(rq.ctx, rq.deadline, func() bool { return over || there() }); err != nil || there() {
		return err
	}
	return mongoerr.New(mongoerr.FailedToSatisfyReadPreference,
		"Could not find host matching read preference { mode: \"primary\" } for set %s", setName(rq.env.addresses.HostOf(id)))
}

// ContactShardsFromConfig asks each shard as the config server does, which waits for those that are away.
func (rq *Request) ContactShardsFromConfig() error {
	for _, id := range rq.env.shards.ids() {
		if rq.env.faults.checkReachable(configShard, id) == nil {
			continue
		}
		if err := rq.awaitNode(configShard, id); mongoerr.Is(err, mongoerr.FailedToSatisfyReadPreference) {
			return mongoerr.Wrap(err, "Failed to get stats for balancing from shard '"+string(id)+"'")
		} else if err != nil {
			return err
		}
	}
	return nil
}

// contactAll asks some shards.
func (rq *Request) contactAll(ids []catalog.ShardID) error {
	for _, id := range ids {
		if err := rq.contact(id); err != nil {
			return err
		}
	}
	return nil
}

// contactTargets asks the shards that can have documents which match.
func (rq *Request) contactTargets(targets []target, ask func(catalog.ShardID) error) error {
	for _, t := range targets {
		id := configShard
		if t.shard != nil {
			id = t.shard.id
		}
		if err := ask(id); err != nil {
			return err
		}
	}
	return nil
}

// Contact reports whether the router reaches what a request for a namespace goes to.
func (rq *Request) Contact(ns string, filter *filter.Filter) error {
	if ns == chunksNamespace {
		return rq.contact(configShard)
	}
	rq.routerView.route(ns, filter, false)
	return rq.contactTargets(rq.env.locator.targets(ns, filter), rq.contactOrWait)
}

// ContactUnversioned is Contact of a request that carries no version: no shard refuses it.
func (rq *Request) ContactUnversioned(ns string) error {
	return rq.contactTargets(rq.env.locator.targets(ns, nil), rq.contactOrWait)
}

// ContactConfig reports whether the router reaches the config server.
func (rq *Request) ContactConfig() error { return rq.contact(configShard) }

// ContactShards reports whether the router reaches every shard.
func (rq *Request) ContactShards() error {
	for _, id := range rq.env.shards.ids() {
		if err := rq.contactOrWait(id); err != nil {
			return err
		}
	}
	return nil
}

// ContactPrimary reports whether the router reaches a database's primary.
func (rq *Request) ContactPrimary(db string) error {
	primary, known := rq.env.config.Primary(db)
	if !known {
		return nil
	}
	return rq.contact(primary)
}

// unacknowledgedError returns how a mongos reports a write whose shard did not
// answer.
func unacknowledgedError(id catalog.ShardID, err error) error {
	if !mongoerr.Is(err, mongoerr.HostUnreachable) {
		return err
	}
	return mongoerr.Wrap(err, "Write results unavailable from "+string(id))
}
