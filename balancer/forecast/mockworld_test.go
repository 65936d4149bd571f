package forecast_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
)

// drawn is a random cluster of the mock: what lies where, how fast its shards are,
// what fails, and what is asked.
type drawn struct {
	seed        uint64
	chance      *rand.Rand
	release     catalog.Release
	shards      int
	window      string // "22:00-04:00", or none
	failing     float64
	goal        plan.Goal
	collections int
	// bandwidth and latency of each shard when nothing else is to do.
	bandwidth []float64
	latency   []float64 // in ms

	cluster *mock.Cluster
	client  *mongo.Client
	admin   *mongo.Database
	reader  *live.Reader
	begin   time.Time
	// load is when the other load changes next.
	load time.Time
}

// after80 are releases that balance differently, of 8.0 and of the later lines.
func after80() []catalog.Release {
	return []catalog.Release{
		catalog.Release80, catalog.Release80.WithPatch(20), catalog.Release82.WithPatch(5), catalog.Release82.WithPatch(6),
		catalog.Release83, catalog.Release90,
	}
}

// draw makes the cluster of a seed; nil when its goal is none that is wanted.
func draw(t *testing.T, seed uint64) *drawn {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 12))
	d := &drawn{seed: seed, chance: r, shards: 2 + r.IntN(7), collections: 1 + r.IntN(3)}
	releases := []catalog.Release{catalog.Release44, catalog.Release50, catalog.Release60, catalog.Release70,
		catalog.Release80, catalog.Release80, catalog.Release83}
	d.release = releases[r.IntN(len(releases))]
	switch patches := after80(); d.release { // which draws nothing
	case catalog.Release80:
		d.release = patches[seed%2]
	case catalog.Release83:
		d.release = patches[2+seed%4]
	}
	if r.Float64() < 0.5 {
		d.failing = []float64{0.02, 0.05, 0.1, 0.25}[r.IntN(4)]
	}
	d.goal.Kind = plan.Balance
	switch x := r.Float64(); {
	case x < 0.2 && d.shards > 2:
		d.goal = plan.Goal{Kind: plan.Drain, Shard: "s0"}
	case x < 0.4 && d.release.Defragments():
		d.goal = plan.Goal{Kind: plan.Defragment, Namespaces: []string{"db.c0"}}
	}
	if *onlyGoal != "" && d.goal.Kind != plan.GoalKind(*onlyGoal) {
		return nil
	}
	common := math.Exp(r.NormFloat64()) * 3 // MB/s
	for range d.shards {
		d.bandwidth = append(d.bandwidth, math.Min(64, common*math.Exp(0.25*r.NormFloat64()))*1e6)
		d.latency = append(d.latency, 100*r.Float64()*r.Float64())
	}
	d.begin = noon.Add(time.Duration(r.IntN(24*60)) * time.Minute)
	d.cluster, d.client = mocktest.New(t, d.topology(), mock.Config{Release: d.release, Start: d.begin, Seed: seed})
	d.admin = d.client.Database("admin")
	d.reader = live.NewReader(d.client, live.ReaderOptions{})
	d.load = d.begin.Add(1000 * time.Hour)
	d.age(t)
	d.armFailures(t)
	d.changeLoad(t, d.now(t))
	d.run(t, bson.D{{Key: "balancerStart", Value: 1}})
	return d
}

// drawWindow returns a window that is open at the beginning, for an hour or more.
func (d *drawn) drawWindow() string {
	from := d.begin.Add(-time.Duration(d.chance.IntN(180)) * time.Minute)
	to := d.begin.Add(time.Duration(60+d.chance.IntN(600)) * time.Minute)
	return from.Format("15:04") + "-" + to.Format("15:04")
}

type object = map[string]any

// topology describes the cluster as a file would. Chunks are uneven: their sizes
// spread log-normally, and some shards have many more than others.
func (d *drawn) topology() string {
	r := d.chance
	shards := make([]object, d.shards)
	weight := make([]float64, d.shards)
	sum := 0.0
	for i := range shards {
		shards[i] = object{"id": fmt.Sprintf("s%d", i)}
		weight[i] = math.Pow(r.Float64(), 3)
		sum += weight[i]
	}
	owner := func() int {
		x := r.Float64() * sum
		for i, w := range weight {
			if x -= w; x < 0 {
				return i
			}
		}
		return d.shards - 1
	}
	var collections []object
	for n := range d.collections {
		list := make([]object, 150+r.IntN(500))
		// Chunks that grow and are split hold half a chunk size on average.
		typical := math.Exp(r.NormFloat64()*0.5) * float64(d.release.DefaultChunkSize()>>20) / 2
		spread := r.Float64()
		if d.goal.Kind == plan.Defragment && n == 0 {
			typical /= 10
		}
		shard := owner()
		for i := range list {
			if r.Float64() < 0.5 {
				shard = owner()
			}
			docs := int64(typical * math.Exp(spread*r.NormFloat64()) * 1024)
			list[i] = object{"shard": fmt.Sprintf("s%d", shard), "bytes": 1024 * docs, "docs": docs}
			if i < len(list)-1 {
				list[i]["max"] = object{"x": 100_000 * (i + 1)}
			}
		}
		ns := fmt.Sprintf("db.c%d", n)
		collections = append(collections, object{"ns": ns, "key": object{"x": 1}, "noBalance": true, "chunks": list})
	}
	text, err := json.Marshal(object{
		"shards": shards, "collections": collections,
		"databases": []object{{"name": "db", "primary": fmt.Sprintf("s%d", d.shards-1)}},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// age lets a day pass in which nothing but the collection of sessions is made, cut
// and spread: in clusters that have run for a while that is long over.
func (d *drawn) age(t *testing.T) {
	if d.release.SplitsSessions() {
		d.advance(t, 26*time.Hour)
	}
	d.run(t, bson.D{{Key: "balancerStop", Value: 1}})
	config := d.client.Database("config")
	if _, err := config.Collection("collections").UpdateMany(t.Context(), bson.D{{Key: "noBalance", Value: true}},
		bson.D{{Key: "$unset", Value: bson.D{{Key: "noBalance", Value: 1}}}}); err != nil {
		t.Fatal(err)
	}
	d.begin = d.now(t)
	if d.goal.Kind == plan.Drain {
		d.run(t, bson.D{{Key: "removeShard", Value: string(d.goal.Shard)}})
	}
	if d.chance.Float64() < 0.4 {
		d.window = d.drawWindow()
		window := bson.D{{Key: "start", Value: d.window[:5]}, {Key: "stop", Value: d.window[6:]}}
		if _, err := config.Collection("settings").UpdateOne(t.Context(), bson.D{{Key: "_id", Value: "balancer"}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "activeWindow", Value: window}}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// armFailures lets a share of the migrations fail: some when they are sent, some
// when they are committed.
func (d *drawn) armFailures(t *testing.T) {
	if d.failing == 0 {
		return
	}
	d.cluster.Lock()
	defer d.cluster.Unlock()
	for range 1500 {
		// Both happen once to each migration that comes so far.
		for _, command := range []string{"_shardsvrMoveRange", "_configsvrCommitChunkMigration"} {
			f := mock.Failure{Command: command, After: int64(d.chance.ExpFloat64() * 2 / d.failing), Times: 1,
				Code: mongoerr.OperationFailed, Message: "made to fail"}
			if err := d.cluster.Faults().FailNext(f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// changeLoad gives every shard what other load leaves of its speed.
func (d *drawn) changeLoad(t *testing.T, now time.Time) {
	for i := range d.shards {
		factor := math.Exp(0.15 * d.chance.NormFloat64())
		d.run(t, bson.D{
			{Key: "mockSlow", Value: fmt.Sprintf("s%d", i)}, {Key: "bandwidth", Value: int64(d.bandwidth[i] * factor)},
			{Key: "latency", Value: fmt.Sprintf("%dms", int(1+d.latency[i]/factor))},
		})
	}
	d.load = now.Add(time.Duration(5+d.chance.IntN(55)) * time.Minute)
}

// advance lets time pass, and the load change on the way.
func (d *drawn) advance(t *testing.T, by time.Duration) {
	until := d.now(t).Add(by)
	for d.load.Before(until) {
		if left := d.load.Sub(d.now(t)); left > 0 {
			d.run(t, bson.D{{Key: "mockAdvance", Value: left.Milliseconds()}})
		}
		d.changeLoad(t, d.load)
	}
	if left := until.Sub(d.now(t)); left > 0 {
		d.run(t, bson.D{{Key: "mockAdvance", Value: left.Milliseconds()}})
	}
}

func (d *drawn) now(t *testing.T) time.Time {
	reply, err := d.admin.RunCommand(t.Context(), bson.D{{Key: "mockNow", Value: 1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	at, ok := reply.Lookup("now").DateTimeOK()
	if !ok {
		t.Fatalf("mockNow says %s", reply)
	}
	return time.UnixMilli(at).UTC()
}

func (d *drawn) run(t *testing.T, command bson.D) bson.Raw {
	t.Helper()
	reply, err := d.admin.RunCommand(t.Context(), command).Raw()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return reply
}

// commits returns how many migrations were committed of which the filter is
// true, and when the last one was.
func (d *drawn) commits(t *testing.T, filter bson.D) (n int64, last time.Time) {
	t.Helper()
	log := d.client.Database("config").Collection("changelog")
	filter = append(bson.D{{Key: "what", Value: "moveChunk.commit"}}, filter...)
	n, err := log.CountDocuments(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		return 0, time.Time{}
	}
	var entry struct{ Time time.Time }
	newest := options.FindOne().SetSort(bson.D{{Key: "time", Value: -1}})
	if err := log.FindOne(t.Context(), filter, newest).Decode(&entry); err != nil {
		t.Fatal(err)
	}
	return n, entry.Time.UTC()
}
