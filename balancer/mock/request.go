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

// environment holds the parts of a cluster that requests use.
type environment struct {
	*clusterSettings
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
	log          *configLogs
	migrations   *Migrations
	shards       shardSet
	stats        *Statistics
	ttl          *ttlMonitor
}

// Request is a command in progress: a client's, or one of the cluster's own (see BackgroundRequest).
type Request struct {
	env *environment
	// command is the name of the command; empty for the cluster's own requests.
	command string
	// nodeResults holds the results of contacting nodes while failures were injected or nodes slow.
	// contactedNodes holds all contacted nodes.
	nodeResults    map[catalog.ShardID]error
	contactedNodes []catalog.ShardID
	contactedBuf   [4]catalog.ShardID
	// writeConcernError is the first injected write concern error of a shard.
	writeConcernError bson.D
	// shardsReached is the number of shards of the last read or insert.
	shardsReached int
	// ctx, deadline and unlocked belong to the command; they are nil or zero for the cluster's own
	// requests.
	ctx      context.Context
	deadline time.Time
	unlocked UnlockedRunner
	// router is the router that has sent the request, routerView its routing table cache.
	router     catalog.ShardID
	routerView routerView
	// waitsForNodes reports whether the request waits for unavailable nodes.
	waitsForNodes bool
	// lastKey is the encoded shard key of the last document, and a buffer for the next one.
	lastKey []byte
	// secondary tracks the documents that reads lose on secondaries; nil for reads from primaries.
	secondary *SecondaryRead
	// insertTarget is the target of the last insert.
	insertTarget insertTarget
}

// BeginRequest starts a client's command. It returns the injected failure for the command, if any, which
// the caller must report.
func (c *Cluster) BeginRequest(command string) (*Request, *Failure) {
	return &Request{env: c.env, command: command, router: routerNode}, c.faults.takeFailure(command, "")
}

// SetRouter sets the router that has sent the request, and its routing cache.
func (rq *Request) SetRouter(node catalog.ShardID, routes *routing.Cache) {
	rq.router, rq.routerView = node, routerView{cache: routes, config: rq.env.config, shards: rq.env.shards}
}

// SetMainCollection sets the main collection of a pipeline.
func (rq *Request) SetMainCollection(ns string) { rq.routerView.mainCollection = ns }

// BackgroundRequest returns a request of the cluster itself, which no router sends and to which no injected
// failure applies.
func (c *Cluster) BackgroundRequest() *Request { return c.env.backgroundRequest() }

func (env *environment) backgroundRequest() *Request { return &Request{env: env} }

// HasSlowNodes reports whether any nodes are slow.
func (rq *Request) HasSlowNodes() bool { return len(rq.env.faults.slow) > 0 }

// SlownessDelay returns the additional time of a command because of slow nodes. bytes is the size of its
// request and reply.
func (rq *Request) SlownessDelay(bytes int64) time.Duration {
	if len(rq.env.faults.slow) == 0 {
		return 0
	}
	return rq.env.faults.commandDelay(rq.nodeResults, bytes)
}

// contact checks that the router can send the current command to a node.
func (rq *Request) contact(id catalog.ShardID) error {
	if rq.command == "" {
		return nil // a request of the cluster itself
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
		return rq.nodeResults[id] // the usual case: no result to record
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

// EachContacted calls give for each contacted node with its result.
func (rq *Request) EachContacted(give func(id catalog.ShardID, err error)) {
	for _, id := range rq.contactedNodes {
		give(id, rq.nodeResults[id])
	}
}

// shardFailure returns the router's result for a failure of one shard. A closed connection is reported
// as a network error of the shard. A write concern error does not stop the command.
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

// WriteConcernError returns the injected write concern error of a shard for the current command, which
// has succeeded; nil if there is none.
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
		most = max(most, rq.env.faults.slow[id].SecondaryLag)
	}
	return most
}

// AwaitSecondaries waits until the secondaries have replicated the writes of the request.
func (rq *Request) AwaitSecondaries(d time.Duration) error {
	over := false
	defer rq.env.clock.After(d, func() { over = true }).Cancel()
	return rq.env.clock.Await(rq.ctx, rq.deadline, func() bool { return over })
}

// primarySearchTimeout is how long a router or the config server searches for the primary of a shard.
const primarySearchTimeout = 20 * time.Second

// SetWaitsForNodes makes the request wait for unavailable shards when it reads their metadata. Reads and
// writes of documents never wait, which keeps fault tests fast.
func (rq *Request) SetWaitsForNodes() { rq.waitsForNodes = true }

// contactOrWait is like contact, but may wait for an unavailable shard (see SetWaitsForNodes).
func (rq *Request) contactOrWait(id catalog.ShardID) error {
	if rq.waitsForNodes && id != configShard && rq.env.faults.checkReachable(rq.router, id) != nil {
		if err := rq.awaitNode(rq.router, id); err != nil {
			return err
		}
	}
	return rq.contact(id)
}

// awaitNode waits for an unavailable shard as long as a server searches for its primary (recording
// 20-live, 10-shard-down).
func (rq *Request) awaitNode(from, id catalog.ShardID) error {
	over := false
	defer rq.env.clock.After(primarySearchTimeout, func() { over = true }).Cancel()
	there := func() bool { return rq.env.faults.checkReachable(from, id) == nil }
	if err := rq.env.clock.Await(rq.ctx, rq.deadline, func() bool { return over || there() }); err != nil || there() {
		return err
	}
	return mongoerr.New(mongoerr.FailedToSatisfyReadPreference,
		"Could not find host matching read preference { mode: \"primary\" } for set %s",
		replicaSetName(rq.env.addresses.HostOf(id)))
}

// ContactShardsFromConfig checks that the config server can reach each shard. It waits for unavailable
// shards.
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

// contactAll contacts several shards.
func (rq *Request) contactAll(ids []catalog.ShardID) error {
	for _, id := range ids {
		if err := rq.contact(id); err != nil {
			return err
		}
	}
	return nil
}

// contactTargets calls ask for each shard that may have matching documents.
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

// Contact contacts the nodes that a request for a namespace targets, and fails if one is unreachable.
func (rq *Request) Contact(ns string, filter *filter.Filter) error {
	if ns == chunksNamespace {
		return rq.contact(configShard)
	}
	rq.routerView.route(ns, filter, false)
	return rq.contactTargets(rq.env.locator.targets(ns, filter), rq.contactOrWait)
}

// ContactUnversioned is like Contact, for a request without a shard version, which no shard rejects as
// stale.
func (rq *Request) ContactUnversioned(ns string) error {
	return rq.contactTargets(rq.env.locator.targets(ns, nil), rq.contactOrWait)
}

// ContactConfig contacts the config server.
func (rq *Request) ContactConfig() error { return rq.contact(configShard) }

// ContactShards contacts every shard.
func (rq *Request) ContactShards() error {
	for _, id := range rq.env.shards.ids() {
		if err := rq.contactOrWait(id); err != nil {
			return err
		}
	}
	return nil
}

// ContactPrimary contacts a database's primary shard.
func (rq *Request) ContactPrimary(db string) error {
	primary, known := rq.env.config.Primary(db)
	if !known {
		return nil
	}
	return rq.contact(primary)
}

// unacknowledgedError returns the error of a mongos for a write whose shard did not reply.
func unacknowledgedError(id catalog.ShardID, err error) error {
	if !mongoerr.Is(err, mongoerr.HostUnreachable) {
		return err
	}
	return mongoerr.Wrap(err, "Write results unavailable from "+string(id))
}
