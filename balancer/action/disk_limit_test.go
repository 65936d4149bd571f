package action

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
)

// withDisks gives the shards of a topology volumes of some hundred MB.
func withDisks(r *rand.Rand, topology string) string {
	for i := range 4 {
		id := fmt.Sprintf(`{"id": "s%d"`, i)
		topology = strings.Replace(topology, id, fmt.Sprintf(`%s, "disk": %d`, id, 150e6+r.Int64N(250e6)), 1)
	}
	return topology
}

// ofOurs is what the documents of a run take, such as its lease.
const ofOurs = 64 << 10

// Whatever a run does, no volume becomes fuller than its limit by it: files of the mock grow,
// and never become smaller, so that what was reached at any time shows at the end.
func TestRunsKeepTheDiskLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	seeds := uint64(15)
	if *full {
		seeds = 500
	}
	const limit = 0.8
	ended, refused := 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 24))
		w := newWorld(t, withDisks(r, scattered(r, stopped)), releases()[int(seed)%len(releases())], seed)
		before := w.snapshot()
		run := RunOptions{Pace: Pace{Parallel: 1, DiskLimit: limit}, NoJournal: true}
		var err error
		switch seed % 3 {
		case 0:
			var result BalanceResult
			result, err = Balance{Pace: run.Pace, All: true}.Run(t.Context(), w.actionCluster(), nil)
			if result.Stopped != "" {
				ended++
			}
		case 1:
			run.Parallel = 2
			_, err = Defragment{All: true, RunOptions: run}.Run(t.Context(), w.actionCluster(), nil)
		default:
			run.PreflightOptions = PreflightOptions{IgnoreObstacles: []string{"noRoom", "noRecipient"}}
			_, err = Drain{Shard: "s0", MovePrimaries: true, RunOptions: run}.Run(t.Context(), w.actionCluster(), nil)
		}
		switch {
		case errors.As(err, new(*preflight.Error)):
			refused++
		case err != nil && strings.Contains(err.Error(), "has no room for the next chunk below the disk limit of 80%"):
			ended++
		case err != nil:
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, shard := range w.snapshot().Shards() {
			was, _ := before.Shard(shard.ID)
			grown := shard.Disk.Used - was.Disk.Used
			if grown > ofOurs && shard.Disk.UsedShare() > limit {
				t.Errorf("seed %d, %s: %s had %+v and has %+v", seed, w.release, shard.ID, was.Disk, shard.Disk)
			}
		}
		w.well()
	}
	t.Logf("%d runs ended for lack of room, %d were refused", ended, refused)
}

// A plan that was made with room waits or stops where there is none when it is carried out.
func TestAStepWithoutRoomStops(t *testing.T) {
	topology := `{"shards": [{"id": "a", "disk": "10GB"}, {"id": "b", "disk": "1GB"}],
		"settings": {"balancer": {"stopped": true}}, "collections": [{"ns": "db.c", "key": {"k": 1}, "chunks": [
			{"shard": "a", "max": {"k": 0}, "bytes": "100MB", "docs": 1000}, {"shard": "a", "bytes": "100MB", "docs": 1000}]},
			{"ns": "db.other", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": "700MB", "docs": 7000}]}]}`
	w := newWorld(t, topology, catalog.Release80, 1)
	p, err := Plan{Goal: plan.Goal{Kind: plan.Drain, Shard: "a", Namespaces: []string{"db.c"}}, DiskLimit: 0.85}.Run(
		t.Context(), Source{Client: w.client}, nil)
	if err != nil || !p.ReachesGoal && len(p.Steps) != 2 || p.Limits.Disk != 0.85 {
		t.Fatal(p, err)
	}
	move := bson.D{{Key: "moveRange", Value: "db.other"}, {Key: "min", Value: bson.D{{Key: "k", Value: bson.MinKey{}}}},
		{Key: "max", Value: bson.D{{Key: "k", Value: bson.MaxKey{}}}}, {Key: "toShard", Value: "b"},
		{Key: "forceJumbo", Value: true}}
	if err := w.client.Database("admin").RunCommand(t.Context(), move).Err(); err != nil {
		t.Fatal(err)
	}
	result, err := Apply{Plan: p, RunOptions: RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true,
		PreflightOptions: PreflightOptions{IgnoreObstacles: []string{"littleRoom"}}}}.Run(t.Context(), w.actionCluster(), nil)
	if err != nil || result.Finished || result.MovesDone != 1 ||
		!strings.HasPrefix(result.Stopped, "the disk limit of 85% is reached: shard b lacks ") ||
		!strings.Contains(result.Stopped, "add space or a shard, or raise --disk-limit (diskLimit)") {
		t.Errorf("%+v, %v", result, err)
	}
	b, _ := w.snapshot().Shard("b")
	if b.Disk.UsedShare() > 0.85 {
		t.Errorf("%+v", b.Disk)
	}
}
