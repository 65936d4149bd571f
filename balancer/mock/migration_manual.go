package mock

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// checkManualMove is what config servers up to 5.0 refuse to do by hand: to
// move a chunk where the balancer would not (spec 01 §1.9).
func (c *Cluster) checkManualMove(req MoveRequest) error {
	if c.release.BalancesBySize() {
		return nil
	}
	coll, ok, err := c.config.Tracked(req.Namespace)
	if err != nil || !ok {
		return err
	}
	to, err := c.config.ShardByID(string(req.To))
	if err != nil {
		return err
	}
	zone, err := c.zoneOf(coll, req)
	if err != nil {
		return err
	}
	target := []catalog.Shard{to}
	c.markFull(target)
	switch {
	case target[0].Full():
		return mongoerr.New(mongoerr.IllegalOperation, "shard %s has reached its maximum size", to.ID)
	case to.Draining:
		return mongoerr.New(mongoerr.IllegalOperation, "shard %s is draining", to.ID)
	case zone != catalog.NoZone && !to.HasZone(zone):
		return mongoerr.New(mongoerr.IllegalOperation, "shard %s is not in zone %s of the chunk", to.ID, zone)
	}
	return nil
}

func (c *Cluster) zoneOf(coll catalog.Collection, req MoveRequest) (string, error) {
	zones, err := c.config.zonesOf(coll)
	if err != nil {
		return catalog.NoZone, err
	}
	at, err := coll.Pattern.Key(req.Min)
	if err != nil {
		return catalog.NoZone, err
	}
	chunk := c.config.tables[req.Namespace].Find(at)
	return zones.ZoneOf(chunk.Min, chunk.Max), nil
}

// Move runs a manual migration to its end. The caller holds the lock.
func (c *Cluster) Move(ctx context.Context, req MoveRequest, deadline time.Time) error {
	if err := c.checkManualMove(req); err != nil {
		return err
	}
	if err := c.awaitScheduler(ctx, deadline); err != nil {
		return err
	}
	var result error
	ended := false
	c.StartMove(req, func(err error) { result, ended = err, true })
	if err := c.Await(ctx, deadline, func() bool { return ended }); err != nil {
		return err
	}
	return c.outcome(req, result)
}

// outcome makes a failure a success when the range is on the recipient all
// the same (spec 02 §4.6).
func (c *Cluster) outcome(req MoveRequest, err error) error {
	table := c.config.tables[req.Namespace]
	if err == nil || table == nil || mongoerr.Is(err, mongoerr.BalancerInterrupted) {
		return err
	}
	bound, find := req.Min, table.Find
	if bound == nil {
		bound, find = req.Max, func(k catalog.Key) catalog.Chunk { return EndingAt(table, k) }
	}
	if key, keyErr := table.Pattern().Key(bound); keyErr == nil && find(key).Shard == req.To {
		return nil
	}
	return err
}

// Donating tells whether a shard gives away a part of the collection just now.
func (c *Cluster) Donating(ns string, id catalog.ShardID) bool {
	s := c.shards[id]
	return s != nil && s.busy != nil && s.busy.donor == s && s.busy.req.Namespace == ns
}

// AwaitDonation blocks until the shard gives nothing of the collection away:
// splits and merges wait for that (spec 02 §5.2).
func (c *Cluster) AwaitDonation(ctx context.Context, deadline time.Time, ns string, id catalog.ShardID) error {
	return c.Await(ctx, deadline, func() bool { return !c.Donating(ns, id) })
}
