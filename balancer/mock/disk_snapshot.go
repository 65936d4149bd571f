package mock

import (
	"fmt"

	"shardsh/balancer"
	"shardsh/balancer/mock/disk"
)

// Save writes the whole cluster to a file that Load and Config.Snapshot read.
// The file is replaced when all of it is written. Save takes the lock.
func (c *Cluster) Save(path string) error {
	var entries []disk.Entry
	c.Lock()
	newTracker(true).capture(c, true, func(e disk.Entry) { entries = append(entries, e) })
	header := disk.Header{Version: c.Version(), Made: c.now().UTC()}
	c.Unlock()
	return disk.WriteSnapshot(path, header, entries)
}

// openSnapshot fills the empty cluster from a file.
func (c *Cluster) openSnapshot(cfg Config) error {
	s, err := disk.ReadSnapshot(cfg.Snapshot)
	if err != nil {
		return err
	}
	if err := c.load(s, newTracker(true)); err != nil {
		return fmt.Errorf("snapshot %s: %w", cfg.Snapshot, err)
	}
	if err := c.adjust(cfg); err != nil {
		return err
	}
	c.rollBack()
	return nil
}

// Restored loads a stored state into a cluster that does not run, and returns
// all that is to be written of it, and what in it contradicts itself.
func Restored(from disk.Source) (all func(emit func(disk.Entry)), broken []string, err error) {
	c := newCluster(Config{})
	if err := c.load(from, newTracker(true)); err != nil {
		return nil, nil, err
	}
	all = func(emit func(disk.Entry)) {
		newTracker(true).capture(c, true, emit)
		for session, write := range from.Each(disk.BucketWrites) {
			emit(disk.Entry{Bucket: disk.BucketWrites, Key: session, Value: write})
		}
	}
	return all, c.Broken(), nil
}

// FreshState returns what a new cluster writes of its clocks, counters and
// parameters.
func FreshState() (entries []disk.Entry) {
	newTracker(true).capture(newCluster(Config{}), true, func(e disk.Entry) {
		if e.Bucket == disk.BucketMeta {
			entries = append(entries, e)
		}
	})
	return entries
}

// Load replaces the whole cluster by what a file holds that Save has made. A
// file that can't be read changes nothing. Migrations and reshardings under way
// end, in the cluster as in the file, and so do faults; whoever waits is
// interrupted. What OnReplaced has registered changes in the same step. Load
// takes the lock.
func (c *Cluster) Load(path string) error {
	s, err := disk.ReadSnapshot(path)
	if err != nil {
		return err
	}
	fresh, err := c.empty()
	if err != nil {
		return err
	}
	if err := fresh.load(s, newTracker(true)); err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	c.Lock()
	defer c.Unlock()
	if c.closed {
		return errClosed()
	}
	if fresh.release != c.release {
		return fmt.Errorf("snapshot %s: it is of a %s cluster, this one is of %s: start with --snapshot to go on with it",
			path, fresh.release, c.release)
	}
	c.balancer.end()
	if err := c.replaceState(fresh); err != nil {
		return err
	}
	for _, follow := range c.onReplaced {
		follow()
	}
	if err := c.takeAddresses(); err != nil {
		return err
	}
	c.rollBack()
	c.every(pingInterval, c.ping)
	c.changes.reset()
	c.ttl.planned = false
	c.ttl.watch()
	c.balancer.begin()
	c.forgetWrites() // they were of the state before
	c.persist()
	c.cond.Broadcast()
	return nil
}

// OnReplaced registers what is called, with the lock held, in the step in which
// another state takes the place of the cluster's: for who knows something of
// that state. The caller holds the lock.
func (c *Cluster) OnReplaced(follow func()) { c.onReplaced = append(c.onReplaced, follow) }

// empty returns a cluster like this one that holds nothing and does not run.
func (c *Cluster) empty() (*Cluster, error) {
	c.Lock()
	defer c.Unlock()
	fresh := newCluster(Config{RealTime: c.realTime, Start: c.now(), Seed: c.seed, Logger: c.logger, Version: c.release})
	return fresh, fresh.parameters.restore(encode(c.parameters.values()))
}

// replaceState takes over what another cluster holds. Events of the state
// before are dropped with its queue.
func (c *Cluster) replaceState(by *Cluster) error {
	if err := c.parameters.restore(encode(by.parameters.values())); err != nil {
		return err
	}
	c.config.collections, c.config.tables = by.config.collections, by.config.tables
	c.collections.views, c.users = by.collections.views, by.users
	c.shards, c.membership.removed, c.membership.hadTwo = by.shards, by.membership.removed, by.membership.hadTwo
	c.migrations.reset()
	c.reshardings.reset()
	*c.chance = *by.chance
	c.process, c.counter, c.term = by.process, by.counter, by.term
	if c.lastStamp.Before(by.lastStamp) {
		c.lastStamp = by.lastStamp
		c.gossip.Store(by.gossip.Load())
	}
	c.faults.configDown = false
	c.faults.heal()
	c.queue = balancer.NewQueue(by.queue.Now())
	c.replaced++
	return nil
}
