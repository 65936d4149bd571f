package chunkmaps

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/mocktest"
)

var update = flag.Bool("update", false, "write the pictures again")

const orders = "shop.orders"

// scene is a mock cluster that is looked at.
type scene struct {
	t      *testing.T
	mock   mocktest.Mock
	client *mongo.Client
}

// play begins a scene: chunks of shop.orders in the order of the key, each a letter of
// its shard, all with so much data. The balancer is off.
func play(t *testing.T, owners, size string, shards ...string) *scene {
	t.Helper()
	chunks := strings.Split(owners, "")
	for i, owner := range chunks {
		limit := ""
		if i < len(chunks)-1 {
			limit = fmt.Sprintf(`"max": {"customer": %d}, `, (i+1)*100)
		}
		chunks[i] = fmt.Sprintf(`{"shard": "shard%c", %s"bytes": %q, "docs": 100000}`, owner[0]-'A'+'0', limit, size)
	}
	s := &scene{t: t}
	uri := mocktest.Start(t, 1, mocktest.WithVirtualTime(), mocktest.WithSeed(7), mocktest.WithMock(&s.mock),
		mocktest.WithTopology(fmt.Sprintf(`{"shards": [%s], "settings": {"balancer": {"mode": "off", "stopped": true}},
		"collections": [{"ns": %q, "key": {"customer": 1}, "chunks": [%s]}]}`,
			strings.Join(shards, ", "), orders, strings.Join(chunks, ", "))))
	var err error
	s.client, err = mongo.Connect(options.Client().ApplyURI(uri).
		SetServerMonitoringMode(options.ServerMonitoringModePoll)) // a streaming one may end ten seconds late
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// plain are shards of which nothing is said.
func plain(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id": "shard%d"}`, i))
	}
	return list
}

// do sends a command to admin.
func (s *scene) do(command bson.D) {
	s.t.Helper()
	if err := s.client.Database("admin").RunCommand(s.t.Context(), command).Err(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) start() { s.t.Helper(); s.do(bson.D{{Key: "balancerStart", Value: 1}}) }

// look reads the cluster.
func (s *scene) look() *catalog.Snapshot {
	s.t.Helper()
	seen, err := live.NewReader(s.client, live.ReaderOptions{}).Read(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return seen
}

// until lets time pass, a little at a time, until the cluster is as it should be.
func (s *scene) until(step time.Duration, is func(*catalog.Snapshot) bool) *catalog.Snapshot {
	s.t.Helper()
	for range 200 {
		if seen := s.look(); is(seen) {
			return seen
		}
		s.mock.Advance(step)
	}
	s.t.Fatal("it does not come to that")
	return nil
}

// moving tells that so many migrations are under way.
func moving(n int) func(*catalog.Snapshot) bool {
	return func(s *catalog.Snapshot) bool { return len(s.Parts().Migrations) == n }
}

// rests returns the cluster half an hour later, when orphans are deleted, too.
func (s *scene) rests() *catalog.Snapshot {
	s.t.Helper()
	s.mock.Advance(30 * time.Minute)
	return s.until(time.Minute, moving(0))
}

// picture holds a file to what is drawn.
func picture(t *testing.T, name, title string, s *catalog.Snapshot) {
	t.Helper()
	got := draw(s, orders, title)
	if *update {
		if err := os.WriteFile(name+".svg", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s.svg is not what comes of its scene: make it again with -update, and look at it", name)
	}
}

// held fails unless the shards have so many chunks, as the page says.
func held(t *testing.T, s *catalog.Snapshot, want ...int64) {
	t.Helper()
	for i, shard := range s.Shards() {
		if got := s.Collection(orders).CountOn(shard.ID).Chunks; got != want[i] {
			t.Errorf("%s has %d chunks, want %d", shard.ID, got, want[i])
		}
	}
}

// A round: of four shards two give to two, at once, until no two differ by 384 MiB.
func TestRound(t *testing.T) {
	s := play(t, "AABABACABBADABAB", "128MB", plain(4)...)
	before := s.look()
	held(t, before, 8, 6, 1, 1)
	picture(t, "round-before", "Before a round: shard0 and shard1 have most of the data", before)
	s.start()
	picture(t, "round-during", "A round: two chunks move, from two shards to two others", s.until(100*time.Millisecond, moving(2)))
	after := s.rests()
	picture(t, "round-after", "At rest: no two shards differ by three chunk sizes", after)
	var least, most int64 = 1 << 62, 0
	for _, data := range after.Collection(orders).Sizes {
		least, most = min(least, data.Bytes), max(most, data.Bytes)
	}
	if most-least >= 384<<20 || most == least {
		t.Errorf("at rest with %d to %d bytes", least, most)
	}
}

// Zones: chunks move to the shards of their zone, however even the data are.
func TestZones(t *testing.T) {
	s := play(t, "ABCABCABC", "64MB", plain(3)...)
	s.do(bson.D{{Key: "addShardToZone", Value: "shard2"}, {Key: "zone", Value: "EU"}})
	s.do(bson.D{{Key: "updateZoneKeyRange", Value: orders}, {Key: "min", Value: bson.D{{Key: "customer", Value: 150}}},
		{Key: "max", Value: bson.D{{Key: "customer", Value: 500}}}, {Key: "zone", Value: "EU"}})
	picture(t, "zones-before", "Before: the zone EU begins within a chunk, and its chunks lie on all shards", s.look())
	s.start()
	after := s.rests()
	table := after.Collection(orders).Table
	for chunk := range table.All() {
		if n, ok := chunk.Min.Values()[0].AsInt64OK(); ok && n >= 150 && n < 500 && chunk.Shard != "shard2" {
			t.Errorf("the chunk at %d lies on %s", n, chunk.Shard)
		}
	}
	picture(t, "zones-after", "After: the chunk was cut at the zone's bound, and the zone lies on its shard", after)
}

// Draining: one chunk at a time leaves the shard, whatever the sizes are; a jumbo one
// stays.
func TestDraining(t *testing.T) {
	s := play(t, "ABCABCABC", "64MB", `{"id": "shard0"}`, `{"id": "shard1"}`, `{"id": "shard2", "draining": true}`)
	config := s.client.Database("config").Collection("chunks")
	if _, err := config.UpdateOne(s.t.Context(), bson.D{{Key: "min.customer", Value: 500}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "jumbo", Value: true}}}}); err != nil {
		t.Fatal(err)
	}
	s.start()
	picture(t, "draining", "A draining shard gives one chunk at a time", s.until(50*time.Millisecond, moving(1)))
	after := s.rests()
	if n := after.Collection(orders).CountOn("shard2"); n.Chunks != 1 || n.Jumbo != 1 {
		t.Errorf("%+v stay", n)
	}
	picture(t, "drained", "What stays is jumbo: somebody has to split it or clear the flag", after)
}

// Defragmentation: small chunks move beside their neighbours, and are merged.
func TestDefragmentation(t *testing.T) {
	s := play(t, "ABCBACABCCABBACABCBACBAC", "12MB", plain(3)...)
	picture(t, "fragments-before", "Before: 24 chunks of 11 MiB", s.look())
	s.do(bson.D{{Key: "configureCollectionBalancing", Value: orders}, {Key: "defragmentCollection", Value: true}})
	s.start()
	s.mock.Advance(time.Hour)
	after := s.until(10*time.Minute, func(s *catalog.Snapshot) bool { return !s.Collection(orders).Defragment })
	if n := after.Collection(orders).Count().Chunks; n > 12 {
		t.Errorf("%d chunks are left", n)
	}
	picture(t, "fragments-after", "After: the same data in few chunks", after)
}
