package mock

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
)

// Clock gives scripts a cluster's time. Its methods take the lock.
type Clock = clock.Shared

// Clock is that of the cluster.
func (c *Cluster) Clock() Clock { return c.clock.Shared() }

// Time is the cluster's clock for those that hold the lock: waits, jumps, events.
func (c *Cluster) Time() *clock.Clock { return c.clock }

// Lock takes the cluster's lock.
func (c *Cluster) Lock() { c.clock.Lock() }

// Unlock gives the lock back.
func (c *Cluster) Unlock() { c.clock.Unlock() }

// Now returns the cluster's time, for a caller that holds the lock.
func (c *Cluster) Now() time.Time { return c.clock.Now() }

// GossipTime returns the newest logical time given out. It needs no lock.
func (c *Cluster) GossipTime() bson.Timestamp { return c.ids.GossipTime() }

// IDs gives out ObjectIds, UUIDs and logical times.
func (c *Cluster) IDs() *ids.Source { return c.ids }
