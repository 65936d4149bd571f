package mock

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// routerNode is the mongos where nodes are named: shards by their id, the
// config server as "config".
const routerNode catalog.ShardID = "router"

// faults are what was made to fail. The zero value is a sound cluster.
type faults struct {
	configDown bool
	cut        map[link]bool
	slow       map[catalog.ShardID]Slowness
	failures   []*Failure
}

// link is two nodes, in order.
type link [2]catalog.ShardID

func linkOf(a, b catalog.ShardID) link {
	if b < a {
		a, b = b, a
	}
	return link{a, b}
}

// Crashed tells whether a shard or the config server is down.
func (c *Cluster) Crashed(id catalog.ShardID) bool { return c.isDown(id) }

// isDown tells whether a node has crashed.
func (c *Cluster) isDown(id catalog.ShardID) bool {
	if id == configShard {
		return c.faults.configDown
	}
	s := c.shards[id]
	return s != nil && s.down
}

// reach fails with HostUnreachable when one node gets no answer from another.
func (c *Cluster) reach(from, to catalog.ShardID) error {
	var why string
	switch {
	case c.isDown(to) || c.isDown(from):
		why = "Connection refused"
	case from != to && c.faults.cut[linkOf(from, to)]:
		why = "No route to host"
	default:
		return nil
	}
	return mongoerr.New(mongoerr.HostUnreachable, "Error connecting to %s :: caused by :: %s", cmp.Or(c.hostOf(to), string(to)), why)
}

// reachShards fails when a node does not reach every shard.
func (c *Cluster) reachShards(from catalog.ShardID) error {
	if err := c.reach(from, configShard); err != nil {
		return err
	}
	for _, id := range c.shardIDs() {
		if err := c.reach(from, id); err != nil {
			return err
		}
	}
	return nil
}

// node checks the name of a node.
func (c *Cluster) node(name string) (catalog.ShardID, error) {
	id := catalog.ShardID(name)
	if id == configShard || id == routerNode || c.shards[id] != nil {
		return id, nil
	}
	return "", mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found; nodes are config, router, %s", name, strings.Join(c.shardNames(), ", "))
}

// server is a node that can crash: not the router.
func (c *Cluster) server(name string) (catalog.ShardID, error) {
	id, err := c.node(name)
	if err == nil && id == routerNode {
		return "", mongoerr.New(mongoerr.BadValue, "the router can't crash: it answers you; cut it off from a node with mockPartition")
	}
	return id, err
}

func (c *Cluster) shardNames() []string {
	var names []string
	for _, id := range c.shardIDs() {
		names = append(names, string(id))
	}
	return names
}

// Crash takes all members of a shard, or of the config server ("config"),
// away. What they hold is on disk and comes back with Restart.
func (c *Cluster) Crash(name string) error {
	id, err := c.server(name)
	if err != nil {
		return err
	}
	if id == configShard {
		c.faults.configDown = true
		c.stopBalancer()
	} else {
		c.shards[id].down = true
	}
	c.feelFaults()
	return nil
}

// Restart brings a shard or the config server back; without a name all that
// are down. Migrations that the crash interrupted are recovered.
func (c *Cluster) Restart(name string) error {
	if name != "" {
		id, err := c.server(name)
		if err != nil {
			return err
		}
		c.revive(id)
	} else {
		for _, id := range append(c.shardIDs(), configShard) {
			c.revive(id)
		}
	}
	c.feelFaults()
	return nil
}

func (c *Cluster) revive(id catalog.ShardID) {
	if !c.isDown(id) {
		return
	}
	if id != configShard {
		c.shards[id].down = false
		return
	}
	c.faults.configDown = false
	c.term++
	c.startBalancer()
}

// Partition cuts two nodes off from each other.
func (c *Cluster) Partition(a, b string) error {
	from, err := c.node(a)
	if err != nil {
		return err
	}
	to, err := c.node(b)
	if err != nil {
		return err
	}
	if from == to {
		return mongoerr.New(mongoerr.BadValue, "a partition is between two nodes, %s is one", a)
	}
	if c.faults.cut == nil {
		c.faults.cut = map[link]bool{}
	}
	c.faults.cut[linkOf(from, to)] = true
	c.feelFaults()
	return nil
}

// Heal ends partitions: between two nodes, all of one node, or, without
// names, every one, and then nothing is slow or armed to fail any more either.
func (c *Cluster) Heal(names ...string) error {
	if len(names) == 0 {
		c.faults = faults{configDown: c.faults.configDown}
	}
	var ids []catalog.ShardID
	for _, name := range names {
		id, err := c.node(name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	maps.DeleteFunc(c.faults.cut, func(l link, _ bool) bool {
		for _, id := range ids {
			if !slices.Contains(l[:], id) {
				return false
			}
		}
		return true
	})
	c.feelFaults()
	return nil
}

// nodesAway tells whether a node is down or cut off from another.
func (c *Cluster) nodesAway() bool {
	if c.faults.configDown || len(c.faults.cut) > 0 {
		return true
	}
	for _, s := range c.shards {
		if s.down {
			return true
		}
	}
	return false
}

// feelFaults lets everything under way see that nodes came or went.
func (c *Cluster) feelFaults() {
	for _, m := range c.pendingByDonor() {
		c.checkParties(m)
	}
	for _, m := range slices.Clone(c.unfinished) {
		c.recover(m)
	}
	c.cond.Broadcast() // whoever waits on real time
}

// FaultState is what is wrong with the cluster on purpose.
type FaultState struct {
	Down       []string
	Partitions [][2]string
	Slow       map[string]Slowness
	Failures   []Failure
	// Unfinished counts migrations that wait for a node to be recovered.
	Unfinished int
}

// FaultState shows the faults in force.
func (c *Cluster) FaultState() FaultState {
	state := FaultState{Slow: map[string]Slowness{}, Unfinished: len(c.unfinished)}
	for _, id := range append(c.shardIDs(), configShard) {
		if c.isDown(id) {
			state.Down = append(state.Down, string(id))
		}
	}
	for l := range c.faults.cut {
		state.Partitions = append(state.Partitions, [2]string{string(l[0]), string(l[1])})
	}
	slices.SortFunc(state.Partitions, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for id, s := range c.faults.slow {
		state.Slow[string(id)] = s
	}
	for _, f := range c.faults.failures {
		state.Failures = append(state.Failures, *f)
	}
	return state
}

// Advance lets virtual time jump; everything due by then happens. On real time
// it is refused.
func (k *clock) Advance(d time.Duration) error {
	switch {
	case k.realTime:
		return mongoerr.New(mongoerr.IllegalOperation, "time is real here and can't jump: start with --mock-time virtual")
	case d < 0:
		return mongoerr.New(mongoerr.BadValue, "time does not go back: %v", d)
	}
	k.Spend(d)
	return nil
}

// RealTime tells whether time passes as on the wall.
func (k *clock) RealTime() bool { return k.realTime }

// ServerIDs are the nodes that can crash: the shards, and "config".
func (c *Cluster) ServerIDs() []string { return append(c.shardNames(), string(configShard)) }

// Broken lists the invariants that do not hold; see Invariants.
func (c *Cluster) Broken() []string {
	err := c.Invariants()
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}
