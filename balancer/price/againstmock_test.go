package price_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/plan"
	"shardsh/balancer/price"
)

var (
	clusters  = flag.Int("price.clusters", 5, "how many made clusters are priced, on which the mock takes all ways")
	firstSeed = flag.Uint64("price.seed", 1, "the seed of the first one")
)

// On made clusters the mock takes every way, in virtual time. The quickest one is recommended
// in 95 of 100, where one within a twentieth of it counts as well; and the true time lies in
// the range in 9 of 10.
func TestQuickestWayIsPicked(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	picked, in, ways := 0, 0, 0
	for n := range *clusters {
		seed := *firstSeed + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			first := newWorld(t, seed)
			q := first.quote(t)
			truth, least := map[price.WayKind]time.Duration{}, time.Duration(math.MaxInt64)
			for _, w := range q.Ways {
				if w.Refused != "" {
					t.Logf("%s: %s", w.Kind, w.Refused)
					continue
				}
				on := first // which was only looked at
				first = nil
				if on == nil {
					on = newWorld(t, seed)
				}
				took := on.take(t, w.Kind)
				truth[w.Kind], least = took, min(least, took)
				ways++
				inside := w.Low <= took && took <= w.High
				if inside {
					in++
				}
				t.Logf("%-16s %v to %v, likely %v, truth %v (%.2f), in %v; %d moves", w.Kind, w.Low.Round(time.Second),
					w.High.Round(time.Second), w.Likely.Round(time.Second), took.Round(time.Second),
					took.Seconds()/w.Likely.Seconds(), inside, w.Moves)
			}
			if best := truth[q.Recommended]; best > 0 && best.Seconds() <= 1.05*least.Seconds() {
				picked++
			} else {
				t.Logf("%s is recommended, and takes %v in place of %v: %s", q.Recommended, best, least, q.Reason)
			}
		})
	}
	t.Logf("the quickest way is picked on %d of %d clusters, the truth lies in the range for %d of %d ways",
		picked, *clusters, in, ways)
	slack := 0 // of few clusters more may miss by chance: of 200 with other seeds 7 did, twice, of the first ten 2
	switch {
	case *clusters < 10:
		slack = 1
	case *clusters < 100:
		slack = 2
	}
	if float64(picked+slack) < 0.95*float64(*clusters) || ways < 3**clusters {
		t.Errorf("the quickest way is picked on %d of %d clusters", picked, *clusters)
	}
	if float64(in+slack) < 0.9*float64(ways) {
		t.Errorf("the truth lies in the range for %d of %d ways", in, ways)
	}
}

func (w *world) quote(t *testing.T) price.Comparison {
	t.Helper()
	q, err := price.Compare(w.read(t), price.Options{Goal: balance()})
	if err != nil || q.Done || len(q.Ways) == 0 {
		t.Fatal(q, err)
	}
	return q
}

func balance() plan.Goal { return plan.Goal{Kind: plan.Balance, Namespaces: []string{"db.c"}} }

// world is a made cluster that has moved something before.
type world struct {
	cluster *mock.Cluster
	client  *mongo.Client
	chunks  int
}

type object = map[string]any

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 27))
	release := []catalog.Release{catalog.Release80, catalog.Release83, catalog.Release90, catalog.Release70}[r.IntN(4)]
	n := 2 + r.IntN(7)
	w := &world{}
	w.cluster, w.client = mocktest.New(t, w.topology(r, n), mock.Config{Release: release, Seed: seed,
		Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)})
	w.run(t, bson.D{{Key: "mockAdvance", Value: (26 * time.Hour).Milliseconds()}})
	common := math.Exp(r.NormFloat64()) * 6e6 // bytes a second
	for i := range n {
		w.run(t, bson.D{{Key: "mockSlow", Value: id(i)}, {Key: "latency", Value: "1ms"},
			{Key: "bandwidth", Value: int64(math.Min(64e6, common*math.Exp(0.2*r.NormFloat64())))}})
	}
	at := make([]int, 12) // where the chunks of db.h are
	for i := range 60 {
		if i%12 == 0 { // until what was given away is deleted
			w.run(t, bson.D{{Key: "mockAdvance", Value: time.Hour.Milliseconds()}})
		}
		to := (at[i%12] + 1 + r.IntN(n-1)) % n
		at[i%12] = to
		lower := bson.E{Key: "min", Value: bson.D{{Key: "x", Value: int32(i % 12)}}}
		if i%12 == 0 {
			lower.Value = bson.D{{Key: "x", Value: bson.MinKey{}}}
		}
		w.run(t, bson.D{{Key: "moveRange", Value: "db.h"}, lower, {Key: "toShard", Value: id(to)}})
	}
	return w
}

func id(i int) string { return fmt.Sprintf("s%d", i) }

// topology has a collection that is uneven in one of several ways, and one with a history.
func (w *world) topology(r *rand.Rand, n int) string {
	kind := r.IntN(4)
	w.chunks = 120 + r.IntN(200)
	typical, spread := 48.0*1024, 0.5 // documents of a kibibyte
	switch kind {
	case 1: // in many small pieces
		w.chunks, typical = 1000+r.IntN(1500), 2*1024
	case 2: // all on one shard, and a lot
		w.chunks, typical = 300+r.IntN(300), 60*1024
	case 3: // nearly even
		w.chunks = 90 + r.IntN(60)
	}
	shard := 0
	list := make([]object, w.chunks)
	for i := range list {
		switch {
		case kind == 2:
		case kind == 3 && i >= w.chunks/4:
			shard = i % n
		case r.Float64() < 0.4:
			shard = int(float64(n) * r.Float64() * r.Float64() * r.Float64())
		}
		docs := int64(typical * math.Exp(spread*r.NormFloat64()))
		list[i] = object{"shard": id(shard), "bytes": 1024 * docs, "docs": docs}
		if i < len(list)-1 {
			list[i]["max"] = object{"x": 100_000 * (i + 1)}
		}
	}
	past := make([]object, 12)
	for i := range past {
		docs := int64(20 * 1024 * math.Exp(0.7*r.NormFloat64()))
		past[i] = object{"shard": "s0", "bytes": 1024 * docs, "docs": docs}
		if i < len(past)-1 {
			past[i]["max"] = object{"x": i + 1}
		}
	}
	shards := make([]object, n)
	for i := range shards {
		shards[i] = object{"id": id(i)}
	}
	text, err := json.Marshal(object{
		"shards": shards, "databases": []object{{"name": "db", "primary": "s0"}}, "settings": object{"balancer": object{"stopped": true}},
		"collections": []object{{"ns": "db.c", "key": object{"x": 1}, "chunks": list},
			{"ns": "db.h", "key": object{"x": 1}, "noBalance": true, "chunks": past}},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (w *world) run(t *testing.T, c bson.D) bson.Raw {
	t.Helper()
	reply, err := w.client.Database("admin").RunCommand(t.Context(), c).Raw()
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return reply
}

func (w *world) read(t *testing.T) *catalog.Snapshot {
	t.Helper()
	s, err := live.NewReader(w.client, live.ReaderOptions{Parts: live.DefaultParts | live.ReusableSpace}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take takes a way, and returns how long it took.
func (w *world) take(t *testing.T, kind price.WayKind) time.Duration {
	t.Helper()
	begin := w.cluster.Now()
	switch kind {
	case price.Moves:
		w.carryOut(t, balance(), 3)
	case price.MergeFirst:
		w.carryOut(t, plan.Goal{Kind: plan.Consolidate, Namespaces: []string{"db.c"}}, 1)
		w.carryOut(t, balance(), 3)
	case price.Reshard:
		w.run(t, bson.D{{Key: "reshardCollection", Value: "db.c"}, {Key: "key", Value: bson.D{{Key: "x", Value: 1}}},
			{Key: "forceRedistribution", Value: true}, {Key: "numInitialChunks", Value: w.chunks}})
	case price.Balancer:
		w.run(t, bson.D{{Key: "balancerStart", Value: 1}})
		w.advance(t, func() bool {
			return w.run(t, bson.D{{Key: "balancerCollectionStatus", Value: "db.c"}}).Lookup("balancerCompliant").Boolean()
		})
	case price.DefragmentFirst:
		w.run(t, bson.D{{Key: "configureCollectionBalancing", Value: "db.c"}, {Key: "defragmentCollection", Value: true}})
		w.run(t, bson.D{{Key: "balancerStart", Value: 1}})
		w.advance(t, func() bool {
			err := w.client.Database("config").Collection("collections").FindOne(t.Context(),
				bson.D{{Key: "_id", Value: "db.c"}, {Key: "defragmentCollection", Value: true}}).Err()
			return errors.Is(err, mongo.ErrNoDocuments)
		})
		w.run(t, bson.D{{Key: "balancerStop", Value: 1}})
		w.carryOut(t, balance(), 3)
	default:
		t.Fatal(kind)
	}
	return w.cluster.Now().Sub(begin)
}

// advance lets time pass until something is so. It looks often enough that how often makes no difference.
func (w *world) advance(t *testing.T, until func() bool) {
	t.Helper()
	begin := w.cluster.Now()
	for range 100_000 {
		if until() {
			return
		}
		step := min(time.Minute, max(time.Second, w.cluster.Now().Sub(begin)/200))
		w.run(t, bson.D{{Key: "mockAdvance", Value: step.Milliseconds()}})
	}
	t.Fatal("it never ends")
}

// carryOut carries plans out until one has nothing left.
func (w *world) carryOut(t *testing.T, goal plan.Goal, plans int) {
	t.Helper()
	for range plans {
		p, err := plan.Make(w.read(t), plan.Options{Goal: goal})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) == 0 {
			return
		}
		steps, err := live.NewStepExecutor(t.Context(), live.NewCommandRunner(w.client))
		if err != nil {
			t.Fatal(err)
		}
		r, err := apply.Run(t.Context(), steps, p, apply.Options{
			Clock: w.cluster.Clock(), ChangePolicy: apply.ReplanOnChange,
			Replan: func(_ context.Context, want apply.ReplanRequest) (*plan.Plan, error) {
				return plan.Make(w.read(t), plan.Options{Goal: want.Goal, Model: plan.MeasuredAfterMerges(want.Merged)})
			},
		})
		if err != nil || !r.Finished {
			t.Fatalf("finished %v, %q, %v", r.Finished, r.Stopped, err)
		}
	}
}
