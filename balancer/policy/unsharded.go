package policy

import (
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// RandomSource is a source of random choices, such as *rand.Rand.
type RandomSource interface {
	IntN(n int) int
	Shuffle(n int, swap func(i, j int))
}

// maxMinReshardingTime is the maximum value of the minimum duration of a resharding for which unsharded
// collections are moved: with a longer one, a round would wait for it.
const maxMinReshardingTime = 5 * time.Second

// Unsharded is a collection that is not sharded, so that one shard has all of it.
type Unsharded struct {
	Namespace string
	UUID      bson.Binary
	Shard     catalog.ShardID
	// Tracked says that the collection is in config.collections. Otherwise it is on the primary shard
	// of its database.
	Tracked   bool
	NoBalance bool
}

// UnshardedSituation is the input of a round for unsharded collections.
type UnshardedSituation struct {
	Shards      []catalog.Shard
	Collections []Unsharded
	// Sharded contains the namespaces of the sharded collections.
	Sharded []string
	// MinReshardingTime is the minimum duration of a resharding, which moves such a collection.
	MinReshardingTime time.Duration
}

// SelectUnsharded moves at most one unsharded collection to another shard, at random. The server does
// this only for its own tests, while the fail point for random migrations is on (rules/01-selection
// §8); callers must check that. SelectUnsharded takes both shards out of avail.
func SelectUnsharded(s UnshardedSituation, avail *AvailableShards, random RandomSource) (Migration, bool) {
	if avail.Len() < 2 || s.MinReshardingTime > maxMinReshardingTime {
		return Migration{}, false
	}
	var draining, others []catalog.ShardID
	for _, shard := range s.Shards {
		switch {
		case !avail.IsFree(shard.ID):
		case shard.Draining:
			draining = append(draining, shard.ID)
		default:
			others = append(others, shard.ID)
		}
	}
	random.Shuffle(len(draining), func(i, j int) { draining[i], draining[j] = draining[j], draining[i] })
	random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })

	m, ok := s.pick(draining, others, random)
	if !ok {
		if s.prefersSharded() && random.IntN(2) == 1 {
			return Migration{}, false
		}
		if m, ok = s.pick(others, others, random); !ok {
			return Migration{}, false
		}
	}
	avail.Take(m.From, m.To)
	return m, true
}

// prefersSharded reports whether sharded collections take precedence. Collections of config count only
// while a shard is draining.
func (s UnshardedSituation) prefersSharded() bool {
	drains := anyDraining(s.Shards)
	return slices.ContainsFunc(s.Sharded, func(ns string) bool { return drains || !strings.HasPrefix(ns, "config.") })
}

// pick returns a collection of the first donor that has one, and the first other shard as the
// recipient.
func (s UnshardedSituation) pick(donors, recipients []catalog.ShardID, random RandomSource) (Migration, bool) {
	for _, from := range donors {
		to := slices.IndexFunc(recipients, func(id catalog.ShardID) bool { return id != from })
		if to < 0 {
			continue
		}
		coll, ok := s.pickOn(from, random)
		if ok {
			return Migration{From: from, To: recipients[to], Namespace: coll.Namespace, UUID: coll.UUID,
				Reason: ReasonUnsharded}, true
		}
	}
	return Migration{}, false
}

// pickOn returns a random collection of a shard: an untracked collection of a random database if there
// is one, else a tracked collection.
func (s UnshardedSituation) pickOn(shard catalog.ShardID, random RandomSource) (Unsharded, bool) {
	byDatabase := map[string][]Unsharded{}
	var databases []string
	var tracked []Unsharded
	for _, coll := range s.Collections {
		db := catalog.DatabaseOf(coll.Namespace)
		switch {
		case coll.Shard != shard, coll.Tracked && coll.NoBalance:
		case coll.Tracked:
			tracked = append(tracked, coll)
		default:
			if byDatabase[db] == nil {
				databases = append(databases, db)
			}
			byDatabase[db] = append(byDatabase[db], coll)
		}
	}
	if len(databases) > 0 {
		tracked = byDatabase[databases[random.IntN(len(databases))]]
	}
	if len(tracked) == 0 {
		return Unsharded{}, false
	}
	return tracked[random.IntN(len(tracked))], true
}
