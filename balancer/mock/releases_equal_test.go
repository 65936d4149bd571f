package mock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/parameters"
)

// What was compared in the code of 8.0.10 and of later releases and is equal, so that a rule for
// one release does not change another by mistake, and what differs beside it.

// The parameters of rounds, defragmentation and merges are equal; two about reads of orphans came
// with 8.2, and can be set while the server runs.
func TestParametersByRelease(t *testing.T) {
	for _, r := range after80(t) {
		p := parameters.New(r)
		for name, want := range map[string]int32{
			"chunkDefragmentationThrottlingMS": 1000, "autoMergerIntervalSecs": 3600, "autoMergerThrottlingMS": 15000,
			"autoMergerMaxTimeProcessingChunksMS": 500, "balancerMigrationsThrottlingMs": 1000, "balancerChunksSelectionTimeoutMs": 5000,
			"rangeDeleterBatchDelayMS": 20, "receiveChunkWaitForRangeDeleterTimeoutMS": 10000,
		} {
			if got, runtime, _ := p.Value(name); got != want || !runtime {
				t.Errorf("%s: %s is %v, want %d", r, name, got, want)
			}
		}
		since82 := !slices.Contains([]string{"8.0.10", "8.0.20", "8.1"}, r.String())
		for _, name := range []string{"terminateSecondaryReadsOnOrphanCleanup", "enableQueryKilledByRangeDeletionLog"} {
			got, runtime, known := p.Value(name)
			if known != since82 || known && (got != true || !runtime) {
				t.Errorf("%s: %s is %v, known: %v", r, name, got, known)
			}
			if was, err := p.Set(name, false); (err == nil) != since82 || since82 && was != true {
				t.Errorf("%s: %s was %v, %v", r, name, was, err)
			}
		}
	}
}

// The balancer moves collections that are not sharded in no release, but with the servers' own
// fail point; then the flags of a tracked one count, those of 9.0 too.
func TestUnshardedCollectionsByRelease(t *testing.T) {
	releases := after80(t)
	if testing.Short() {
		releases = releases[len(releases)-1:]
	}
	for _, r := range releases {
		for _, tt := range []struct {
			name   string
			random bool
			flags  bson.D
			want   bool
		}{
			{"as it is", false, nil, false},
			{"random migrations", true, nil, true},
			{"noBalance", true, d("noBalance", true), false},
			{"allowMigrations", true, d("allowMigrations", false), false},
			{"allowChunkOperations", true, d("allowChunkOperations", false), r.String() != "9.0"},
		} {
			m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"settings":{"balancer":{"mode":"off"}},"databases":[{"name":"db","primary":"a"}]}`,
				mock.Config{Release: r, Parameters: map[string]any{parameters.RandomMigrations: tt.random, "reshardingMinimumOperationDurationMillis": 0}})
			m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", 1)}))
			m.ok(t, "admin", d("moveCollection", "db.c", "toShard", "b")) // which tracks it
			if tt.flags != nil {
				m.ok(t, "config", d("update", "collections", "updates", bson.A{d("q", d("_id", "db.c"), "u", d("$set", tt.flags))}))
			}
			m.ok(t, "admin", d("balancerStart", 1))
			m.sleep(5 * time.Minute)
			if moved := m.count(t, "actionlog", d("details.unshardedCollectionsMoved", 1)) > 0; moved != tt.want {
				t.Errorf("%s, %s: moved: %v", r, tt.name, moved)
			}
		}
	}
}

// balancerStop means the same: rounds and merges are off, and it answers when the round has ended,
// with its moves. A round that a step-down has ended is not waited for, its moves go on.
func TestBalancerStopByRelease(t *testing.T) {
	for _, r := range after80(t) {
		for _, stepDown := range []bool{false, true} {
			m := newCluster(t, virtualTopology, mock.Config{Release: r})
			m.ok(t, "admin", d("balancerStart", 1))
			m.sleep(11 * time.Second)
			migrations := func() int64 { return m.ok(t, "admin", d("mockStatus", 1)).Lookup("migrations").AsInt64() }
			if migrations() == 0 {
				t.Fatalf("%s: nothing moves", r)
			}
			term := m.ok(t, "admin", d("balancerStatus", 1)).Lookup("term").AsInt64()
			if stepDown {
				m.ok(t, "admin", d("mockStepDown", 1))
			}
			m.ok(t, "admin", d("balancerStop", 1))
			// Without a step-down the round's moves have ended, else the move goes on (SERVER-100155).
			if goesOn := migrations() == 1; goesOn != stepDown {
				t.Errorf("%s: %d migrations after balancerStop, step-down: %v", r, migrations(), stepDown)
			}
			status := m.ok(t, "admin", d("balancerStatus", 1))
			if status.Lookup("mode").StringValue() != "off" || status.Lookup("inBalancerRound").Boolean() {
				t.Errorf("%s: stopped, %s", r, status)
			}
			if changed := status.Lookup("term").AsInt64() != term; changed != stepDown {
				t.Errorf("%s: term %d, and now %s", r, term, status)
			}
			before := m.count(t, "changelog", d("what", d("$in", bson.A{"moveChunk.start", "autoMerge.start", "merge"})))
			m.sleep(2 * time.Hour)
			if after := m.count(t, "changelog", d("what", d("$in", bson.A{"moveChunk.start", "autoMerge.start", "merge"}))); after != before || migrations() != 0 {
				t.Errorf("%s: it goes on after balancerStop: %d entries, then %d", r, before, after)
			}
		}
	}
}

// Defragmentation and merges do in every release what they do in 8.0.10, which recordings show: the
// same actions at the same times.
func TestSecondaryActionsByRelease(t *testing.T) {
	var chunks []string
	for i, shard := range strings.Split("aabbccabcaaabcbbaacc", "") { // runs to merge, small chunks to move
		chunks = append(chunks, fmt.Sprintf(`{"shard":%q,"max":{"k":%d},"bytes":"10MB","docs":1000}`, shard, i))
	}
	topology := `{"shards":[{"id":"a"},{"id":"b"},{"id":"c"}],"databases":[{"name":"db","primary":"a"}],"collections":[{"ns":"db.c",
		"key":{"k":1},"chunkSizeMB":128,"chunks":[` + strings.Join(chunks, ",") + `,{"shard":"a","bytes":"10MB","docs":1000}]}]}`
	var want string
	for _, r := range after80(t) {
		m := newCluster(t, topology, mock.Config{Release: r})
		m.ok(t, "admin", d("configureCollectionBalancing", "db.c", "defragmentCollection", true))
		m.sleep(3 * time.Hour)
		var lines []string
		for _, e := range m.all(t, "config", d("find", "changelog", "filter", d("what", d("$in", bson.A{
			"merge", "autoMerge.start", "autoMerge.end", "moveChunk.commit"})), "sort", d("time", 1))) {
			lines = append(lines, fmt.Sprintf("%s %s", e.Lookup("time").Time().UTC().Format(time.RFC3339Nano), e.Lookup("what").StringValue()))
		}
		got := strings.Join(lines, "\n")
		if r == catalog.Release80.WithPatch(10) {
			if want = got; strings.Count(got, "merge") < 10 || !strings.Contains(got, "commit") {
				t.Fatalf("little happens:\n%s", got)
			}
		}
		if got != want {
			t.Errorf("%s:\n%s\nbut 8.0.10:\n%s", r, got, want)
		}
	}
}
