package report_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/report"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const mib = 1 << 20

// world is a Snapshot in the making: on, and nothing else.
type world struct {
	t testing.TB
	catalog.SnapshotParts
}

func newWorld(t testing.TB, shards ...catalog.ShardID) *world {
	w := &world{t: t, SnapshotParts: catalog.SnapshotParts{
		Source: catalog.Source{Kind: catalog.SourceLive, Name: "mongodb://host:27017/?appName=x"},
		Time:   noon, Settings: catalog.DefaultSettings(), Version: "8.0.10", Release: catalog.Release80,
		ClusterID: bson.ObjectID{1}, Config: map[string][]bson.Raw{},
	}}
	w.Balancer = catalog.BalancerState{Mode: catalog.ModeFull, Rounds: 7}
	for _, id := range shards {
		w.Shards = append(w.Shards, catalog.ShardState{Shard: catalog.Shard{ID: id, Host: "h/" + string(id), State: 1}})
	}
	return w
}

// collection adds one with a chunk for each of the owners, jumbo ones with a "!",
// and what the shards have of it.
func (w *world) collection(ns string, owners []string, sizes map[catalog.ShardID]catalog.ShardData,
	alter ...func(*catalog.CollectionState)) *world {
	w.t.Helper()
	c := laid(w.t, owners, nil)
	c.Namespace, c.Sizes = ns, sizes
	c.AllowMigrations, c.PermitMigrations, c.EnableAutoMerge = true, true, true
	n := len(w.Collections)
	c.UUID = bson.Binary{Subtype: 4, Data: append(make([]byte, 14), byte(n>>8), byte(n))}
	for _, change := range alter {
		change(c)
	}
	w.Collections = append(w.Collections, c)
	return w
}

// log adds an entry of the change log, so long before noon.
func (w *world) log(ago time.Duration, what, ns string, details bson.D) *world {
	w.Changes = append(w.Changes, w.entry(ago, what, ns, details))
	return w
}

// action adds an entry of the action log.
func (w *world) action(ago time.Duration, what string, details bson.D) *world {
	w.Actions = append(w.Actions, w.entry(ago, what, "", details))
	return w
}

func (w *world) entry(ago time.Duration, what, ns string, details bson.D) catalog.LogEntry {
	w.t.Helper()
	raw, err := bson.Marshal(bson.D{
		{Key: "_id", Value: what + ago.String()}, {Key: "time", Value: noon.Add(-ago)}, {Key: "what", Value: what},
		{Key: "ns", Value: ns}, {Key: "details", Value: details},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return catalog.ParseLogEntry(raw)
}

// move adds the entries of a move that began so long ago and took so many seconds,
// as a donor writes them; an error makes it one that failed.
func (w *world) move(ago time.Duration, ns, from, to string, low int, bytes int64, seconds int, failure string) *world {
	between := func(more ...bson.E) bson.D {
		return append(bson.D{
			{Key: "min", Value: bson.D{{Key: "k", Value: int32(low)}}},
			{Key: "max", Value: bson.D{{Key: "k", Value: int32(low + 1)}}},
			{Key: "from", Value: from}, {Key: "to", Value: to},
		}, more...)
	}
	end := ago - time.Duration(seconds)*time.Second
	w.log(ago, "moveChunk.start", ns, between())
	steps := bson.D{{Key: "step 1 of 6", Value: int32(0)}, {Key: "step 2 of 6", Value: int32(seconds * 250)},
		{Key: "step 3 of 6", Value: int32(seconds * 750)}}
	if failure != "" {
		w.log(end, "moveChunk.error", ns, between())
		return w.log(end, "moveChunk.from", ns, append(steps, between(bson.E{Key: "note", Value: "aborted"},
			bson.E{Key: "errmsg", Value: failure})...))
	}
	w.log(end, "moveChunk.commit", ns, between(bson.E{Key: "counts", Value: bson.D{
		{Key: "cloned", Value: bytes / 1024}, {Key: "clonedBytes", Value: bytes}, {Key: "catchup", Value: int64(0)},
	}}))
	return w.log(end, "moveChunk.from", ns, append(steps, between(bson.E{Key: "note", Value: "success"})...))
}

func (w *world) snapshot() *catalog.Snapshot {
	p := w.SnapshotParts
	p.Shards, p.Collections = slices.Clone(p.Shards), slices.Clone(p.Collections)
	return catalog.NewSnapshot(p)
}

// has is what a shard has: mebibytes, with a document in each KiB.
func has(mibs int64) catalog.ShardData {
	return catalog.ShardData{Bytes: mibs * mib, Documents: mibs * 1024}
}

// crowd is a cluster of many shards and collections, the last of which is the one
// that is not balanced.
func crowd(t testing.TB, shards, collections int) *catalog.Snapshot {
	var ids []catalog.ShardID
	for i := range shards {
		ids = append(ids, catalog.ShardID(fmt.Sprintf("s%03d", i)))
	}
	w := newWorld(t, ids...)
	for i := range collections {
		sizes := map[catalog.ShardID]catalog.ShardData{}
		var owners []string
		for j := range 3 {
			id := ids[(i*3+j)%len(ids)]
			owners = append(owners, string(id))
			sizes[id] = has(10)
		}
		if i == collections-1 {
			sizes[ids[0]] = has(5000)
			owners = append(owners, string(ids[0]), string(ids[0]), string(ids[0]))
		}
		w.collection(fmt.Sprintf("app.c%04d", i), owners, sizes)
	}
	return w.snapshot()
}

func page(t testing.TB, o *report.Overview) string {
	t.Helper()
	var b writer
	if err := report.WritePage(&b, o); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) { *w = append(*w, p...); return len(p), nil }

// newFullOverview returns the overview of a cluster with forecasts, a plan and maps.
func newFullOverview(s *catalog.Snapshot) *report.Overview {
	o := report.NewOverview(s)
	o.AddMaps(s)
	_ = o.AddForecastsAndPlan(s, nil) // without a watch, no error is possible
	return o
}
