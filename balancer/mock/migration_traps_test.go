package mock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// The traps of rules/02-examples-and-traps §11 about migrations and commands, by their number; most
// play the worked examples that tell.

func migrationsOf(id string, why ...string) func(*testing.T) {
	return func(t *testing.T) {
		found := 0
		for _, c := range migrationCases(t) {
			if c.ID == id && (len(why) == 0 || slices.ContainsFunc(why,
				func(text string) bool { return strings.Contains(c.Why, text) })) {
				found++
				c.play(t)
			}
		}
		if found < max(1, len(why)) {
			t.Fatalf("%d cases of %s %q", found, id, why)
		}
	}
}

func balancingOf(id string) func(*testing.T) {
	return func(t *testing.T) {
		found := false
		for _, c := range balancingCases(t) {
			if c.ID == id {
				found = true
				c.play(t)
			}
		}
		if !found {
			t.Fatalf("no case of %s", id)
		}
	}
}

func TestTrapsOfMigrations(t *testing.T) {
	t.Run("8 a reply with only a write concern error is a success", migrationsOf("trap 8"))
	t.Run("23 an abort leaves the flag until the cleanup runs", balancingOf("DF-17"))
	t.Run("24 an abort alone bumps no version", balancingOf("trap 24"))
	t.Run("38 merge-all runs beside a migration, and can make it fail at its commit", migrationsOf("MF-06"))
	t.Run("39 a user's merge-all logs autoMerge", balancingOf("trap 39"))
	t.Run("46 a chunk that can't be split is flagged without a new version", balancingOf("VR-12"))
	t.Run("49 a draining recipient is noticed at the commit", migrationsOf("trap 49"))
	t.Run("49 it begins to drain meanwhile", migrationsOf("MF-04"))
	t.Run("50 moveRange does not check zones", migrationsOf("trap 50"))
	t.Run("51 a failure of the recipient is 96", migrationsOf("MF-02"))
	t.Run("51 but a refusal of the start keeps its code", migrationsOf("MF-07", "to A"))
	t.Run("52 a refused commit logs no moveChunk.error, and moveChunk.to may say success", migrationsOf("MF-04"))
	t.Run("53 a lost commit reply is not a failure of a move by hand", migrationsOf("MF-05"))
	t.Run("53 but for BalancerInterrupted", trapInterrupted)
	t.Run("54 a range can't move back while its deletion is delayed", migrationsOf("MF-03"))
	t.Run("55 the throttle alone is an error of moveChunk", migrationsOf("trap 55"))
	t.Run("57 a user's force blocks writes, the balancer's does not but has a limit", trapForcedClone)
	t.Run("58 one migration a shard over all collections", migrationsOf("MF-07", "A donates", "C donates"))
	t.Run("59 the same request joins, another one conflicts", func(t *testing.T) {
		migrationsOf("MF-07", "the same donate")(t)
		migrationsOf("trap 59")(t)
	})
	t.Run("60 catchup and steady are always 0", trapCounts)
}

// trapInterrupted: the range is on the recipient all the same.
func trapInterrupted(t *testing.T) {
	x := newMeeting(t, nil)
	x.cluster.Lock()
	defer x.cluster.Unlock()
	req := mock.MoveRequest{Namespace: ns, From: "a", To: "b", Min: raw(t, d("k", 100))} // which b owns
	if err := x.cluster.Outcome(req, mongoerr.New(mongoerr.HostUnreachable, "lost")); err != nil {
		t.Errorf("a lost reply: %v", err)
	}
	if err := x.cluster.Outcome(req, mongoerr.New(mongoerr.BalancerInterrupted, "stopped")); !mongoerr.Is(err,
		mongoerr.BalancerInterrupted) {
		t.Errorf("an interrupted request: %v", err)
	}
}

func trapForcedClone(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request mock.MoveRequest
		blocked bool
	}{
		{"by a user, too large", mock.MoveRequest{Force: 1, MaxChunkSizeBytes: 1}, true},
		{"by a user, small enough", mock.MoveRequest{Force: 1, MaxChunkSizeBytes: 1 << 20}, false},
		{"by the balancer", mock.MoveRequest{Force: 2, MaxChunkSizeBytes: 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newMeeting(t, nil)
			req := tt.request
			req.Namespace, req.From, req.To, req.Min, req.Max = ns, "a", "b", raw(t, d("k", 0)), raw(t, d("k", 100))
			x.start(req)
			x.copying()
			x.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", "late", "k", 5)}))
			if committed := x.owner() == "b"; committed != tt.blocked {
				t.Errorf("committed before the write: %v, want %v", committed, tt.blocked)
			}
			x.sleep(time.Second)
			if len(x.errs) != 1 || x.errs[0] != nil || x.visible() != 11 {
				t.Errorf("ended with %v, %d documents", x.errs, x.visible())
			}
		})
	}
	for force, code := range map[policy.ForceJumbo]int32{0: 146, 1: 0, 2: 146} {
		x := newMeeting(t, nil)
		x.start(mock.MoveRequest{
			Namespace: ns, From: "a", To: "b", Min: raw(t, d("k", 0)), Max: raw(t,
				d("k", 100)), MaxChunkSizeBytes: 1 << 20, Force: force,
		})
		x.copying()
		x.cluster.Lock()
		x.cluster.TrackModifications("a", 501<<20)
		x.cluster.Unlock()
		x.sleep(time.Second)
		if len(x.errs) != 1 || codeOf(t, x.errs[0]) != code {
			t.Errorf("force %d with 501 MiB of modifications: %v, want code %d", force, x.errs, code)
		}
	}
}

func trapCounts(t *testing.T) {
	x := newMeeting(t, nil)
	x.start(mock.MoveRequest{})
	x.copying()
	x.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", "late", "k", 5)}))
	x.sleep(time.Second)
	details := x.first(t, "config", d("find", "changelog", "filter",
		d("what", "moveChunk.commit"))).Lookup("details").Document()
	checkFields(t, "moveChunk.commit", details, "min max from to counts")
	counts := details.Lookup("counts").Document()
	checkFields(t, "counts", counts, "cloned clonedBytes catchup steady")
	if counts.Lookup("cloned").Int64() != 10 || counts.Lookup("catchup").Int64() != 0 ||
		counts.Lookup("steady").Int64() != 0 {
		t.Errorf("%s, want 10 cloned and nothing else", counts)
	}
}
