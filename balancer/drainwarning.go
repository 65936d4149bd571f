package balancer

import "shardsh/balancer/catalog"

// warnDraining checks, at most every ten minutes, whether there are shards whose draining can't make
// progress because the balancer is off or because a collection may not be balanced
// (rules/01-rounds-and-settings §1.5).
func (l *Loop) warnDraining() error {
	if !l.lastDrainCheck.IsZero() && l.now.Sub(l.lastDrainCheck) < DrainWarningInterval {
		return nil
	}
	shards, err := readShards(&l.thread)
	if err != nil {
		return err
	}
	l.lastDrainCheck = l.now
	var draining []catalog.ShardID
	for _, s := range shards {
		if s.Draining {
			draining = append(draining, s.ID)
		}
	}
	if len(draining) == 0 {
		return nil
	}
	if settings := l.effectiveSettings(); settings.Mode == catalog.ModeOff {
		l.cfg.Logger.Warn("shards are draining while the balancer is off", "id", 6434000, "shards", draining)
		return nil
	}
	return l.warnBlocked(draining)
}

func (l *Loop) warnBlocked(draining []catalog.ShardID) error {
	colls, err := l.collections()
	if err != nil {
		return err
	}
	for _, coll := range colls {
		if coll.BalanceableIn(l.cfg.Release) {
			continue
		}
		routing, err := l.routing(coll.Namespace)
		if err != nil {
			return err
		}
		var owning []catalog.ShardID
		for _, id := range draining {
			if routing.Table.CountOn(id) > 0 {
				owning = append(owning, id)
			}
		}
		if len(owning) > 0 {
			l.cfg.Logger.Warn("a draining shard owns chunks of a collection that may not be balanced",
				"id", 7977400, "uuid", coll.UUID, "ns", coll.Namespace, "shards", owning)
		}
	}
	return nil
}
