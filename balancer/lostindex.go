package balancer

import (
	"context"
	"errors"

	"shardsh/balancer/policy"
)

// handleLostHashedIndex handles a migration that failed with IndexNotFound. From 8.0 on, the index of a
// hashed shard key may be dropped. If it was, handleLostHashedIndex switches off the balancing of the
// collection, since none of its chunks can move (rules/01-rounds-and-settings §1.6). It returns false
// for every other collection.
func (l *Loop) handleLostHashedIndex(m policy.Migration) bool {
	if !l.cfg.Release.DisablesOnMissingIndex() {
		return false
	}
	routing, err := l.routing(m.Namespace)
	if err != nil || routing.Collection.Pattern.HashedField() < 0 {
		return false
	}
	l.cfg.Logger.Info("a hashed shard key has no index, balancing of the collection is switched off", "id", 78252,
		"ns", m.Namespace)
	err = callWithoutValue(&l.thread, "switchOff", func(ctx context.Context, c Cluster) error {
		return c.SwitchOffBalancing(ctx, m.Namespace)
	})
	if err != nil && !errors.Is(err, errTerminated) {
		l.cfg.Logger.Warn("balancing not switched off", "ns", m.Namespace, "error", err)
	}
	return true
}
