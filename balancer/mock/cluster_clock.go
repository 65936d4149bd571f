package mock

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
)

// Clock gives scripts a cluster's time. Its methods take the lock.
type Clock = clock.Shared

// Clock is that of the cluster.
func (c *Cluster) Clock() Clock { return c.clock.Shared() }

// Lock takes the cluster's lock.
func (c *Cluster) Lock() { c.clock.Lock() }

// Unlock gives the lock back.
func (c *Cluster) Unlock() { c.clock.Unlock() }

// Outside gives the lock back while work runs, which must not touch the cluster,
// and takes it again.
func (c *Cluster) Outside(work func() error) error { return c.clock.Outside(work) }

// Now returns the cluster's time, for a caller that holds the lock.
func (c *Cluster) Now() time.Time { return c.clock.Now() }

// LastNow returns the cluster's time as it was when the lock was given back last.
// It needs no lock.
func (c *Cluster) LastNow() time.Time { return c.clock.LastNow() }

// Started is when the cluster began, in its own time.
func (c *Cluster) Started() time.Time { return c.clock.Started() }

// RealTime reports whether time passes as on the wall.
func (c *Cluster) RealTime() bool { return c.clock.RealTime() }

// Await blocks the caller, who holds the lock, until done; a deadline that is not
// zero ends the wait with MaxTimeMSExpired.
func (c *Cluster) Await(ctx context.Context, deadline time.Time, done func() bool) error {
	return c.clock.Await(ctx, deadline, done)
}

// Spend lets a command take virtual time.
func (c *Cluster) Spend(d time.Duration) { c.clock.Spend(d) }

// Advance lets virtual time jump; everything due by then happens. On real time
// it is refused.
func (c *Cluster) Advance(d time.Duration) error { return c.clock.Advance(d) }

// Replaced counts how often another state took the place of the whole one. It needs
// no lock.
func (c *Cluster) Replaced() int64 { return c.clock.Replaced() }

// GossipTime returns the newest logical time given out. It needs no lock.
func (c *Cluster) GossipTime() bson.Timestamp { return c.ids.GossipTime() }

// IDs gives out ObjectIds, UUIDs and logical times.
func (c *Cluster) IDs() *ids.Source { return c.ids }

// After has something happen when d has passed, with the lock held, as faults of tests
// that come at any moment. The caller holds the lock.
func (c *Cluster) After(d time.Duration, happens func()) { c.clock.After(d, happens) }
