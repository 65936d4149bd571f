// Package enginetest is the conformance suite for the interfaces that the engine needs from a cluster.
// The same tests run on the mock directly and over the wire, so that a balancer gets the same results,
// codes and refusals on both.
package enginetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Topology is the content of the cluster of each test (see docs/topology.md). Its balancer is off.
const Topology = `{
  "shards": [{"id": "a", "zones": ["EU"]}, {"id": "b"}, {"id": "c", "draining": true}],
  "settings": {"chunkSizeMB": 64, "balancer": {"mode": "off"}},
  "collections": [
    {"ns": "app.even", "key": {"k": 1}, "zones": [{"zone": "EU", "min": {"k": 0}, "max": {"k": 50}}],
     "chunks": [
       {"shard": "a", "max": {"k": 0}, "bytes": "10MiB", "docs": 1024},
       {"shard": "a", "max": {"k": 100}, "bytes": "20MiB", "docs": 2048},
       {"shard": "a", "max": {"k": 200}},
       {"shard": "b", "bytes": "5MiB", "docs": 512}]},
    {"ns": "app.huge", "key": {"k": 1},
     "chunks": [
       {"shard": "a", "max": {"k": 0}},
       {"shard": "a", "max": {"k": 100000}, "bytes": "1GiB", "docs": 1048576},
       {"shard": "b"}]},
    {"ns": "app.plain", "key": {"x": 1, "y": 1}, "noBalance": true}]
}`

// Subject is a cluster under test.
type Subject struct {
	Cluster balancer.ConcurrentCluster
	Release catalog.Release
	// Command runs a command as a user of the cluster, to prepare a test or to check its effect.
	Command func(ctx context.Context, db string, command bson.D) (bson.Raw, error)
	// Unsupported names the methods that no command can implement: they return errors.ErrUnsupported.
	Unsupported []string
}

// TestCluster runs the suite. It calls make for each test; make returns a cluster of the Topology whose
// clock advances by itself while a test waits.
func TestCluster(t *testing.T, make func(t *testing.T) Subject) {
	for _, tt := range []struct {
		name string
		run  func(*suite)
	}{
		{"Setting", (*suite).setting},
		{"Shards", (*suite).shards},
		{"Collections", (*suite).collections},
		{"Routing", (*suite).routing},
		{"DataSizes", (*suite).dataSizes},
		{"Mergeable", (*suite).mergeable},
		{"Unsharded", (*suite).unsharded},
		{"Split", (*suite).split},
		{"SplitRefused", (*suite).splitRefused},
		{"SplitPoint", (*suite).splitPoint},
		{"MarkJumbo", (*suite).markJumbo},
		{"SwitchOffBalancing", (*suite).switchOffBalancing},
		{"Move", (*suite).move},
		{"MoveRefused", (*suite).moveRefused},
		{"MoveUnsharded", (*suite).moveUnsharded},
		{"ActMerge", (*suite).actMerge},
		{"ActMeasure", (*suite).actMeasure},
		{"ActMergeAll", (*suite).actMergeAll},
		{"LogAction", (*suite).logAction},
		{"LogChange", (*suite).logChange},
		{"SetEstimate", (*suite).setEstimate},
		{"SetDefragmentationPhase", (*suite).setPhase},
		{"EndDefragmentation", (*suite).endDefragmentation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &suite{T: t, ctx: t.Context(), Subject: make(t)}
			tt.run(s)
		})
	}
}

// suite is one test of one subject.
type suite struct {
	*testing.T
	Subject
	ctx context.Context
}

// withCluster passes the cluster to f.
func (s *suite) withCluster(f func(balancer.Cluster)) {
	s.Helper()
	s.Cluster.WithCluster(f)
}

// mustGet returns the value that f returns for the cluster; an error fails the test.
func mustGet[T any](s *suite, f func(balancer.Cluster) (T, error)) (value T) {
	s.Helper()
	s.withCluster(func(c balancer.Cluster) {
		var err error
		if value, err = f(c); err != nil {
			s.Fatal(err)
		}
	})
	return value
}

// errOf returns the error that f returns for the cluster.
func (s *suite) errOf(f func(balancer.Cluster) error) (err error) {
	s.Helper()
	s.withCluster(func(c balancer.Cluster) { err = f(c) })
	return err
}

// isSupported reports whether a method is supported. For unsupported methods, it checks the error that
// f returns.
func (s *suite) isSupported(method string, f func(balancer.Cluster) error) bool {
	s.Helper()
	if !slices.Contains(s.Unsupported, method) {
		return true
	}
	if err := s.errOf(f); !errors.Is(err, errors.ErrUnsupported) || err.Error() == "" {
		s.Errorf("%s is unsupported and answers %v", method, err)
	}
	return false
}

// wantCode checks that an error carries a code.
func (s *suite) wantCode(what string, err error, want mongoerr.Code) {
	s.Helper()
	if !mongoerr.Is(err, want) {
		s.Errorf("%s: %v (%T), want %s", what, err, err, want.Name())
	}
}

func (s *suite) routingOf(ns string) balancer.Routing {
	s.Helper()
	return mustGet(s, func(c balancer.Cluster) (balancer.Routing, error) { return c.Routing(s.ctx, ns) })
}

// key returns a key of the collections with one field.
func (s *suite) key(r balancer.Routing, k int) catalog.Key {
	s.Helper()
	raw, err := bson.Marshal(bson.D{{Key: "k", Value: int32(k)}})
	if err != nil {
		s.Fatal(err)
	}
	key, err := r.Collection.Pattern.ParseKey(raw)
	if err != nil {
		s.Fatal(err)
	}
	return key
}

// layout returns the owners of the chunks, in key order.
func (s *suite) layout(ns string) (owners []string) {
	s.Helper()
	for c := range s.routingOf(ns).Table.All() {
		owners = append(owners, string(c.Shard))
	}
	return owners
}

func (s *suite) command(db string, command bson.D) bson.Raw {
	s.Helper()
	reply, err := s.Command(s.ctx, db, command)
	if err != nil {
		s.Fatal(err)
	}
	return reply
}

func (s *suite) drop(ns string) {
	s.Helper()
	db, name, _ := catalog.SplitNamespace(ns)
	s.command(db, bson.D{{Key: "drop", Value: name}})
}

// countEntries counts documents of a collection of config.
func (s *suite) countEntries(collection string, filter bson.D) int {
	s.Helper()
	reply := s.command("config", bson.D{{Key: "count", Value: collection}, {Key: "query", Value: filter}})
	n, _ := reply.Lookup("n").AsInt64OK()
	return int(n)
}

func (s *suite) wantEqual(what string, got, want any) {
	s.Helper()
	if !equal(got, want) {
		s.Errorf("%s: %v, want %v", what, got, want)
	}
}

func equal(a, b any) bool {
	list, isList := a.([]string)
	other, both := b.([]string)
	if isList && both {
		return slices.Equal(list, other)
	}
	return a == b
}

// newMigration returns a migration of the chunk at k of a collection.
func (s *suite) newMigration(r balancer.Routing, k int, to catalog.ShardID) policy.Migration {
	s.Helper()
	c := r.Table.Find(s.key(r, k))
	return policy.Migration{
		From: c.Shard, To: to, Namespace: r.Collection.Namespace, UUID: r.Collection.UUID,
		Min: c.Min, Max: c.Max, ChunkVersion: c.Version, MaxChunkSizeBytes: 64 << 20, Reason: policy.ReasonChunksImbalance,
	}
}

// historyWindow is long enough for chunks to be merged by the auto-merger.
const historyWindow = 10 * time.Minute
