package mock

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/secondary"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// Node says which nodes of the shards a read goes to, and what they are asked for. The
// zero value is primaries that check what they are sent.
type Node struct {
	// Secondary reads from the secondaries of shards where those are behind; elsewhere
	// they have what the primaries have.
	Secondary bool
	// Only: a shard whose secondary is behind by more than Most (0 is any lag) has
	// nobody to be asked; otherwise its primary is.
	Only bool
	Most time.Duration
	// After is the logical time that a node must have reached.
	After bson.Timestamp
	// Available is the read concern of that name: a read is sent as the router knows the
	// collection, which may be wrong, and no shard checks that. Each gives what it has,
	// orphans included.
	Available bool
}

// heartbeat is how old a router takes its newest word of a secondary for.
const heartbeat = 10 * time.Second

// selecting is how long a router looks for a node that suits a read.
const selecting = 15 * time.Second

// ReadsFrom is Reads from certain nodes. A secondary that does not know yet where the
// collection lies, as its router does, is waited for: but for "available", a shard's node
// asks its primary for newer metadata (docs: Read Concern "available"), and has to have
// what that has written of them.
func (rq *Request) ReadsFrom(n Node, ns string, filter *filter.Filter) ([]Read, error) {
	if rq.routes.cache == nil || rq.env.config.holds(ns) {
		return rq.Reads(ns, filter)
	}
	for {
		l, err := rq.look(n, ns, filter)
		switch {
		case err != nil:
			return nil, err
		case l.refused:
		case l.until.IsZero():
			return rq.capture(l.targets), nil
		default:
			if err := rq.AwaitSecondaries(l.until.Sub(rq.env.clock.Now())); err != nil {
				return nil, err
			}
		}
	}
}

// looked is what the nodes have of a collection that a read goes to.
type looked struct {
	targets []target
	until   time.Time // when those that are behind may have what the read needs; zero: they have
	refused bool      // the router knows better now
}

// look sends a read.
func (rq *Request) look(n Node, ns string, filter *filter.Filter) (l looked, err error) {
	if !n.Available && rq.routes.cache.Table(ns, rq.env.config) == nil {
		rq.routes.route(ns, filter, false)
	}
	ids, known := rq.routes.routed(ns, filter)
	if err := rq.askAll(ids); err != nil {
		return l, err
	}
	now := rq.env.clock.Now()
	for _, id := range ids {
		m, err := rq.suits(n, id)
		if err != nil {
			return l, err
		}
		t, fits := rq.env.locator.targetOn(id, m, ns, known, now)
		at, later := m.Reaches(n.After, now)
		if !fits && !n.Available {
			l.refused = l.refused || rq.routes.refuses(id, ns)
			at, later = m.Next(now, ns, databaseOf(ns))
		}
		if later && at.After(l.until) {
			l.until = at
		}
		if n.Available {
			t.table = nil
		}
		if t.docs != nil {
			l.targets = append(l.targets, t)
		}
	}
	return l, nil
}

// suits returns the secondary of a shard to be asked; nil for its primary, or for a
// secondary that is not behind.
func (rq *Request) suits(n Node, id catalog.ShardID) (*secondary.Member, error) {
	m := rq.env.faults.secondaries[id]
	switch {
	case !n.Secondary || m == nil:
		return nil, nil
	case n.Most == 0 || rq.env.faults.behind(id)+heartbeat <= n.Most:
		return m, nil
	case !n.Only:
		return nil, nil
	}
	if err := rq.AwaitSecondaries(selecting); err != nil {
		return nil, err
	}
	return nil, mongoerr.New(mongoerr.FailedToSatisfyReadPreference,
		"Could not find host matching read preference { mode: \"secondary\", maxStalenessSeconds: %d } for set %s",
		int64(n.Most.Seconds()), setOf(rq.env.addresses.hostOf(id)))
}

// CountOn returns the fast count of a collection where a read goes: orphans and virtual
// data are in it.
func (rq *Request) CountOn(r Read, ns string) int64 {
	n := r.target.docs.Count()
	if l := rq.env.shards.member(r.Shard, ns); l != nil {
		n += l.virtual.docs
	}
	return n
}
