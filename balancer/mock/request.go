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
	// asked is what came of its way to nodes while failures were armed or nodes slow; went are
	// all that it went to, of which the first lie in room.
	asked map[catalog.ShardID]error
	went  []catalog.ShardID
	room  [4]catalog.ShardID
	// concern is the first write concern error that a shard was made to answer.
	concern bson.D
	// reached is how many shards the newest read or insert went to.
	reached int
	// ctx, deadline and outside are the command's; nil for the cluster's own.
	ctx      context.Context
	deadline time.Time
	outside  Computing
	// router has sent it, and knows of the catalog what routes say.
	router catalog.ShardID
	routes known
	// patient: it looks, and waits for a node that is away.
	patient bool
	// key is the newest document's shard key, and room for the next one's.
	key []byte
	// landing is where its newest new document went.
	landing insertTarget
}

// BeginRequest begins a client's command; the failure armed for it, if any, is
// the caller's to report.
func (c *Cluster) BeginRequest(command string) (*Request, *Failure) {
	return &Request{env: c.env, command: command, router: routerNode}, c.faults.takeFailure(command, "")
}

// Through says which router has sent the request, and what it knows of the catalog.
func (rq *Request) Through(node catalog.ShardID, routes *routing.Cache) {
	rq.router, rq.routes = node, known{routes, rq.env.config, rq.env.shards}
}

// Background returns a request that no client has sent: no router stands
// between it and the nodes, and no failure is armed for it.
func (c *Cluster) Background() *Request { return c.env.background() }

func (env *environment) background() *Request { return &Request{env: env} }

// Slow reports whether nodes are slow that the command may have asked.
func (rq *Request) Slow() bool { return len(rq.env.faults.slow) > 0 }

// End returns how much longer slow nodes make the command, which sent
// and received so many bytes.
func (rq *Request) End(bytes int64) time.Duration {
	if len(rq.env.faults.slow) == 0 {
		return 0
	}
	return rq.env.faults.delay(rq.asked, bytes)
}

// ask lets the router send the command under way to a node.
func (rq *Request) ask(id catalog.ShardID) error {
	if rq.command == "" {
		return nil // no client's command
	}
	if err := rq.env.faults.reach(rq.router, id); err != nil {
		return err
	}
	if rq.went == nil {
		rq.went = rq.room[:0]
	}
	if !slices.Contains(rq.went, id) {
		rq.went = append(rq.went, id)
	}
	if len(rq.env.faults.failures) == 0 && len(rq.env.faults.slow) == 0 {
		return rq.asked[id] // as nearly always: nothing to remember
	}
	err, known := rq.asked[id]
	if known {
		return err
	}
	if f := rq.env.faults.takeFailure(rq.command, id); f != nil {
		err = rq.failOn(id, f)
	}
	if rq.asked == nil {
		rq.asked = map[catalog.ShardID]error{}
	}
	rq.asked[id] = err
	return err
}

// EachAsked gives the nodes that the request went to, and what came of that.
func (rq *Request) EachAsked(give func(id catalog.ShardID, err error)) {
	for _, id := range rq.went {
		give(id, rq.asked[id])
	}
}

// failOn returns what the router makes of a failure of one shard: a connection
// that is closed is its own trouble with the shard, and a write concern error
// does not stop the command.
func (rq *Request) failOn(id catalog.ShardID, f *Failure) error {
	switch {
	case f.CloseConnection:
		return rq.env.faults.connectionLost(id)
	case f.WriteConcernError == nil:
		return f.Err()
	case rq.concern == nil:
		rq.concern = f.WriteConcernError
	}
	return nil
}

// WriteConcernError returns what a shard answered to the command under way
// besides having done it; nil without.
func (rq *Request) WriteConcernError() bson.D {
	return rq.concern
}

// Behind is how far the secondaries of the nodes that the request went to are behind;
// 0 where none of them has one.
func (rq *Request) Behind() time.Duration {
	var most time.Duration
	for id := range rq.asked {
		most = max(most, rq.env.faults.behind(id))
	}
	return most
}

// AwaitSecondaries waits until those have what the request has written.
func (rq *Request) AwaitSecondaries(d time.Duration) error {
	over := false
	defer rq.env.clock.After(d, func() { over = true }).Cancel()
	return rq.env.clock.Await(rq.ctx, rq.deadline, func() bool { return over })
}

// finding is how long a router or the config server looks for the primary of a shard before
// it gives up.
const finding = 20 * time.Second

// Patient has the request wait for shards that are away where it looks at them. What reads
// and writes documents does not, so that tests of faults need not wait.
func (rq *Request) Patient() { rq.patient = true }

// seek is ask for what looks at a shard.
func (rq *Request) seek(id catalog.ShardID) error {
	if rq.patient && id != configShard && rq.env.faults.reach(rq.router, id) != nil {
		if err := rq.find(rq.router, id); err != nil {
			return err
		}
	}
	return rq.ask(id)
}

// find waits for a shard that is away, as long as a server looks for its primary (recording
// 20-live, 10-shard-down).
func (rq *Request) find(from, id catalog.ShardID) error {
	over := false
	defer rq.env.clock.After(finding, func() { over = true }).Cancel()
	there := func() bool { return rq.env.faults.reach(from, id) == nil }
	if err := rq.env.clock.Await(rq.ctx, rq.deadline, func() bool { return over || there() }); err != nil || there() {
		return err
	}
	return mongoerr.New(mongoerr.FailedToSatisfyReadPreference,
		"Could not find host matching read preference { mode: \"primary\" } for set %s", setOf(rq.env.addresses.HostOf(id)))
}

// FromConfig asks each shard as the config server does, which waits for those that are away.
func (rq *Request) FromConfig() error {
	for _, id := range rq.env.shards.ids() {
		if rq.env.faults.reach(configShard, id) == nil {
			continue
		}
		if err := rq.find(configShard, id); mongoerr.Is(err, mongoerr.FailedToSatisfyReadPreference) {
			return mongoerr.Wrap(err, "Failed to get stats for balancing from shard '"+string(id)+"'")
		} else if err != nil {
			return err
		}
	}
	return nil
}

// askAll asks some shards.
func (rq *Request) askAll(ids []catalog.ShardID) error {
	for _, id := range ids {
		if err := rq.ask(id); err != nil {
			return err
		}
	}
	return nil
}

// askTargets asks the shards that can have documents which match.
func (rq *Request) askTargets(targets []target, ask func(catalog.ShardID) error) error {
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

// Ask reports whether the router reaches what a request for a namespace goes to.
func (rq *Request) Ask(ns string, filter *filter.Filter) error {
	if ns == chunksNamespace {
		return rq.ask(configShard)
	}
	rq.routes.route(ns, filter, false)
	return rq.askTargets(rq.env.locator.targets(ns, filter), rq.seek)
}

// AskConfig reports whether the router reaches the config server.
func (rq *Request) AskConfig() error { return rq.ask(configShard) }

// AskShards reports whether the router reaches every shard.
func (rq *Request) AskShards() error {
	for _, id := range rq.env.shards.ids() {
		if err := rq.seek(id); err != nil {
			return err
		}
	}
	return nil
}

// AskPrimary reports whether the router reaches a database's primary.
func (rq *Request) AskPrimary(db string) error {
	primary, known := rq.env.config.Primary(db)
	if !known {
		return nil
	}
	return rq.ask(primary)
}

// unacknowledged returns how a mongos reports a write whose shard did not
// answer.
func unacknowledged(id catalog.ShardID, err error) error {
	if !mongoerr.Is(err, mongoerr.HostUnreachable) {
		return err
	}
	return mongoerr.Wrap(err, "Write results unavailable from "+string(id))
}
