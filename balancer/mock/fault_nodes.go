package mock

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/secondary"
	"shardsh/balancer/mongoerr"
)

// routerNode is the node name of the first mongos; the others are router2 and so on. The node name of a
// shard is its id, that of the config server "config".
const routerNode catalog.ShardID = "router"

// Faults are the injected faults and the simulated network: which nodes can reach each other, and how
// fast.
type Faults struct {
	addresses *Addresses
	clock     *clock.Clock
	routers   *Routers
	ids       *ids.Source
	locator   *locator
	listener  nodeListener
	shards    shardSet

	configDown bool
	partitions map[link]bool
	slow       map[catalog.ShardID]Slowness
	// maybeSlow reports whether nodes may be slow, for callers without the lock.
	maybeSlow atomic.Bool
	// clockSkews holds by how much router clocks are ahead, for callers without the lock.
	clockSkews sync.Map
	// secondaries holds the lagging secondaries.
	secondaries map[catalog.ShardID]*secondary.Member
	failures    []*Failure
	// mayHaveFailures reports whether there may be failures, for callers without the lock.
	mayHaveFailures atomic.Bool
}

// Faults returns the Faults of the cluster.
func (c *Cluster) Faults() *Faults { return c.faults }

// healAll removes all faults except crashes.
func (fs *Faults) healAll() {
	fs.partitions, fs.slow, fs.failures = nil, nil, nil
	fs.clockSkews.Clear()
	fs.secondaries, fs.clock.BeforeTimePasses = nil, nil
}

// nodeListener is notified when nodes crash, restart or are partitioned.
type nodeListener interface {
	onConfigServerDown()
	onConfigServerUp()
	onNodesChanged()
	// unfinishedMigrations returns the number of migrations that wait for the recovery of a node.
	unfinishedMigrations() int
}

// link is a pair of nodes in sorted order.
type link [2]catalog.ShardID

func linkOf(a, b catalog.ShardID) link {
	if b < a {
		a, b = b, a
	}
	return link{a, b}
}

// IsDown reports whether a shard or the config server has crashed.
func (fs *Faults) IsDown(id catalog.ShardID) bool {
	if id == configShard {
		return fs.configDown
	}
	s := fs.shards[id]
	return s != nil && s.down
}

// checkReachable fails with HostUnreachable if to cannot be reached from from.
func (fs *Faults) checkReachable(from, to catalog.ShardID) error {
	var why string
	switch {
	case fs.IsDown(to) || fs.IsDown(from):
		why = "Connection refused"
	case from != to && fs.partitions[linkOf(from, to)]:
		why = "No route to host"
	default:
		return nil
	}
	return mongoerr.New(mongoerr.HostUnreachable, "Error connecting to %s :: caused by :: %s",
		cmp.Or(fs.addresses.HostOf(to), string(to)), why)
}

// checkReachesShards fails if a node cannot reach every shard.
func (fs *Faults) checkReachesShards(from catalog.ShardID) error {
	if err := fs.checkReachable(from, configShard); err != nil {
		return err
	}
	if len(fs.partitions) == 0 && !fs.shards.anyDown() {
		return nil
	}
	for _, id := range fs.shards.ids() {
		if err := fs.checkReachable(from, id); err != nil {
			return err
		}
	}
	return nil
}

// parseNode returns the node with the given name.
func (fs *Faults) parseNode(name string) (catalog.ShardID, error) {
	id := catalog.ShardID(name)
	if id == configShard || fs.isRouter(id) || fs.shards[id] != nil {
		return id, nil
	}
	names := []string{string(configShard)}
	for _, r := range fs.routers.list {
		names = append(names, string(r.Node))
	}
	return "", mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found; nodes are %s", name,
		strings.Join(append(names, fs.shards.names()...), ", "))
}

func (fs *Faults) isRouter(id catalog.ShardID) bool {
	return slices.ContainsFunc(fs.routers.list, func(r RouterEntry) bool { return r.Node == id })
}

// parseServer returns a node that can crash; routers cannot.
func (fs *Faults) parseServer(name string) (catalog.ShardID, error) {
	id, err := fs.parseNode(name)
	if err == nil && fs.isRouter(id) {
		return "", mongoerr.New(mongoerr.BadValue,
			"a router can't crash, because it executes this command; cut it off from a node with mockPartition")
	}
	return id, err
}

// Crash stops all members of a shard, or of the config server ("config"). Their data is on disk and is
// available again after Restart.
func (fs *Faults) Crash(name string) error {
	id, err := fs.parseServer(name)
	if err != nil {
		return err
	}
	if id == configShard {
		fs.configDown = true
		fs.listener.onConfigServerDown()
	} else {
		fs.shards[id].down = true
	}
	fs.notifyNodesChanged()
	return nil
}

// Restart restarts a shard or the config server, or all crashed nodes if name is empty. It recovers the
// migrations that the crash interrupted.
func (fs *Faults) Restart(name string) error {
	if name != "" {
		id, err := fs.parseServer(name)
		if err != nil {
			return err
		}
		fs.revive(id)
	} else {
		for _, id := range append(fs.shards.ids(), configShard) {
			fs.revive(id)
		}
	}
	fs.notifyNodesChanged()
	return nil
}

func (fs *Faults) revive(id catalog.ShardID) {
	if !fs.IsDown(id) {
		return
	}
	if id != configShard {
		fs.shards[id].down = false
		return
	}
	fs.configDown = false
	fs.listener.onConfigServerUp()
}

// Partition cuts the network between two nodes.
func (fs *Faults) Partition(a, b string) error {
	from, err := fs.parseNode(a)
	if err != nil {
		return err
	}
	to, err := fs.parseNode(b)
	if err != nil {
		return err
	}
	if from == to {
		return mongoerr.New(mongoerr.BadValue, "a partition requires two different nodes, not %s twice", a)
	}
	if fs.partitions == nil {
		fs.partitions = map[link]bool{}
	}
	fs.partitions[linkOf(from, to)] = true
	fs.notifyNodesChanged()
	return nil
}

// Heal heals the partition between two nodes or all partitions of one node. Without names it heals all
// partitions and also removes slowness and injected failures.
func (fs *Faults) Heal(names ...string) error {
	if len(names) == 0 {
		fs.healAll()
	}
	var ids []catalog.ShardID
	for _, name := range names {
		id, err := fs.parseNode(name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	maps.DeleteFunc(fs.partitions, func(l link, _ bool) bool {
		for _, id := range ids {
			if !slices.Contains(l[:], id) {
				return false
			}
		}
		return true
	})
	fs.notifyNodesChanged()
	return nil
}

// hasUnavailableNodes reports whether a node is down or partitioned.
func (fs *Faults) hasUnavailableNodes() bool {
	return fs.configDown || len(fs.partitions) > 0 || fs.shards.anyDown()
}

// notifyNodesChanged notifies running operations that the state of nodes has changed.
func (fs *Faults) notifyNodesChanged() {
	fs.listener.onNodesChanged()
	fs.clock.Wake() // wakes waiters on real time
}

// FaultState is the state of the injected faults.
type FaultState struct {
	Down       []string
	Partitions [][2]string
	Slow       map[string]Slowness
	Failures   []Failure
	// UnfinishedMigrations is the number of migrations that wait for the recovery of a node.
	UnfinishedMigrations int
}

// State returns the current faults.
func (fs *Faults) State() FaultState {
	state := FaultState{Slow: map[string]Slowness{}, UnfinishedMigrations: fs.listener.unfinishedMigrations()}
	for _, id := range append(fs.shards.ids(), configShard) {
		if fs.IsDown(id) {
			state.Down = append(state.Down, string(id))
		}
	}
	for l := range fs.partitions {
		state.Partitions = append(state.Partitions, [2]string{string(l[0]), string(l[1])})
	}
	slices.SortFunc(state.Partitions, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for id, s := range fs.slow {
		state.Slow[string(id)] = s
	}
	for _, f := range fs.failures {
		state.Failures = append(state.Failures, *f)
	}
	return state
}

// ServerIDs returns the nodes that can crash: the shards, and "config".
func (fs *Faults) ServerIDs() []string { return append(fs.shards.names(), string(configShard)) }

// BrokenInvariants returns the violated invariants; see CheckInvariants.
func (c *Cluster) BrokenInvariants() []string {
	err := c.CheckInvariants()
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// Slowness describes how slow a node is. Zero fields have no effect.
type Slowness struct {
	// Bandwidth is in bytes per second.
	Bandwidth int64
	// Latency is added to every round trip.
	Latency time.Duration
	// ReportedLag is the replication lag of a secondary; a member shows it only if there is a secondary. Queue
	// is the number of queued operations. Both are only reported, without other effects.
	ReportedLag time.Duration
	Queue       int32
	// SecondaryLag adds a second node with this lag to a shard. Waits for replication take this long, and
	// reads from the node return the data as of that time. The member reports it like ReportedLag.
	SecondaryLag time.Duration
	// ClockSkew is by how much the clock of a router is ahead of all others. It affects the router's local
	// time and $$NOW, but not the cluster time, which comes from the servers.
	ClockSkew time.Duration
}

// ClockSkew returns by how much the clock of a node is ahead. It needs no lock.
func (fs *Faults) ClockSkew(id catalog.ShardID) time.Duration {
	ahead, _ := fs.clockSkews.Load(id)
	d, _ := ahead.(time.Duration)
	return d
}

// MayBeSlow reports whether a node may be slow. It needs no lock.
func (fs *Faults) MayBeSlow() bool { return fs.maybeSlow.Load() }

// Slowness returns the slowness of a node.
func (fs *Faults) Slowness(id catalog.ShardID) Slowness { return fs.slow[id] }

// MemberCount is how many members a node's replica set has: one that is behind is one of them.
func (fs *Faults) MemberCount(id catalog.ShardID) int {
	size := 1 + strings.Count(fs.addresses.HostOf(id), ",")
	if fs.slow[id].SecondaryLag > 0 {
		return max(size, 2)
	}
	return size
}

// ReplicationTime is how long it takes until so many members of a node's replica set have a write.
func (fs *Faults) ReplicationTime(id catalog.ShardID, members int) time.Duration {
	if members < fs.MemberCount(id) {
		return 0 // those that are not behind are enough
	}
	return fs.slow[id].SecondaryLag
}

// majorityLag is how long a majority of a node's replica set takes to have a write.
func (fs *Faults) majorityLag(id catalog.ShardID) time.Duration {
	return fs.ReplicationTime(id, fs.MemberCount(id)/2+1)
}

// SetSlowness sets the slowness of a node; the zero Slowness restores its normal speed.
func (fs *Faults) SetSlowness(name string, s Slowness) error {
	id, err := fs.parseNode(name)
	if err != nil {
		return err
	}
	if s.Bandwidth < 0 || s.Latency < 0 || s.ReportedLag < 0 || s.Queue < 0 || s.SecondaryLag < 0 || s.ClockSkew < 0 {
		return mongoerr.New(mongoerr.BadValue, "bandwidth, latency, lag, queue, secondary and ahead must not be negative")
	}
	if fs.isRouter(id) && s.SecondaryLag > 0 {
		return mongoerr.New(mongoerr.BadValue, "%s is a router and has no secondary: only shards and config have one", name)
	}
	if fs.slow == nil {
		fs.slow = map[catalog.ShardID]Slowness{}
	}
	if s.ClockSkew > 0 && !fs.isRouter(id) {
		return mongoerr.New(mongoerr.BadValue, "%s is not a router: only routers can have different clocks", name)
	}
	fs.slow[id] = s
	fs.clockSkews.Store(id, s.ClockSkew)
	fs.maybeSlow.Store(true)
	if s == (Slowness{}) {
		delete(fs.slow, id)
	}
	fs.setReplicationLag(id, s.SecondaryLag)
	return nil
}

// setReplicationLag sets the lag of a shard's secondary; with 0 the secondary catches up at once.
func (fs *Faults) setReplicationLag(id catalog.ShardID, lag time.Duration) {
	m, now := fs.secondaries[id], fs.clock.Now()
	switch {
	case lag == 0 || fs.shards[id] == nil:
		delete(fs.secondaries, id)
	case m != nil:
		fs.recordSecondaryStates(now)
		m.SetLag(lag, now)
	default:
		if fs.secondaries == nil {
			fs.secondaries = map[catalog.ShardID]*secondary.Member{}
		}
		fs.secondaries[id] = secondary.New(lag, now)
		fs.recordSecondaryStates(now)
	}
	fs.clock.BeforeTimePasses = nil
	if len(fs.secondaries) > 0 {
		fs.clock.BeforeTimePasses = func() { fs.recordSecondaryStates(fs.clock.Now()) }
	}
}

// HasLaggingSecondary reports whether a shard has a lagging secondary.
func (fs *Faults) HasLaggingSecondary() bool { return len(fs.secondaries) > 0 }

// recordSecondaryStates records the state of the primaries for the lagging secondaries before time
// advances.
func (fs *Faults) recordSecondaryStates(now time.Time) {
	stamp := fs.ids.ClusterTime()
	for id, m := range fs.secondaries {
		if s := fs.shards[id]; s != nil {
			m.Record(now, stamp, s.collectionsAndDatabases, func(ns string) secondary.State { return fs.locator.stateOf(s, ns) })
		}
	}
}

// collectionsAndDatabases iterates over the shard's collections and their databases.
func (s *shard) collectionsAndDatabases(yield func(string) bool) {
	for ns := range s.colls {
		if !yield(ns) || !yield(catalog.DatabaseOf(ns)) {
			return
		}
	}
}

// Ping returns the round trip time between the router and a node. The mock's network itself takes no
// time.
func (fs *Faults) Ping(id catalog.ShardID) time.Duration { return fs.extraLatency(routerNode, id) }

// extraLatency returns the additional time of a round trip between nodes.
func (fs *Faults) extraLatency(ids ...catalog.ShardID) time.Duration {
	var sum time.Duration
	for _, id := range ids {
		sum += fs.slow[id].Latency
	}
	return sum
}

func (m *migration) extraLatency() time.Duration {
	return m.ms.faults.extraLatency(m.donor.id, m.recipient.id)
}

// transferTime returns the time to transfer bytes through the nodes. The lowest bandwidth counts.
func (fs *Faults) transferTime(bytes int64, ids ...catalog.ShardID) time.Duration {
	rate := float64(cloneBytesPerSecond)
	for _, id := range ids {
		if limit := fs.slow[id].Bandwidth; limit > 0 {
			rate = min(rate, float64(limit))
		}
	}
	return time.Duration(float64(bytes) / rate * float64(time.Second))
}

// commandDelay returns the additional time of a command because of slow nodes, which it contacts
// concurrently.
func (fs *Faults) commandDelay(asked map[catalog.ShardID]error, bytes int64) time.Duration {
	slowest := fs.nodeDelay(routerNode, bytes)
	for id := range asked {
		slowest = max(slowest, fs.nodeDelay(routerNode, bytes)+fs.nodeDelay(id, bytes))
	}
	return slowest
}

func (fs *Faults) nodeDelay(id catalog.ShardID, bytes int64) time.Duration {
	s, slow := fs.slow[id]
	if !slow || s.Bandwidth == 0 {
		return s.Latency
	}
	return s.Latency + time.Duration(float64(bytes)/float64(s.Bandwidth)*float64(time.Second))
}
