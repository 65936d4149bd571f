package runner_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/runner"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const sessionsChunks = 8

// world is a mock cluster on virtual time, over the wire.
type world struct {
	testing.TB
	cluster *mock.Cluster
	client  *mongo.Client
}

func newWorld(t testing.TB, topology string, release catalog.Release, seed uint64, more ...map[string]any) *world {
	t.Helper()
	parameters := map[string]any{"minNumChunksForSessionsCollection": sessionsChunks}
	for _, list := range more {
		maps.Copy(parameters, list)
	}
	parsed, err := mock.ParseTopology([]byte(topology))
	if err != nil {
		t.Fatalf("%v in %s", err, topology)
	}
	w := &world{TB: t}
	w.cluster, err = mock.New(mock.Config{
		Topology: parsed, Release: release, Start: noon, Seed: seed, Parameters: parameters,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.cluster.Close)
	w.client = mocktest.Connect(t, router.New(w.cluster, nil))
	// By then the config server has made its collection of sessions.
	w.command(bson.D{{Key: "mockAdvance", Value: (10 * time.Minute).Milliseconds()}})
	return w
}

func (w *world) command(c bson.D) bson.Raw {
	w.Helper()
	reply, err := w.client.Database("admin").RunCommand(w.Context(), c).Raw()
	if err != nil {
		w.Fatal(err)
	}
	return reply
}

// free is the cluster without a lease: nobody else wants a turn of it.
func (w *world) free() *free {
	w.Helper()
	commands := live.NewCommandRunner(w.client)
	steps, err := live.NewStepExecutor(w.Context(), commands)
	if err != nil {
		w.Fatal(err)
	}
	executor, err := live.NewExecutor(w.Context(), live.NewCommandRunner(w.client))
	if err != nil {
		w.Fatal(err)
	}
	return &free{Executor: executor, steps: steps}
}

// set writes a document of config.settings.
func (w *world) set(id string, fields bson.D) {
	w.Helper()
	_, err := w.client.Database("config").Collection("settings").UpdateByID(w.Context(), id,
		bson.D{{Key: "$set", Value: fields}}, options.UpdateOne().SetUpsert(true))
	if err != nil {
		w.Fatal(err)
	}
}

// moves lists the moves of the change log, by the entries of one kind.
func (w *world) moves(what string) (list []string) {
	w.Helper()
	cursor, err := w.client.Database("config").Collection("changelog").Find(w.Context(),
		bson.D{{Key: "what", Value: what}}, options.Find().SetSort(bson.D{{Key: "$natural", Value: 1}}))
	if err != nil {
		w.Fatal(err)
	}
	var docs []bson.Raw
	if err := cursor.All(w.Context(), &docs); err != nil {
		w.Fatal(err)
	}
	for _, doc := range docs {
		list = append(list, fmt.Sprintf("%s %s>%s %s to %s", doc.Lookup("ns").StringValue(),
			doc.Lookup("details", "from").StringValue(), doc.Lookup("details", "to").StringValue(),
			doc.Lookup("details", "min"), doc.Lookup("details", "max")))
	}
	return list
}

// take takes the turn.
func (w *world) take() (*live.LeasedCluster, error) {
	return live.Acquire(w.Context(), w.client, live.NewCommandRunner(w.client),
		live.Holder{Host: "ops1", PID: 42, Doing: "balance"})
}

func (w *world) mustTake() *live.LeasedCluster {
	w.Helper()
	turn, err := w.take()
	if err != nil {
		w.Fatal(err)
	}
	return turn
}

// off lists the collections whose balancing is off.
func (w *world) off() (list []string) {
	w.Helper()
	seen, err := w.free().Snapshot(w.Context(), nil)
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range seen.Collections() {
		if c.NoBalance {
			list = append(list, c.Namespace)
		}
	}
	return list
}

// counts returns how many chunks of a collection each shard has.
func (w *world) counts(ns string) map[catalog.ShardID]int {
	w.Helper()
	var routing balancer.Routing
	var err error
	w.free().WithCluster(func(c balancer.Cluster) { routing, err = c.Routing(w.Context(), ns) })
	if err != nil {
		w.Fatal(err)
	}
	counts := map[catalog.ShardID]int{}
	for _, id := range routing.Table.Owners() {
		counts[id] = routing.Table.CountOn(id)
	}
	return counts
}

// free is a cluster that nobody else wants a turn of.
type free struct {
	*live.Executor
	steps *live.StepExecutor
}

func (f *free) Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	return f.steps.Snapshot(ctx, namespaces)
}

func (f *free) Chunks(ctx context.Context, c catalog.Collection, lower, upper catalog.Key) ([]catalog.Chunk, error) {
	return f.steps.Chunks(ctx, c, lower, upper)
}

func (f *free) Sizes(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error) {
	return f.steps.Sizes(ctx, namespaces)
}

func (f *free) OperationCounts(ctx context.Context, namespaces []string) (map[string]map[catalog.ShardID]int64, error) {
	return f.steps.OperationCounts(ctx, namespaces)
}

func (f *free) ReadCatalog(
	ctx context.Context, namespaces []string, before *runner.Catalog,
) (*runner.Catalog, error) {
	return f.steps.ReadCatalog(ctx, namespaces, before)
}

func (f *free) MovedAmount(ctx context.Context, c apply.Command) (apply.RangeAmount, error) {
	return f.steps.MovedAmount(ctx, c)
}

func (f *free) RangeSize(ctx context.Context, c apply.Command) (apply.RangeAmount, error) {
	return f.steps.RangeSize(ctx, c)
}

func (f *free) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	return f.steps.SetBalancing(ctx, namespaces, on)
}

func (f *free) PausedCollections() []string   { return nil }
func (f *free) LeaseContext() context.Context { return context.Background() }
