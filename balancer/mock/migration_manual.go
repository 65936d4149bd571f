package mock

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// checkManualMove returns what config servers up to 5.0 refuse to do by hand:
// to move a chunk where the balancer would not (spec 01 §1.9).
func (ms *Migrations) checkManualMove(req MoveRequest) error {
	if ms.c.release.BalancesBySize() {
		return nil
	}
	coll, ok, err := ms.c.config.Tracked(req.Namespace)
	if err != nil || !ok {
		return err
	}
	to, err := ms.c.config.ShardByID(string(req.To))
	if err != nil {
		return err
	}
	zone, err := ms.zoneOf(coll, req)
	if err != nil {
		return err
	}
	target := []catalog.Shard{to}
	ms.c.Statistics().markFull(target)
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

func (ms *Migrations) zoneOf(coll catalog.Collection, req MoveRequest) (string, error) {
	zones, err := ms.c.config.zonesOf(coll)
	if err != nil {
		return catalog.NoZone, err
	}
	at, err := coll.Pattern.Key(req.Min)
	if err != nil {
		return catalog.NoZone, err
	}
	chunk := ms.c.config.table(req.Namespace).Find(at)
	return zones.ZoneOf(chunk.Min, chunk.Max), nil
}

// Move runs a manual migration to its end. The caller holds the lock.
func (ms *Migrations) Move(ctx context.Context, req MoveRequest, deadline time.Time) error {
	if err := ms.checkManualMove(req); err != nil {
		return err
	}
	if err := ms.c.balancer.awaitScheduler(ctx, deadline); err != nil {
		return err
	}
	var result error
	ended := false
	ms.Start(req, func(err error) { result, ended = err, true })
	if err := ms.c.Await(ctx, deadline, func() bool { return ended }); err != nil {
		return err
	}
	return ms.outcome(req, result)
}

// outcome makes a failure a success when the range is on the recipient all
// the same (spec 02 §4.6).
func (ms *Migrations) outcome(req MoveRequest, err error) error {
	table := ms.c.config.table(req.Namespace)
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

// Donating reports whether a shard gives away a part of the collection just now.
func (ms *Migrations) Donating(ns string, id catalog.ShardID) bool {
	s := ms.c.shards[id]
	return s != nil && s.busy != nil && s.busy.donor == s && s.busy.req.Namespace == ns
}

// AwaitDonation blocks until the shard gives nothing of the collection away:
// splits and merges wait for that (spec 02 §5.2).
func (ms *Migrations) AwaitDonation(ctx context.Context, deadline time.Time, ns string, id catalog.ShardID) error {
	return ms.c.Await(ctx, deadline, func() bool { return !ms.Donating(ns, id) })
}
