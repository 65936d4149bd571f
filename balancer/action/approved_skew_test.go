package action

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// heaps is a topology whose chunks hold what nobody would guess, once neighbours are
// merged: the chunk size is 1 MiB, and most documents lie in few of 30 ranges of keys.
func heaps(r *rand.Rand) (topology string, merges [][2]int) {
	const ranges = 30
	var b strings.Builder
	b.WriteString(`{"shards": [{"id": "s0"}, {"id": "s1"}, {"id": "s2"}], "settings": {` + stopped + `},
		"databases": [{"name": "db", "primary": "s1"}],
		"collections": [{"ns": "db.c0", "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [`)
	on, since := 0, 0
	for i := range ranges {
		if i == 0 || r.IntN(6) == 0 {
			if i-since > 1 {
				merges = append(merges, [2]int{since, i})
			}
			on, since = max(0, r.IntN(6)-3), i
		}
		documents := min(int(math.Exp(r.NormFloat64()*2))*40, 4000)
		fmt.Fprintf(&b, `%s{"shard": "s%d", "bytes": %d, "docs": %d`, comma(i), on, 1024*documents, documents)
		if i < ranges-1 {
			fmt.Fprintf(&b, `, "max": {"x": %d}`, 100_000*(i+1))
		}
		b.WriteString("}")
	}
	b.WriteString("]}]}")
	return b.String(), merges
}

func heapBound(i int) bson.D {
	if i == 0 {
		return bson.D{{Key: "x", Value: bson.MinKey{}}}
	}
	return bson.D{{Key: "x", Value: 100_000 * i}}
}

// Whatever chunks hold, each migration of an approved plan lies in one of its steps, between
// its shards.
func TestApprovedIsWhatRuns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	plans, inside, moves, changed := 40, 0, 0, 0
	if *full {
		plans = 1000
	}
	for seed := range uint64(plans) {
		r := rand.New(rand.NewPCG(seed, 17))
		topology, merges := heaps(r)
		w := newWorld(t, topology, []catalog.Release{catalog.Release50, catalog.Release60, catalog.Release80}[seed%3], seed)
		for _, m := range merges {
			w.command("admin", bson.D{{Key: "mergeChunks", Value: "db.c0"},
				{Key: "bounds", Value: bson.A{heapBound(m[0]), heapBound(m[1])}}})
		}
		goal := plan.Goal{Kind: plan.Balance}
		if seed%2 == 0 {
			goal = plan.Goal{Kind: plan.Drain, Shard: "s0"}
		}
		p := w.plan(goal)
		if len(p.Steps) == 0 {
			continue
		}
		_, err := w.approved(p, p.Hash)
		switch {
		case errors.As(err, new(*apply.ChangedError)): // a new plan is for who approves
			changed++
		case err != nil && !errors.As(err, new(*apply.SkippedStepsError)):
			t.Errorf("seed %d: %v", seed, err)
		}
		c := w.snapshot().Collection("db.c0")
		for _, m := range w.commits() {
			moves++
			lower, err := c.Pattern.ParseKey(m.Details.Min)
			if err != nil {
				t.Fatal(err)
			}
			upper, err := c.Pattern.ParseKey(m.Details.Max)
			if err != nil {
				t.Fatal(err)
			}
			was := apply.Command{Kind: plan.Move, From: m.Details.From, To: m.Details.To, Min: lower, Max: upper}
			within := false
			for _, s := range p.Steps {
				if isPartOf(s, was) {
					within = true
					if s.KnownRange != nil {
						inside++
					}
					break
				}
			}
			if !within {
				t.Errorf("seed %d: %s to %s from %s to %s is in no step", seed, m.Details.Min, m.Details.Max, was.From, was.To)
			}
		}
		w.well()
	}
	if moves < plans || inside == 0 || changed == 0 {
		t.Errorf("%d moves, %d of guessed bounds, %d plans did not fit any more", moves, inside, changed)
	}
}

// commit is an entry of the change log about a migration.
type commit struct {
	Details struct {
		Min, Max bson.Raw
		From, To catalog.ShardID
	}
}

func (w *world) commits() (list []commit) {
	w.Helper()
	found, err := w.client.Database("config").Collection("changelog").Find(w.Context(),
		bson.D{{Key: "what", Value: "moveChunk.commit"}})
	if err == nil {
		err = found.All(w.Context(), &list)
	}
	if err != nil {
		w.Fatal(err)
	}
	return list
}
