package mock

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// checkManualMove is what config servers up to 5.0 refuse to do by hand: to
// move a chunk where the balancer would not (spec 01 §1.9).
func (c *Cluster) checkManualMove(req MoveRequest) error {
	if c.release.BalancesBySize() {
		return nil
	}
	coll, ok, err := c.Tracked(req.Namespace)
	if err != nil || !ok {
		return err
	}
	to, err := c.ShardByID(string(req.To))
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
	zones, err := c.zonesOf(coll)
	if err != nil {
		return catalog.NoZone, err
	}
	at, err := coll.Pattern.Key(req.Min)
	if err != nil {
		return catalog.NoZone, err
	}
	chunk := c.tables[req.Namespace].Find(at)
	return zones.ZoneOf(chunk.Min, chunk.Max), nil
}
