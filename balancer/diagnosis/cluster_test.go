package diagnosis

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const mib = 1 << 20

func raw(t testing.TB, v any) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// cluster is a Snapshot in the making: two shards, on, nothing else.
type cluster struct {
	t testing.TB
	catalog.SnapshotParts
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{t: t, SnapshotParts: catalog.SnapshotParts{Time: noon, Settings: catalog.DefaultSettings()}}
	c.Balancer.Mode = catalog.ModeFull
	c.Config = map[string][]bson.Raw{}
	return c.shard("a").shard("b")
}

func (c *cluster) shard(id catalog.ShardID, zones ...string) *cluster {
	c.Shards = append(c.Shards, catalog.ShardState{Shard: catalog.Shard{ID: id, Host: "h", Zones: zones}})
	return c
}

// change alters the shard that was added last.
func (c *cluster) change(alter func(*catalog.ShardState)) *cluster {
	alter(&c.Shards[len(c.Shards)-1])
	return c
}

func (c *cluster) draining() *cluster {
	return c.change(func(s *catalog.ShardState) { s.Draining = true })
}

func keyPattern(t testing.TB) catalog.KeyPattern {
	t.Helper()
	p, err := catalog.ParseKeyPattern(raw(t, bson.D{{Key: "k", Value: int32(1)}}))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// collection adds one with a chunk for each of the owners; a "!" before an owner
// makes its chunk jumbo.
func (c *cluster) collection(ns string, owners []string, alter ...func(*catalog.CollectionState)) *cluster {
	p := keyPattern(c.t)
	state := &catalog.CollectionState{Collection: catalog.Collection{
		Namespace: ns, Pattern: p, AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true,
	}}
	var chunks []catalog.Chunk
	low := p.GlobalMin()
	for i, owner := range owners {
		chunk := catalog.Chunk{Min: low, Max: p.GlobalMax()}
		chunk.Version = catalog.ChunkVersion{Major: 1, Minor: uint32(i)}
		if i < len(owners)-1 {
			var err error
			if chunk.Max, err = p.ParseKey(raw(c.t, bson.D{{Key: "k", Value: int32(i)}})); err != nil {
				c.t.Fatal(err)
			}
		}
		if owner[0] == '!' {
			owner, chunk.Jumbo = owner[1:], catalog.JumboTrue
		}
		chunk.Shard = catalog.ShardID(owner)
		chunks, low = append(chunks, chunk), chunk.Max
	}
	var err error
	state.Table, err = catalog.NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(chunks))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range alter {
		f(state)
	}
	c.Collections = append(c.Collections, state)
	return c
}

func (c *cluster) tag(ns, zone string, low, high int) *cluster {
	bound := func(n int) bson.D { return bson.D{{Key: "k", Value: int32(n)}} }
	c.Config["tags"] = append(c.Config["tags"], raw(c.t, bson.D{
		{Key: "ns", Value: ns}, {Key: "tag", Value: zone}, {Key: "min", Value: bound(low)}, {Key: "max", Value: bound(high)},
	}))
	return c
}

func (c *cluster) snapshot() *catalog.Snapshot { return catalog.NewSnapshot(c.SnapshotParts) }

// reported has the server say that a collection is not balanced; or is, for an
// empty violation.
func reported(violation string) func(*catalog.CollectionState) {
	return func(c *catalog.CollectionState) {
		c.ReportedStatus = &catalog.ReportedStatus{
			Compliant: violation == "", Violation: violation, ChunkSizeMB: 128, RemainingChunks: -1,
		}
	}
}

// sized returns shards owned bytes, in MiB.
func sized(mibs map[catalog.ShardID]int64) func(*catalog.CollectionState) {
	return func(c *catalog.CollectionState) {
		c.Sizes = map[catalog.ShardID]catalog.ShardData{}
		for id, n := range mibs {
			c.Sizes[id] = catalog.ShardData{Bytes: n * mib}
		}
	}
}

// pausedBy gives the cluster a lease whose holder has disabled the balancing of collections.
func (c *cluster) pausedBy(running bool, namespaces ...string) *cluster {
	return c.with(func(c *cluster) {
		c.Lease = &catalog.Lease{Doing: "balance shop.*", Host: "ops1", PID: 42, Running: running, PausedCollections: namespaces}
	})
}

func noBalance(c *catalog.CollectionState)    { c.NoBalance = true }
func forbidden(c *catalog.CollectionState)    { c.PermitMigrations = false }
func unsplittable(c *catalog.CollectionState) { c.Unsplittable = true }
func withoutTable(c *catalog.CollectionState) { c.Table = nil }
func defragmented(c *catalog.CollectionState) { c.Defragment = true }
func orphaned(c *catalog.CollectionState) {
	c.Sizes["a"] = catalog.ShardData{Orphans: 7, OrphanBytes: 70}
}
func mergingPhase(left int64) func(*catalog.CollectionState) {
	return func(c *catalog.CollectionState) {
		reported("defragmentingChunks")(c)
		c.ReportedStatus.Phase, c.ReportedStatus.RemainingChunks = "mergeChunks", left
	}
}

// logged adds an entry to a log.
func logged(t testing.TB, log *[]catalog.LogEntry, what string, ago time.Duration, details bson.D) {
	at := noon.Add(-ago)
	*log = append(*log, catalog.LogEntry{Time: at, What: what, Raw: raw(t, bson.D{
		{Key: "time", Value: at}, {Key: "what", Value: what}, {Key: "details", Value: details},
	})})
}

func (c *cluster) round(ago time.Duration, details ...bson.E) *cluster {
	logged(c.t, &c.Actions, roundAction, ago, details)
	return c
}

func (c *cluster) migrated(ago time.Duration, note, errmsg string) *cluster {
	details := bson.D{{Key: "note", Value: note}, {Key: "from", Value: "a"}, {Key: "to", Value: "b"}}
	if errmsg != "" {
		details = append(details, bson.E{Key: "errmsg", Value: errmsg})
	}
	logged(c.t, &c.Changes, catalog.MigrationEnded, ago, details)
	return c
}
