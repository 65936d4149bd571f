//go:build unix

package loadcheck

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// orders are the administration commands, with how often each comes.
func orders() []order {
	return append(append(chunkOrders(), collectionOrders()...), clusterOrders()...)
}

// maker makes a command; none when there is nothing to do it to.
type maker = func(*admin, context.Context) (db string, command bson.D)

// withChunk makes a command of some chunk.
func withChunk(make func(a *admin, ns string, c chunk) (string, bson.D)) maker {
	return func(a *admin, ctx context.Context) (string, bson.D) {
		ns := a.namespace()
		c, err := a.chunkOf(ctx, ns)
		if err != nil {
			return "", nil
		}
		return make(a, ns, c)
	}
}

// with makes a command of some namespace.
func with(make func(a *admin, ns string) (string, bson.D)) maker {
	return func(a *admin, _ context.Context) (string, bson.D) { return make(a, a.namespace()) }
}

func chunkOrders() []order {
	return []order{
		{20, withChunk(func(a *admin, ns string, c chunk) (string, bson.D) {
			return cmd("moveRange", ns, "min", c.Min, "max", c.Max, "toShard", a.shard(), "waitForDelete", a.yes(),
				"forceJumbo", a.yes())
		})},
		{10, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("moveRange", ns, "min", bson.M{"k": a.bound()}, "toShard", a.shard())
		})},
		{10, withChunk(func(a *admin, ns string, c chunk) (string, bson.D) {
			return cmd("moveChunk", ns, "bounds", bson.A{c.Min, c.Max}, "to", a.shard(), "_waitForDelete", a.yes())
		})},
		{6, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("moveChunk", ns, "find", bson.M{"k": a.bound(), "_id": "w0-1", "j": 1}, "to", a.shard())
		})},
		{10, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("split", ns, "middle", bson.M{"k": a.bound()})
		})},
		{4, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("split", ns, "find", bson.M{"k": a.bound(), "_id": "w0-1", "j": 1})
		})},
		{4, withChunk(func(_ *admin, ns string, c chunk) (string, bson.D) {
			return cmd("split", ns, "bounds", bson.A{c.Min, c.Max})
		})},
		{6, withChunk(func(_ *admin, ns string, c chunk) (string, bson.D) {
			return cmd("mergeChunks", ns, "bounds", bson.A{c.Min, c.next})
		})},
		{6, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("mergeAllChunksOnShard", ns, "shard", a.shard())
		})},
		{1, withChunk(func(_ *admin, ns string, c chunk) (string, bson.D) {
			return cmd("clearJumboFlag", ns, "bounds", bson.A{c.Min, c.Max})
		})},
		{3, func(a *admin, _ context.Context) (string, bson.D) {
			return cmd("addShardToZone", a.shard(), "zone", a.one("x", "y"))
		}},
		{4, func(a *admin, _ context.Context) (string, bson.D) {
			return cmd("removeShardFromZone", a.shard(), "zone", a.one("x", "y"))
		}},
		{3, withChunk(func(a *admin, ns string, c chunk) (string, bson.D) {
			return cmd("updateZoneKeyRange", ns, "min", c.Min, "max", c.Max, "zone", a.one("x", "y"))
		})},
		{4, withChunk(func(_ *admin, ns string, c chunk) (string, bson.D) {
			return cmd("updateZoneKeyRange", ns, "min", c.Min, "max", c.Max, "zone", nil)
		})},
	}
}

func collectionOrders() []order {
	return []order{
		{8, with(func(a *admin, ns string) (string, bson.D) { return cmd("shardCollection", ns, "key", a.key()) })},
		{8, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("reshardCollection", ns, "key", a.key(), "forceRedistribution", a.yes(),
				"numInitialChunks", 1+a.chance.IntN(6))
		})},
		{5, with(func(a *admin, ns string) (string, bson.D) { return cmd("moveCollection", ns, "toShard", a.shard()) })},
		{5, with(func(a *admin, ns string) (string, bson.D) { return cmd("unshardCollection", ns, "toShard", a.shard()) })},
		{2, with(func(_ *admin, ns string) (string, bson.D) { return cmd("abortReshardCollection", ns) })},
		{1, with(func(_ *admin, ns string) (string, bson.D) { return cmd("abortMoveCollection", ns) })},
		{1, with(func(_ *admin, ns string) (string, bson.D) { return cmd("abortUnshardCollection", ns) })},
		{2, with(func(_ *admin, ns string) (string, bson.D) { return cmd("commitReshardCollection", ns) })},
		{2, with(func(_ *admin, ns string) (string, bson.D) { return cmd("cleanupReshardCollection", ns) })},
		{3, with(func(_ *admin, ns string) (string, bson.D) {
			return cmd("refineCollectionShardKey", ns, "key", bson.D{{Key: "k", Value: 1}, {Key: "j", Value: 1}})
		})},
		{4, with(func(a *admin, ns string) (string, bson.D) {
			_, command := cmd("createIndexes", name(ns), "indexes", bson.A{
				bson.D{{Key: "key", Value: a.key()}, {Key: "name", Value: a.one("i", "ii", "iii")}},
			})
			return database(ns), command
		})},
		{2, with(func(a *admin, ns string) (string, bson.D) {
			_, command := cmd("dropIndexes", name(ns), "index", a.one("i", "ii", "iii"))
			return database(ns), command
		})},
		{2, with(func(a *admin, ns string) (string, bson.D) {
			_, command := cmd("collMod", name(ns), "index", bson.M{"name": a.one("i", "ii"), "hidden": a.yes()})
			return database(ns), command
		})},
		{2, with(func(a *admin, ns string) (string, bson.D) {
			_, command := cmd("collMod", name(ns), "changeStreamPreAndPostImages", bson.M{"enabled": a.yes()})
			return database(ns), command
		})},
		{3, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("configureCollectionBalancing", ns, "defragmentCollection", a.yes(), "enableBalancing", true)
		})},
		{1, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("setAllowMigrations", ns, "allowMigrations", a.yes())
		})},
		{2, with(func(_ *admin, ns string) (string, bson.D) { return cmd("balancerCollectionStatus", ns) })},
		{1, with(func(_ *admin, ns string) (string, bson.D) {
			return cmd("analyzeShardKey", ns, "key", bson.D{{Key: "k", Value: 1}})
		})},
		{1, with(func(a *admin, ns string) (string, bson.D) {
			return cmd("configureQueryAnalyzer", ns, "mode", a.one("full", "off"), "samplesPerSecond", 10)
		})},
		{2, with(func(a *admin, ns string) (string, bson.D) {
			_, command := cmd(a.one("collStats", "validate", "listIndexes", "count"), name(ns))
			return database(ns), command
		})},
		{1, with(func(_ *admin, ns string) (string, bson.D) {
			_, command := cmd("dataSize", ns)
			return database(ns), command
		})},
	}
}

func clusterOrders() []order {
	return []order{
		{6, func(*admin, context.Context) (string, bson.D) { return cmd("balancerStart", 1) }},
		{2, func(*admin, context.Context) (string, bson.D) { return cmd("balancerStop", 1) }},
		{10, func(a *admin, _ context.Context) (string, bson.D) { return cmd("removeShard", a.drained()) }},
		{10, func(a *admin, ctx context.Context) (string, bson.D) {
			shard := a.one("shard3", "shard4", a.shard())
			host := a.host(ctx, shard)
			if host == "" {
				return "", nil
			}
			return cmd("addShard", host, "name", shard)
		}},
		{3, func(a *admin, _ context.Context) (string, bson.D) {
			return cmd("movePrimary", a.one("load", "more", "roam0", "roam1"), "to", a.shard())
		}},
		{1, func(*admin, context.Context) (string, bson.D) { return cmd("transitionFromDedicatedConfigServer", 1) }},
		{2, func(*admin, context.Context) (string, bson.D) { return cmd("transitionToDedicatedConfigServer", 1) }},
		{1, func(a *admin, _ context.Context) (string, bson.D) {
			return cmd("setFeatureCompatibilityVersion", a.one("7.0", "8.0", "8.0", "8.0"), "confirm", true)
		}},
		{1, func(*admin, context.Context) (string, bson.D) { return cmd("flushRouterConfig", 1) }},
		{1, func(*admin, context.Context) (string, bson.D) { return cmd("killAllSessions", bson.A{}) }},
		{2, func(a *admin, ctx context.Context) (string, bson.D) { return a.killSome(ctx) }},
		{1, func(*admin, context.Context) (string, bson.D) { return cmd("currentOp", 1) }},
		{1, func(*admin, context.Context) (string, bson.D) { return cmd("serverStatus", 1) }},
		{1, func(*admin, context.Context) (string, bson.D) { return cmd("mockInvariants", 1) }},
		{2, func(a *admin, ctx context.Context) (string, bson.D) {
			found, err := consistency(ctx, a.client)
			if a.result("admin: checkMetadataConsistency", err); err == nil && len(found) > 0 {
				a.fail("checkMetadataConsistency under load: %v", found)
			}
			return "", nil
		}},
	}
}

// drained is a shard to be removed: mostly one of two, so that some get empty.
func (a *admin) drained() string {
	if a.chance.IntN(20) > 0 {
		return a.one("shard3", "shard4")
	}
	return a.shard()
}

// killSome ends what some client is doing.
func (a *admin) killSome(ctx context.Context) (string, bson.D) {
	var reply struct {
		Inprog []struct{ Opid bson.RawValue }
	}
	err := a.client.Database("admin").RunCommand(ctx, bson.D{{Key: "currentOp", Value: 1}}).Decode(&reply)
	if err != nil || len(reply.Inprog) == 0 {
		return "", nil
	}
	return cmd("killOp", 1, "op", reply.Inprog[a.chance.IntN(len(reply.Inprog))].Opid)
}
