package diff_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
)

// tester is what testing.TB and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a cluster that changes are made on. Each change has collections, shards and
// databases of its own, so that all of them can be made together.
type world struct {
	t       tester
	cluster *mock.Cluster
	client  *mongo.Client
}

// four are the chunks of most collections: below 10 and from 30 on s0, between them on s1.
const four = `"chunks": [{"shard": "s0", "max": {"x": 10}}, {"shard": "s1", "max": {"x": 20}},
	{"shard": "s1", "max": {"x": 30}}, {"shard": "s0"}]`

func topology() string {
	text := `{"shards": [{"id": "s0", "zones": ["EU"]}, {"id": "s1", "zones": ["US"]}, {"id": "s2", "zones": ["OLD"]}, {"id": "s3"},
		{"id": "s4", "draining": true}, {"id": "s5"}, {"id": "s6", "draining": true}],
	"settings": {"balancer": {"mode": "off"}},
	"databases": [{"name": "app", "primary": "s0"}, {"name": "gone", "primary": "s0"}, {"name": "moving", "primary": "s0"}],
	"collections": [{"ns": "gone.a", "key": {"x": 1}, ` + four + `}, {"ns": "app.unbalanced", "key": {"x": 1}, "noBalance": true, ` + four + `},
		{"ns": "app.flagged", "key": {"x": 1}, "chunks": [{"shard": "s0", "max": {"x": 5}, "jumbo": true}, {"shard": "s1"}]},
		{"ns": "app.zoned", "key": {"x": 1}, "zones": [{"zone": "EU", "min": {"x": 0}, "max": {"x": 5}},
			{"zone": "US", "min": {"x": 5}, "max": {"x": 7}}, {"zone": "US", "min": {"x": 50}, "max": {"x": 70}}], ` + four + `}`
	for _, name := range []string{"dropped", "renamed", "refined", "resharded", "recreated", "unsharded", "sized", "balanced", "merging",
		"blocked", "moved", "split", "merged", "jumbo", "defragmented", "moverange", "still"} {
		text += fmt.Sprintf(`, {"ns": "app.%s", "key": {"x": 1}, %s}`, name, four)
	}
	return text + "]}"
}

func newWorld(t testing.TB, release catalog.Release) *world {
	t.Helper()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	cluster, client := mocktest.New(t, topology(), mock.Config{Start: start, Seed: 1, Release: release})
	w := &world{t, cluster, client}
	w.run("app", "create", "plain")
	w.run("app", "create", "toshard")
	w.admin("moveCollection", "app.plain", bson.E{Key: "toShard", Value: "s3"})
	return w
}

func (w *world) run(db, name string, value any, more ...bson.E) bson.Raw {
	w.t.Helper()
	reply, err := w.client.Database(db).RunCommand(context.Background(), append(bson.D{{Key: name, Value: value}}, more...)).Raw()
	if err != nil {
		w.t.Fatalf("%s %v: %v", name, value, err)
	}
	return reply
}

func (w *world) admin(name string, value any, more ...bson.E) bson.Raw {
	w.t.Helper()
	return w.run("admin", name, value, more...)
}

// setting changes fields of a document of config.settings.
func (w *world) setting(id string, fields bson.D) {
	w.t.Helper()
	w.run("config", "update", "settings", bson.E{Key: "updates", Value: bson.A{bson.D{
		{Key: "q", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "u", Value: bson.D{{Key: "$set", Value: fields}}},
		{Key: "upsert", Value: true}}}})
}

func (w *world) read() *catalog.Snapshot {
	w.t.Helper()
	s, err := live.NewReader(w.client, live.ReaderOptions{Parts: live.DefaultPartsAndStatus | live.ExplanationData}).Read(context.Background())
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return s
}

func x(n any) bson.D { return bson.D{{Key: "x", Value: n}} }

func e(name string, value any) bson.E { return bson.E{Key: name, Value: value} }

func t0() context.Context { return context.Background() }
