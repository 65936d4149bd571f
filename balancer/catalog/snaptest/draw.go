package snaptest

import (
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

// Draw draws a small cluster in which every part of a Snapshot can occur.
func Draw(t *rapid.T) *catalog.Snapshot {
	g := generator{t}
	release := rapid.SampledFrom(catalog.Releases()).Draw(t, "release")
	if g.bool("patch") {
		release = release.WithPatch(rapid.Uint8Max(30).Draw(t, "number"))
	}
	p := catalog.SnapshotParts{
		Source:      catalog.Source{Kind: catalog.SourceMock, Name: g.text("name")},
		Time:        g.time("time"),
		ClusterTime: g.timestamp("cluster time"),
		ClusterID:   g.objectID("cluster id"),
		Version:     release.String(),
		Release:     release,
		Balancer:    catalog.BalancerState{Mode: catalog.ModeFull, InRound: g.bool("in round"), Rounds: g.number("rounds")},
	}
	p.Settings = g.settings(p.Release)
	if g.bool("gap") {
		p.Source.Gaps = []catalog.Gap{
			{What: "sizes", Shard: "s1", Reason: g.text("reason"), Code: 8000, CodeName: "AtlasError"},
		}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "shards") {
		shard := catalog.ShardState{Shard: catalog.Shard{ID: drawnShardID(i), Host: "h", Draining: g.bool("draining"),
			State: 1}}
		if g.bool("asked") {
			shard.Ping, shard.Version, shard.CleanupDelay = time.Duration(i)*time.Millisecond, "8.0.4", time.Minute
		}
		if g.bool("disk") {
			shard.Disk = catalog.Disk{Total: 1 << 40, Used: int64(i) << 37}
		}
		if g.bool("zoned") {
			shard.Zones = []string{"Z", g.text("zone")}
		}
		p.Shards = append(p.Shards, shard)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "members") {
		p.Members = append(p.Members, catalog.Member{
			Shard: drawnShardID(i % len(p.Shards)), Host: fmt.Sprintf("host%d.example.net:27018", i), Version: "8.0.20",
			FCV:     "8.0",
			Primary: g.bool("primary"), Problem: g.text("problem"),
		})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "collections") {
		p.Collections = append(p.Collections, g.collection(fmt.Sprintf("db.c%d", i), len(p.Shards)))
	}
	g.activity(&p)
	for i := range rapid.IntRange(0, 3).Draw(t, "documents") {
		raw := g.document(bson.D{{Key: "_id", Value: g.text("id")}, {Key: "n", Value: int32(i)}})
		if p.Config == nil {
			p.Config = map[string][]bson.Raw{}
		}
		p.Config["settings"] = append(p.Config["settings"], raw)
	}
	return catalog.NewSnapshot(p)
}

type generator struct{ t *rapid.T }

func drawnShardID(i int) catalog.ShardID { return catalog.ShardID(fmt.Sprintf("s%d", i)) }

func (g generator) bool(label string) bool    { return rapid.Bool().Draw(g.t, label) }
func (g generator) number(label string) int64 { return rapid.Int64Range(0, 1<<50).Draw(g.t, label) }
func (g generator) text(label string) string  { return rapid.StringN(1, 8, -1).Draw(g.t, label) }
func (g generator) shard(n int) catalog.ShardID {
	return drawnShardID(rapid.IntRange(0, n-1).Draw(g.t, "shard"))
}

func (g generator) time(label string) time.Time {
	return time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(g.t, label)).UTC()
}

func (g generator) timestamp(label string) bson.Timestamp {
	return bson.Timestamp{T: rapid.Uint32Min(1).Draw(g.t, label), I: rapid.Uint32().Draw(g.t, label)}
}

func (g generator) objectID(label string) (id bson.ObjectID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(g.t, label))
	return id
}

func (g generator) document(d bson.D) bson.Raw {
	raw, err := bson.Marshal(d)
	if err != nil {
		g.t.Fatal(err)
	}
	return raw
}

func (g generator) settings(r catalog.Release) catalog.Settings {
	s := catalog.DefaultSettingsOf(r)
	s.MaxChunkSizeBytes = g.number("chunk size")
	if g.bool("window") {
		s.Window = &catalog.Window{Start: 90, Stop: 300}
	}
	if g.bool("days") {
		s.Days = []catalog.DayWindow{{Day: time.Friday, Window: catalog.Window{Start: 1, Stop: 2}}}
	}
	if g.bool("throttle") {
		s.SecondaryThrottle = catalog.Throttle{State: catalog.ThrottleOn,
			WriteConcern: g.document(bson.D{{Key: "w", Value: 2}})}
	}
	return s
}

func (g generator) activity(p *catalog.SnapshotParts) {
	shards := len(p.Shards)
	if g.bool("databases") {
		p.Databases = []catalog.Database{{Name: "db", Primary: g.shard(shards)}}
		p.Routers = []catalog.Router{{ID: "h:1", Version: "8.0.10", Ping: g.time("ping")}}
	}
	bound := g.document(bson.D{{Key: "x", Value: 1}})
	if g.bool("deletions") {
		p.DeletionsKnown = true
		p.Deletions = []catalog.RangeDeletion{{Shard: g.shard(shards), Namespace: "db.c0", UUID: uuid(1), Min: bound,
			Max:     bound,
			Pending: g.bool("pending"), Orphans: g.number("orphans"), Timestamp: g.timestamp("at")}}
	}
	if g.bool("switched") {
		p.Balancer.Switched = &catalog.Switch{Time: g.time("switched at"), On: g.bool("on"), Client: "h:27017"}
		p.Unsharded = []catalog.UnshardedData{{Database: "db", Shard: g.shard(shards), Bytes: g.number("unsharded")}}
	}
	if g.bool("leased") {
		p.Lease = &catalog.Lease{Doing: "balance", Host: "ops1", PID: int(g.number("pid")), Since: g.time("leased since"),
			Running: g.bool("running"), PausedCollections: []string{"db.c0", "db.c1"}}
	}
	if g.bool("on hold") {
		p.RunsPause = &catalog.RunsPause{Reason: "backup", User: "ann", Host: "ops1", Login: "admin.ann",
			Since: g.time("on hold since"), Active: g.bool("on hold still")}
		p.Compatibility = catalog.Compatibility{Version: "6.0", Target: "7.0"}
	}
	if g.bool("under way") {
		p.Migrations = []catalog.ActiveMigration{{Namespace: "db.c0", From: "s0", To: "s1", Since: g.time("since")},
			{Namespace: "db.c1", From: "s0", To: "s1", Min: bound, Max: bound}}
		p.Reshardings = []catalog.ActiveResharding{{Namespace: "db.c1", Kind: "moveCollection", State: "cloning",
			Remaining: time.Minute}}
	}
	entry := func(label string) catalog.LogEntry {
		raw := g.document(bson.D{{Key: "what", Value: label},
			{Key: "details", Value: bson.D{{Key: "n", Value: g.number("n")}}}})
		return catalog.LogEntry{Time: g.time(label), What: label, Namespace: "db.c0", Shard: g.shard(shards), Raw: raw}
	}
	for range rapid.IntRange(0, 3).Draw(g.t, "entries") {
		p.Changes = append(p.Changes, entry("split"))
		p.Actions = append(p.Actions, entry("balancer.round"))
	}
	if g.bool("outcomes") {
		p.Outcomes = &catalog.MigrationOutcomes{Since: g.time("since"),
			Counts: []catalog.MigrationOutcome{{Error: "aborted", From: "s0", To: "s1", Count: 3}}}
	}
}

func uuid(n byte) bson.Binary {
	return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: append(make([]byte, 15), n)}
}

// patterns returns shard keys of all kinds.
func patterns() []bson.D {
	return []bson.D{
		{{Key: "x", Value: 1}},
		{{Key: "x", Value: "hashed"}},
		{{Key: "region", Value: 1}, {Key: "o.id", Value: 1.0}},
		{{Key: "a", Value: int64(1)}, {Key: "h", Value: "hashed"}, {Key: "b", Value: 1}},
	}
}

// DrawKey draws a value of a shard key, of any type that keys can have.
func DrawKey(t *rapid.T, p catalog.KeyPattern) catalog.Key {
	var bound bson.D
	for i, name := range p.Fields() {
		bound = append(bound, bson.E{Key: name, Value: value(t, i == p.HashedField())})
	}
	raw, err := bson.Marshal(bound)
	if err != nil {
		t.Fatal(err)
	}
	key, err := p.ParseKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func value(t *rapid.T, hashed bool) any {
	if hashed {
		return rapid.Int64().Draw(t, "hash")
	}
	return rapid.OneOf(
		rapid.Map(rapid.Int32(), func(n int32) any { return n }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.StringN(0, 5, -1), func(s string) any { return s }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) any { return bson.Binary{Subtype: 0, Data: b} }),
		rapid.Map(rapid.Int64Range(-1<<40, 1<<40), func(n int64) any { return bson.DateTime(n) }),
		rapid.Map(rapid.Int64(), func(n int64) any { return bson.NewDecimal128(0x3040000000000000, uint64(n)) }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just[any](nil),
		rapid.Just[any](bson.MinKey{}),
		rapid.Just[any](bson.MaxKey{}),
		rapid.Just[any](bson.ObjectID{7}),
		rapid.Just[any](bson.Regex{Pattern: "^a", Options: "i"}),
		rapid.Just[any](bson.D{{Key: "x", Value: bson.D{{Key: "y", Value: int64(5)}}}}),
	).Draw(t, "value")
}

func (g generator) collection(ns string, shards int) *catalog.CollectionState {
	pattern, err := catalog.ParseKeyPattern(g.document(rapid.SampledFrom(patterns()).Draw(g.t, "key")))
	if err != nil {
		g.t.Fatal(err)
	}
	c := &catalog.CollectionState{Collection: catalog.Collection{
		Namespace: ns, UUID: uuid(byte(len(ns))), Epoch: g.objectID("epoch"),
		Timestamp: g.timestamp("timestamp"), LastMod: g.time("lastmod"),
		Pattern: pattern, Unique: g.bool("unique"), MaxChunkSizeBytes: g.number("chunk size"), NoBalance: g.bool("noBalance"),
		AllowMigrations: g.bool("allow"), PermitMigrations: true, EnableAutoMerge: g.bool("merge"),
		NoChunkOperations: g.bool("frozen"), Unsplittable: g.bool("unsplittable"),
	}}
	if g.bool("counted only") {
		c.Counts = map[catalog.ShardID]catalog.ChunkCount{"s0": {Chunks: g.number("chunks"), Jumbo: 1}}
		return c
	}
	c.Table = g.table(c.Collection, shards)
	c.Sizes = map[catalog.ShardID]catalog.ShardData{g.shard(shards): {Bytes: g.number("bytes"), Documents: 5, Orphans: 1,
		OrphanBytes: 9, ReusableBytes: g.number("reusable"), StoredBytes: g.number("stored"), IndexBytes: 7}}
	for chunk := range c.Table.All() {
		if g.bool("measured") {
			size := catalog.ChunkSize{Min: chunk.Min, Bytes: g.number("bytes"), Documents: g.number("documents")}
			if g.bool("extremes") {
				size.First, size.Last = chunk.Min, chunk.Min
			}
			c.ChunkSizes = append(c.ChunkSizes, size)
		}
	}
	if g.bool("sampled") {
		for chunk := range c.Table.All() {
			c.Sampled = append(c.Sampled, chunk.Min)
		}
	}
	if g.bool("zones") {
		c.Zones = catalog.NewZoneSet(pattern)
		first := c.Table.At(0)
		if err := c.Zones.Add(catalog.ZoneRange{ID: g.objectID("zone"), Min: first.Min, Max: first.Max,
			Zone: "Z"}); err != nil {
			g.t.Fatal(err)
		}
		if g.bool("empty") {
			c.EmptyZones = []catalog.Key{first.Min}
		}
	}
	if g.bool("indexes") {
		c.Unindexed, c.IndexesKnown = []catalog.ShardID{g.shard(shards)}, true
	}
	if g.bool("reported") {
		c.ReportedStatus = &catalog.ReportedStatus{Violation: "draining", ChunkSizeMB: 0.2, RemainingChunks: -1}
	}
	return c
}

// table draws a routing table.
func (g generator) table(c catalog.Collection, shards int) *catalog.RoutingTable {
	p := c.Pattern
	bounds := []catalog.Key{p.GlobalMin(), p.GlobalMax()}
	for range rapid.IntRange(0, 12).Draw(g.t, "splits") {
		if k := DrawKey(g.t, p); p.GlobalMin().Less(k) && k.Less(p.GlobalMax()) {
			bounds = append(bounds, k)
		}
	}
	slices.SortStableFunc(bounds, catalog.Key.Compare)
	bounds = slices.CompactFunc(bounds, catalog.Key.Equal)
	var chunks []catalog.Chunk
	for i := range len(bounds) - 1 {
		chunk := catalog.Chunk{
			ID: g.objectID("chunk"), Min: bounds[i], Max: bounds[i+1], Shard: g.shard(shards),
			Version: catalog.ChunkVersion{Major: 1 + rapid.Uint32Max(9).Draw(g.t, "major"), Minor: uint32(i)},
			Jumbo: rapid.SampledFrom([]catalog.Jumbo{catalog.JumboUnset, catalog.JumboFalse, catalog.JumboTrue}).Draw(g.t,
				"jumbo"),
		}
		if g.bool("history") {
			chunk.OnCurrentShardSince = g.timestamp("since")
			chunk.History = []catalog.ChunkHistory{{ValidAfter: chunk.OnCurrentShardSince, Shard: chunk.Shard}}
			for range rapid.IntRange(0, 2).Draw(g.t, "entries") {
				chunk.History = append(chunk.History,
					catalog.ChunkHistory{ValidAfter: g.timestamp("before"), Shard: g.shard(shards)})
			}
		}
		if g.bool("estimate") {
			chunk.Estimate = catalog.NewEstimate(g.number("estimate"))
		}
		chunks = append(chunks, chunk)
	}
	table, err := catalog.NewRoutingTable(p, c.Epoch, c.Timestamp, slices.Values(chunks))
	if err != nil {
		g.t.Fatal(err)
	}
	return table
}
