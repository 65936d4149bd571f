package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"

	"shardsh/balancer/live"
)

const scatteredTopology = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
 "databases": [{"name": "shop", "primary": "a"}], "collections": [{"ns": "shop.orders", "key": {"x": 1}, "chunks": [
 {"shard": "a", "max": {"x": 1000}, "bytes": "12MiB", "docs": 1200}, {"shard": "a", "max": {"x": 2000}, "bytes": "12MiB", "docs": 1200},
 {"shard": "b", "max": {"x": 3000}, "bytes": "12MiB", "docs": 1200}, {"shard": "c", "max": {"x": 4000}, "bytes": "12MiB", "docs": 1200},
 {"shard": "a", "bytes": "12MiB", "docs": 1200}]},
 {"ns": "shop.events", "key": {"h": "hashed"}, "chunks": [{"shard": "a", "bytes": "30MiB", "docs": 3000}]}]}`

// What leads to a goal is carried out, refused and told as a user meets it, and can
// be done again.
func TestGoalSubcommands(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	address := serve(t, scatteredTopology).address
	client := clientOf(t, address)
	t.Chdir(t.TempDir())
	points := filepath.Join(t.TempDir(), "points.json")
	if err := os.WriteFile(points, []byte("{\"x\": 500}\n\n{\"x\": 1500}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	like := filepath.Join(t.TempDir(), "other.snap")
	other := snaptest.SnapshotOf(3, snaptest.NewCollection(t, "shop.orders", 3, 7, func(i int) (int, int64) { return i % 3, 1 << 20 }))
	if err := snapfile.Save(like, other); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		line           string
		code           int
		stdout, stderr string // parts
	}{
		{"defragment ADDRESS --ns shop.orders", exitFailure, "merge", "the cluster's balancer is on"},
		{"defragment ADDRESS --ns shop.orders --take-over", exitOK, "would send to admin: {\"mergeChunks\":\"shop.orders\"",
			"Nothing done; pass --yes to run."},
		{"defragment ADDRESS --ns shop.orders --take-over --yes --max-moves 1 --journal j", exitOK, "was stopped: the limit",
			"To continue: shardsh defragment --resume j"},
		{"defragment ADDRESS --resume j --take-over --yes", exitOK, "and has 1.", "--undo j"},
		{"presplit ADDRESS --resume j --yes", exitFailure, "", "has another goal, defragment"},
		{"defragment ADDRESS --ns shop.orders --yes", exitOK, "Nothing to move, split or merge", ""},
		{"defragment ADDRESS --ns shop.nothing --yes", exitUsage, "", "not a sharded collection"},
		{"defragment ADDRESS", exitUsage, "", "name the collections: --ns, or --all"},
		{"presplit ADDRESS --ns shop.orders --yes", exitUsage, "", "give one of"},
		{"presplit ADDRESS --ns shop.orders --chunks 4 --yes", exitFailure, "", "does not begin with a hash"},
		{"presplit ADDRESS --ns shop.orders --points POINTS --yes --take-over", exitOK, "had 1 chunk, and has 3", ""},
		{"presplit ADDRESS --ns shop.orders --points POINTS --yes --take-over", exitOK, "Nothing to move", ""},
		{"presplit ADDRESS --ns shop.orders --like LIKE --dry-run --take-over", exitOK, `"split":"shop.orders"`, ""},
		{"presplit ADDRESS --ns shop.orders --like LIKE --chunks 4", exitUsage, "", "give one of"},
		{"presplit ADDRESS --ns shop.orders --like LIKE --yes --take-over --max-moves 1", exitOK, "was stopped: the limit", ""},
		{"presplit ADDRESS --ns shop.orders --like LIKE --yes --take-over --json", exitOK, `"chunksAfter": 9`, ""},
		{"presplit ADDRESS --ns shop.orders --like LIKE --yes --take-over", exitOK, "Nothing to move", ""},
		{"presplit ADDRESS --ns shop.orders --like mongodb://ADDRESS --yes --take-over", exitOK, "Nothing to move", ""}, // itself
		{"presplit ADDRESS --ns shop.events --like LIKE --yes --take-over", exitUsage, "", "has no sharded collection shop.events"},
		{"presplit ADDRESS --ns shop.events --per-shard 4 --yes --take-over --json", exitOK, `"chunksAfter": 12`, ""},
		{"drain ADDRESS", exitUsage, "", "drain needs --shard"},
		{"drain ADDRESS --shard x --yes", exitUsage, "", `no shard "x"`},
		{"drain ADDRESS --shard a --yes --take-over", exitFailure, "", "--move-primaries moves it"},
		{"drain ADDRESS --shard a --yes --take-over --despite drainNeedsOperator", exitFailure, "", `sh.movePrimary("shop", <shard>)`},
		{"drain ADDRESS --shard a --remove --move-primaries --take-over --yes", exitOK, "Nothing to move",
			"Shard a is removed."},
		{"drain ADDRESS --shard a --remove --yes", exitOK, "Shard a has been removed already.", ""},
	} {
		args := strings.Fields(strings.NewReplacer("ADDRESS", address, "POINTS", points, "LIKE", like).Replace(step.line))
		code, stdout, stderr := runProgram(t, "", args...)
		if code != step.code || !strings.Contains(stdout, step.stdout) || !strings.Contains(stderr, step.stderr) {
			t.Fatalf("%s: exit code %d, output %q, errors %q", step.line, code, stdout, stderr)
		}
		advance(t, client, time.Hour) // donors delete what they gave away
	}
	noLease(t, client)
	off, err := client.Database("config").Collection("collections").CountDocuments(t.Context(),
		bson.D{{Key: "noBalance", Value: true}})
	if off != 0 || err != nil {
		t.Errorf("%d collections are switched off, %v", off, err)
	}
}

// What a killed run has left switched off is ours: the next run moves it, too, and
// switches it on again. What an operator has switched off is not. The database of the
// lease, which lies on the shard that has least, does not hinder.
func TestGoalsAfterAKill(t *testing.T) {
	for _, tt := range []struct {
		name  string
		noted bool
		code  int
	}{{"left by a run", true, exitOK}, {"an operator's", false, exitFailure}} {
		t.Run(tt.name, func(t *testing.T) {
			address := serve(t, scatteredTopology).address
			client := clientOf(t, address)
			t.Chdir(t.TempDir())
			if !tt.noted {
				_, err := client.Database("config").Collection("collections").UpdateOne(t.Context(),
					bson.D{{Key: "_id", Value: "shop.orders"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "noBalance", Value: true}}}})
				if err != nil {
					t.Fatal(err)
				}
			} else {
				killed, err := live.Acquire(t.Context(), client, live.NewCommandRunner(client), live.Holder{Host: "elsewhere"})
				if err == nil {
					err = killed.SetBalancing(t.Context(), []string{"shop.orders"}, false)
				}
				if err != nil {
					t.Fatal(err)
				}
				advance(t, client, 2*time.Minute)
			}
			code, stdout, stderr := runProgram(t, "", "drain", address, "--shard", "b", "--remove", "--take-over", "--yes")
			if code != tt.code {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
			n, err := client.Database("config").Collection("collections").CountDocuments(t.Context(),
				bson.D{{Key: "noBalance", Value: true}})
			if err != nil || (n == 0) != tt.noted {
				t.Errorf("%d collections are off, %v", n, err)
			}
		})
	}
}
