package apply_test

import (
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
)

// heavy has 3 MiB of many keys and 3 MiB of one on shard a, with a chunk size of 1 MiB;
// the chunk of one key may be flagged.
func heavy(t testing.TB, release catalog.Release, flag string) *world {
	w := newWorld(t, `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [
			{"shard": "a", "max": {"x": 1000}}, {"shard": "a"`+flag+`}]}]}`, release, 1)
	var docs []any
	for i := range 96 {
		docs = append(docs, bson.D{{Key: "x", Value: i}, {Key: "filler", Value: make([]byte, 32<<10)}},
			bson.D{{Key: "x", Value: 5000}, {Key: "filler", Value: make([]byte, 32<<10)}})
	}
	if _, err := w.client.Database("db").Collection("c").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return w
}

// What is too large is cut; what can't be stays, and is named with its remedy, unless
// force was asked for: then it is said beforehand how much it takes.
func TestForceOnlyOnDemand(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, release := range releases() {
		for _, flag := range []string{"", `, "jumbo": true`} {
			w := heavy(t, release, flag)
			p := w.plan(plan.Goal{Kind: plan.Drain, Shard: "a"})
			var told []apply.Event
			forced := 0
			c := &counting{Cluster: w.steps, around: func(c apply.Command, send func() error) error {
				if c.Force {
					forced++
				}
				return send()
			}}
			o := w.options()
			o.ChangePolicy, o.Replan = apply.ReplanOnChange, w.replan
			o.OnEvent = func(e apply.Event) {
				if e.Kind == apply.LeftInPlace || e.Kind == apply.ForcingMove {
					told = append(told, e)
				}
			}
			r, err := apply.Run(t.Context(), c, p, o)
			left, is := errors.AsType[*apply.SkippedStepsError](err)
			if !is || r.Finished || forced != 0 || len(left.Steps) != 1 || left.Steps[0].Bytes < 3<<20 ||
				!strings.Contains(err.Error(), "stays on a") || !strings.Contains(err.Error(), "--force-jumbo") {
				t.Fatalf("%s%s: finished %v, forced %d times, %v", release, flag, r.Finished, forced, err)
			}
			table := w.snapshot().Collection("db.c").Table
			if table.ShardOf(table.Pattern().GlobalMin()) != "b" || table.CountOn("a") == 0 || len(told) == 0 {
				t.Errorf("%s%s: a has %d chunks, told %v", release, flag, table.CountOn("a"), told)
			}

			told = nil
			o.ForceJumbo = true
			p = w.plan(plan.Goal{Kind: plan.Drain, Shard: "a"})
			r, err = apply.Run(t.Context(), c, p, o)
			if err != nil || !r.Finished || forced != 1 || w.snapshot().Collection("db.c").Table.CountOn("a") != 0 {
				t.Errorf("%s%s: finished %v, forced %d times, %v", release, flag, r.Finished, forced, err)
			}
			if len(told) != 1 || told[0].Kind != apply.ForcingMove || told[0].Forced.Bytes < 3<<20 || told[0].Forced.BlockedFor <= 0 {
				t.Errorf("%s%s: told %+v", release, flag, told)
			}
		}
	}
}

// A forced move that fails transiently is made again; one whose reply is lost is not.
func TestForceAgain(t *testing.T) {
	for name, fail := range map[string]func(send func() error) error{
		"lost": func(func() error) error { return errGone() },
		"lost reply": func(send func() error) error {
			if err := send(); err != nil {
				return err
			}
			return errGone()
		},
		"busy": func(func() error) error { return mongoerr.New(mongoerr.ConflictingOperationInProgress, "busy") },
	} {
		w := heavy(t, catalog.Release80, "")
		tries, sent := 0, 0
		c := &counting{Cluster: w.steps, around: func(c apply.Command, send func() error) error {
			if !c.Force {
				return send()
			}
			counted := func() error { sent++; return send() }
			if tries++; tries == 1 {
				return fail(counted)
			}
			return counted()
		}}
		o := w.options()
		o.ChangePolicy, o.Replan, o.ForceJumbo = apply.ReplanOnChange, w.replan, true
		r, err := apply.Run(t.Context(), c, w.plan(plan.Goal{Kind: plan.Drain, Shard: "a"}), o)
		if err != nil || !r.Finished || sent != 1 || r.Progress.MovesDone == 0 ||
			w.snapshot().Collection("db.c").Table.CountOn("a") != 0 {
			t.Errorf("%s: finished %v, forced %d times, %v", name, r.Finished, sent, err)
		}
	}
}
