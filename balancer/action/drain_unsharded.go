package action

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
)

// TargetShards contains the shards that can take databases and unsharded collections, with the number of
// databases on each and of what was moved there.
type TargetShards map[catalog.ShardID]int

// TargetShardsFor returns the shards that are not draining, except one shard.
func TargetShardsFor(s *catalog.Snapshot, except catalog.ShardID) TargetShards {
	others := TargetShards{}
	for _, shard := range s.NonDrainingShards() {
		if shard.ID != except {
			others[shard.ID] = 0
		}
	}
	for _, db := range s.Parts().Databases {
		if n, stays := others[db.Primary]; stays {
			others[db.Primary] = n + 1
		}
	}
	return others
}

// takeNext returns the shard with the smallest number and increments that. It returns an empty
// ID if there is no shard.
func (t TargetShards) takeNext() (to catalog.ShardID) {
	for _, id := range slices.Sorted(maps.Keys(t)) {
		if to == "" || t[id] < t[to] {
			to = id
		}
	}
	if to != "" {
		t[to]++
	}
	return to
}

// MoveUnsharded moves the unsharded collections and databases on a shard, each to the shard with the
// fewest databases and collections that were moved there before.
func MoveUnsharded(
	ctx context.Context, admin func(context.Context, bson.D) (bson.Raw, error), left diagnosis.Drain, others TargetShards,
	note func(text string),
) error {
	move := func(kind, name string, command func(to string) bson.D) error {
		to := string(others.takeNext())
		if to == "" {
			return fmt.Errorf("no shard can receive the %s %s: all others are draining", kind, name)
		}
		if _, err := admin(ctx, command(to)); err != nil {
			return fmt.Errorf("moving %s %s to %s: %w", kind, name, to, err)
		}
		note(fmt.Sprintf("The %s %s is on %s now.", kind, name, to))
		return nil
	}
	for _, ns := range left.Collections {
		if err := move("collection", ns, func(to string) bson.D {
			return bson.D{{Key: "moveCollection", Value: ns}, {Key: "toShard", Value: to}}
		}); err != nil {
			return err
		}
	}
	for _, name := range left.Databases {
		if err := move("database", name, func(to string) bson.D {
			return bson.D{{Key: "movePrimary", Value: name}, {Key: "to", Value: to}}
		}); err != nil {
			return err
		}
	}
	return nil
}

// isShardshData reports whether a database or collection belongs to shardsh.
func isShardshData(name string) bool {
	database, _, _ := strings.Cut(name, ".")
	return database == live.LeaseDatabase
}

// separateShardshData separates the data of shardsh, which may be moved without confirmation, from the rest.
func separateShardshData(left diagnosis.Drain) (own, rest diagnosis.Drain) {
	own, rest = diagnosis.Drain{Shard: left.Shard}, left
	rest.Databases, rest.Collections = nil, nil
	for _, name := range left.Databases {
		list := &rest.Databases
		if isShardshData(name) {
			list = &own.Databases
		}
		*list = append(*list, name)
	}
	for _, ns := range left.Collections {
		list := &rest.Collections
		if isShardshData(ns) {
			list = &own.Collections
		}
		*list = append(*list, ns)
	}
	return own, rest
}
