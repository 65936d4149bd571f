package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
	"shardsh/balancer/runner"
)

// oneKey is a shard a, draining if that is said, with 3 MiB of one key, or of two; their
// chunks may be flagged. The chunk size is 1 MiB.
func oneKey(t *testing.T, release catalog.Release, draining bool, flag string, keys int) *world {
	topology := fmt.Sprintf(`{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [
			{"shard": "a", "max": {"x": 10}}, {"shard": "a"%s}]}]}`, flag)
	if draining {
		topology = strings.Replace(topology, `{"id": "a"`, `{"id": "a", "draining": true`, 1)
	}
	w := newWorld(t, topology, release, 1)
	var docs []any
	for i := range 96 * keys {
		docs = append(docs, bson.D{{Key: "x", Value: []int{5000, 0}[i%keys]}, {Key: "filler", Value: make([]byte, 32<<10)}})
	}
	if _, err := w.client.Database("db").Collection("c").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return w
}

// A large chunk of one key moves only by force, that only on demand, and then it is said
// beforehand how much it holds and for how long writes wait.
func TestForceJumboOnlyOnDemand(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release50, catalog.Release60, catalog.Release80} {
		for _, flag := range []string{"", `, "jumbo": true`} {
			w := oneKey(t, release, true, flag, 1)
			o := w.options("db.c")
			result, err := runner.Run(t.Context(), w.free(), o)
			if err != nil || result.Done.Bytes >= 3<<20 || len(result.Left) == 0 {
				t.Fatalf("%s%s: %+v, %v", release, flag, result, err)
			}
			if flag == "" && !strings.Contains(result.Left[0].Text, "force it (--force-jumbo, forceJumbo: true: 3 MiB, writes "+
				"to the collection wait for about 1s)") {
				t.Errorf("%s: left %+v", release, result.Left)
			}
			var told []runner.Event
			o.ForceJumbo = true
			o.OnEvent = func(e runner.Event) {
				if e.Kind == runner.ForcingMove {
					told = append(told, e)
				}
			}
			result, err = runner.Run(t.Context(), w.free(), o)
			if err != nil || !result.Reached || len(result.Left) > 0 || result.Done.Bytes < 3<<20 {
				t.Errorf("%s%s: %+v, %v", release, flag, result, err)
			}
			if len(told) != 1 || told[0].Move.Reason != policy.ReasonDrain || told[0].Move.Bytes < 3<<20 ||
				told[0].Why != "3 MiB, writes to the collection wait for about 1s" {
				t.Errorf("%s%s: told %+v", release, flag, told)
			}
		}
	}
}

// What is moved by force is moved once, and only where the shards are more even after it.
func TestForceJumboHelps(t *testing.T) {
	for _, keys := range []int{1, 2} { // with all of the data on a
		w := oneKey(t, catalog.Release80, false, `, "jumbo": true`, keys)
		o := w.options("db.c")
		o.ForceJumbo = true
		forced := 0
		o.OnEvent = func(e runner.Event) {
			if e.Kind == runner.ForcingMove {
				forced++
			}
		}
		result, err := runner.Run(t.Context(), w.free(), o)
		if err != nil || !result.Reached || forced != keys-1 {
			t.Errorf("%d keys: %d forced, %+v, %v", keys, forced, result, err)
		}
		if keys == 1 && (len(result.Left) != 1 || !strings.Contains(result.Left[0].Text, "b would then have more than a")) {
			t.Errorf("left %+v", result.Left)
		}
	}
}
