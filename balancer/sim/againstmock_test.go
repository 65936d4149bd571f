package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/sim"
)

// unevenTopology returns a cluster of virtual data. The chunks of a shard hold
// the same, as in the model Even; no two shards have chunks alike, so that
// nothing depends on the order in which shards are looked at.
func unevenTopology(r *rand.Rand, shards, chunks, documents int, drains bool) string {
	var b strings.Builder
	b.WriteString(`{"shards": [`)
	for i := range shards {
		fmt.Fprintf(&b, `%s{"id": "s%d"%s}`, comma(i), i, map[bool]string{true: `, "draining": true`}[drains && i == 0])
	}
	b.WriteString(`], "settings": {"balancer": {"stopped": true}},
		"databases": [{"name": "db", "primary": "s1"}], "collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [`)
	for i := range chunks {
		shard := max(0, r.IntN(2*shards)-shards) // the first one has half of the chunks
		if i < shards {
			shard = i
		}
		n := documents + 7_919*shard
		fmt.Fprintf(&b, `%s{"shard": "s%d", "bytes": %d, "docs": %d`, comma(i), shard, 1024*n, n)
		if i < chunks-1 {
			fmt.Fprintf(&b, `, "max": {"x": %d}`, 1000*(i+1))
		}
		b.WriteString("}")
	}
	b.WriteString("]}]}")
	return b.String()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// A run moves what the mock's balancer moves, in the same order, and ends with the
// same owners.
func TestAsTheMock(t *testing.T) {
	for seed := range uint64(12) {
		release := []catalog.Release{catalog.Release60, catalog.Release70, catalog.Release80}[seed%3]
		t.Run(fmt.Sprintf("%s, seed %d", release, seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			documents := []int{100_000, 160_000, 500_000}[seed%4%3] // of 1 KiB: 0.8, 1.3 and 4 chunk sizes
			topology, err := mock.ParseTopology([]byte(unevenTopology(r, 3+r.IntN(4), 40+r.IntN(60), documents, seed%2 == 1)))
			if err != nil {
				t.Fatal(err)
			}
			cluster, err := mock.New(mock.Config{Topology: topology, Version: release, Start: noon, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Close)
			client := connect(t, cluster)
			reader := live.NewReader(client, live.ReaderOptions{})
			before, err := reader.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			admin := client.Database("admin")
			run(t, admin, bson.D{{Key: "balancerStart", Value: 1}})
			run(t, admin, bson.D{{Key: "mockAdvance", Value: (3 * time.Hour).Milliseconds()}})
			after, err := reader.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			simulated := start(t, before, sim.Config{IgnoreMode: true})
			defer simulated.Close()
			// Where a chunk is cut may differ by some keys: the mock's virtual data
			// leaves no orphans, which count for the average document.
			first := before.Collection("db.c").Table
			var got []string
			for e := range simulated.EventsToRest(before.Time().Add(3 * time.Hour)) {
				if e.Kind == sim.Moved {
					got = append(got, fmt.Sprintf("%s>%s chunk %d", e.From, e.To, first.IndexOf(e.Min)))
				}
			}
			want := moved(t, after, first)
			if len(want) == 0 {
				t.Error("the mock moved nothing")
			}
			if !slices.Equal(got, want) {
				t.Errorf("simulated %d moves\n%s\nthe mock %d\n%s",
					len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
			}
			a, b := simulated.Snapshot().Collection("db.c").Table, after.Collection("db.c").Table
			for chunk := range b.All() {
				// The bounds of what was cut differ by some keys at most.
				middle, ok := first.Pattern().Between(chunk.Min, chunk.Max, 0.5)
				if owner := a.ShardOf(middle); ok && owner != chunk.Shard {
					t.Errorf("the chunk at %s is on %s, not on %s", chunk.Min, owner, chunk.Shard)
				}
			}
		})
	}
}

// Up to 5.0 a chunk that is too large to move is cut into pieces of half a chunk
// size, all at once. Recipients with equal counts are the mock's to choose: what
// is compared is how much moved and was cut.
func TestOldReleasesCutAsTheMock(t *testing.T) {
	for i, release := range []catalog.Release{catalog.Release44, catalog.Release50} {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		topology, err := mock.ParseTopology([]byte(unevenTopology(r, 4, 60, 500_000, false)))
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := mock.New(mock.Config{Topology: topology, Version: release, Start: noon,
			Parameters: map[string]any{"minNumChunksForSessionsCollection": 1}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		client := connect(t, cluster)
		reader := live.NewReader(client, live.ReaderOptions{})
		before, err := reader.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		admin := client.Database("admin")
		run(t, admin, bson.D{{Key: "balancerStart", Value: 1}})
		run(t, admin, bson.D{{Key: "mockAdvance", Value: (3 * time.Hour).Milliseconds()}})
		after, err := reader.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		simulated, _ := rest(t, before, sim.Config{IgnoreMode: true})
		defer simulated.Close()
		got, want := simulated.Snapshot().Collection("db.c"), after.Collection("db.c")
		if a, b := got.Table.Len(), want.Table.Len(); a != b || b < before.Collection("db.c").Table.Len()+40 {
			t.Errorf("%s: %d chunks, the mock has %d", release, a, b)
		}
		if a, b := got.Sizes["s0"].Bytes, want.Sizes["s0"].Bytes; a < b*95/100 || a > b*105/100 {
			t.Errorf("%s: s0 keeps %d bytes, on the mock %d", release, a, b)
		}
	}
}

// moved lists the moves of the change log, with the number of the chunk they were
// of at first.
func moved(t *testing.T, s *catalog.Snapshot, first *catalog.RoutingTable) (list []string) {
	t.Helper()
	for _, entry := range s.Parts().Changes {
		if entry.What != "moveChunk.commit" {
			continue
		}
		lower, err := first.Pattern().Key(entry.Detail("min").Document())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s>%s chunk %d",
			entry.Detail("from").StringValue(), entry.Detail("to").StringValue(), first.IndexOf(lower)))
	}
	return list
}

func run(t *testing.T, db *mongo.Database, command bson.D) {
	t.Helper()
	if err := db.RunCommand(t.Context(), command).Err(); err != nil {
		t.Fatal(err)
	}
}

// connect makes a client of a mock, through its wire.
func connect(t *testing.T, cluster *mock.Cluster) *mongo.Client {
	t.Helper()
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: router.New(cluster, nil)}
	done := make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), pipe) }()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://mock:27017/?directConnection=true").
		SetDialer(pipe).SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return client
}
