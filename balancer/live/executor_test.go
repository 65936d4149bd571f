package live_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/enginetest"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
)

// subject makes a mock of the suite's topology and a client of it.
func subject(t *testing.T, release catalog.Release) (enginetest.Subject, *mock.Cluster, *mongo.Client) {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(enginetest.Topology))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := mock.New(mock.Config{Topology: topology, Release: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client := mocktest.Connect(t, router.New(cluster, nil))
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s := enginetest.Subject{Release: release}
	s.Command = func(ctx context.Context, db string, command bson.D) (bson.Raw, error) {
		return client.Database(db).RunCommand(ctx, command).Raw()
	}
	return s, cluster, client
}

// testedReleases returns those that the live side is for.
func testedReleases() []catalog.Release { return enginetest.Releases() }

func TestEngineOnTheMock(t *testing.T) {
	for _, release := range testedReleases() {
		t.Run(release.String(), func(t *testing.T) {
			enginetest.TestCluster(t, func(t *testing.T) enginetest.Subject {
				s, cluster, _ := subject(t, release)
				s.Cluster = cluster.Balancer().ConcurrentCluster()
				return s
			})
		})
	}
}

// What a mongos has no command for; of old releases, more.
func unsupported(release catalog.Release) []string {
	names := []string{
		"Unsharded", "MarkJumbo", "LogAction", "LogChange", "SetEstimate", "SetDefragmentationPhase", "EndDefragmentation",
	}
	if !release.BalancesBySize() {
		names = append(names, "DataSizes")
	}
	if !release.AutoMerges() {
		names = append(names, "ActMergeAll")
	}
	if !release.FCVAtLeast(catalog.Release80) {
		names = append(names, "MoveUnsharded")
	}
	return names
}

func TestEngineOverTheWire(t *testing.T) {
	for _, release := range testedReleases() {
		t.Run(release.String(), func(t *testing.T) {
			enginetest.TestCluster(t, func(t *testing.T) enginetest.Subject {
				s, _, client := subject(t, release)
				executor, err := live.NewExecutor(t.Context(), live.NewCommandRunner(client))
				if err != nil {
					t.Fatal(err)
				}
				if is := executor.Release(); is != release && is.Line() != release {
					t.Fatalf("release %s, want %s", executor.Release(), release)
				}
				s.Cluster, s.Unsupported = executor, unsupported(release)
				return s
			})
		})
	}
}

func TestDoerNeedsAMongos(t *testing.T) {
	commands := live.NewCommandRunner(mocktest.Connect(t, standalone{}))
	if _, err := live.NewExecutor(t.Context(), commands); !errors.Is(err, live.ErrNotSharded) {
		t.Errorf("got %v, want ErrNotSharded", err)
	}
}
