package mock

import (
	"context"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// leastWire is the oldest wire version that drivers of today talk to. Releases
// before 4.4 show it instead of their own: nobody could connect otherwise.
const leastWire = 9

// versions are what the mock shows of itself, as a mongos of each release.
var versions = map[catalog.Release]struct {
	text string
	wire int32
}{
	catalog.Release24: {"2.4.14", leastWire},
	catalog.Release34: {"3.4.24", leastWire},
	catalog.Release44: {"4.4.6", 9},
	catalog.Release50: {"5.0.7", 13},
	catalog.Release60: {"6.0.19", 17},
	catalog.Release70: {"7.0.15", 21},
	catalog.Release80: {"8.0.10", 25},
	catalog.Release83: {"8.3.0", 28},
}

// Release is the line of releases the cluster behaves like.
func (c *Cluster) Release() catalog.Release { return c.release }

// Version is the full version, as "8.0.10".
func (c *Cluster) Version() string { return versions[c.release].text }

// VersionArray is the version in four numbers.
func (c *Cluster) VersionArray() bson.A {
	var numbers bson.A
	for part := range strings.SplitSeq(c.Version(), ".") {
		n, _ := strconv.ParseInt(part, 10, 32) // a table of our own
		numbers = append(numbers, int32(n))
	}
	return append(numbers, int32(0))
}

// MaxWireVersion is what hello announces.
func (c *Cluster) MaxWireVersion() int32 { return versions[c.release].wire }

// The lock "balancer" of config.locks (spec 01 §9.5).
const (
	configLocks  = "locks"
	balancerLock = "balancer"
	lockFree     = int32(0)
	lockHeld     = int32(2)
)

// buildLocks makes the lock as a cluster at rest has it: free between rounds
// up to 3.2, held by the config server for good from 3.4 to 5.0.
func (cfg *ConfigDB) buildLocks() error {
	if !cfg.release.LimitsShards() {
		return nil
	}
	state, process := lockFree, routerName
	if cfg.release.HasModes() {
		state, process = lockHeld, "ConfigServer"
	}
	return cfg.insert(configLocks, append(bson.D{{Key: "_id", Value: balancerLock}}, cfg.lockFields(state, process)...))
}

func (cfg *ConfigDB) lockFields(state int32, process string) bson.D {
	why := "doing balance round"
	if cfg.release.HasModes() {
		why = "CSRS Balancer"
	}
	return bson.D{
		{Key: "state", Value: state},
		{Key: "process", Value: process},
		{Key: "ts", Value: cfg.ids.NewObjectID()},
		{Key: "when", Value: bson.NewDateTimeFromTime(cfg.clock.now())},
		{Key: "who", Value: process + ":Balancer"},
		{Key: "why", Value: why},
	}
}

// LockRound takes the lock for a round, unless somebody holds it who wrote it
// by hand: other routers there are none.
func (e engine) LockRound(context.Context) (bool, error) {
	taken := false
	_, err := e.c.config.modify(configLocks, balancerLock, func(doc *bson.D) {
		for _, field := range *doc {
			if state, isNumber := field.Value.(int32); field.Key == "state" && (!isNumber || state != lockFree) {
				return
			}
		}
		for _, field := range e.c.config.lockFields(lockHeld, routerName) {
			set(doc, field.Key, field.Value)
		}
		taken = true
	})
	return taken, err
}

// UnlockRound frees the lock; what it says of its last holder stays.
func (e engine) UnlockRound(context.Context) error {
	_, err := e.c.config.modify(configLocks, balancerLock, func(doc *bson.D) { set(doc, "state", lockFree) })
	return err
}
