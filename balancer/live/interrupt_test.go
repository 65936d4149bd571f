package live_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// stopping is a cluster on real time, with a lease on it and a move to make.
type stopping struct {
	t      *testing.T
	client *mongo.Client
	turn   *live.LeasedCluster
	move   policy.Migration
}

func newStopping(t *testing.T, release catalog.Release) *stopping {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(variety))
	if err != nil {
		t.Fatal(err)
	}
	made, err := mock.New(mock.Config{Topology: topology, Release: release, RealTime: true,
		Parameters: map[string]any{"orphanCleanupDelaySecs": int32(0)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	client := mocktest.Connect(t, router.New(made, nil))
	turn, err := live.Acquire(t.Context(), client, live.NewCommandRunner(client), live.NewHolder("balance"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = turn.RestoreAndRelease(context.Background()) })
	var routing balancer.Routing
	turn.WithCluster(func(c balancer.Cluster) { routing, err = c.Routing(t.Context(), "shop.hashed") })
	if err != nil {
		t.Fatal(err)
	}
	first := routing.Table.At(0)
	return &stopping{t, client, turn, policy.Migration{Namespace: "shop.hashed", UUID: routing.Collection.UUID, Min: first.Min,
		From: first.Shard, To: "c", MaxChunkSizeBytes: 128 << 20}}
}

// slow has moves to a shard wait for its secondary before they commit.
func (s *stopping) slow(shard catalog.ShardID) {
	s.admin(bson.D{e("mockSlow", string(shard)), e("secondary", "20s")})
}

func (s *stopping) admin(command bson.D) {
	s.t.Helper()
	if err := s.client.Database("admin").RunCommand(s.t.Context(), command).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// start begins the move, and returns when its donor is at work.
func (s *stopping) start() (ended <-chan error) {
	s.t.Helper()
	over := make(chan error, 1)
	go func() { over <- s.turn.Move(s.t.Context(), s.move) }()
	s.await("MoveChunk")
	return over
}

func (s *stopping) await(desc string) bson.Raw {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		ops := s.operations(desc)
		if len(ops) > 0 {
			return ops[0]
		}
	}
	s.t.Fatalf("no %s", desc)
	return nil
}

func (s *stopping) operations(desc string) (ops []bson.Raw) {
	s.t.Helper()
	cursor, err := s.client.Database("admin").Aggregate(s.t.Context(), mongo.Pipeline{
		{e("$currentOp", bson.D{e("allUsers", true), e("idleConnections", true)})},
		{e("$match", bson.D{e("$or", bson.A{bson.D{e("desc", desc)}, bson.D{e("command."+desc, bson.D{e("$exists", true)})}})})},
	})
	if err == nil {
		err = cursor.All(s.t.Context(), &ops)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return ops
}

func (s *stopping) commits() int64 {
	s.t.Helper()
	n, err := s.client.Database("config").Collection("changelog").
		CountDocuments(s.t.Context(), bson.D{e("what", "moveChunk.commit")})
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// A move is stopped by its donor's worker: the command says so, nothing is moved, and
// nothing more begins.
func TestInterrupt(t *testing.T) {
	for _, release := range testedReleases() {
		t.Run(release.String(), func(t *testing.T) {
			t.Parallel()
			s := newStopping(t, release)
			s.slow("c")
			ended := s.start()
			var heard []live.MoveStop
			if err := s.turn.Interrupt(t.Context(), func(m live.MoveStop) { heard = append(heard, m) }); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(s.turn.Comment(), "shardsh ") {
				t.Errorf("comment %q", s.turn.Comment())
			}
			if err := <-ended; !mongoerr.Is(err, mongoerr.Interrupted) {
				t.Errorf("the move ended with %v", err)
			}
			if len(heard) != 2 || heard[0].Answered || !heard[1].Stopped() || heard[1].From != s.move.From {
				t.Errorf("heard %+v", heard)
			}
			if n := s.commits(); n != 0 {
				t.Errorf("%d moves were made", n)
			}
			if err := s.turn.Move(t.Context(), s.move); err == nil || s.commits() != 0 {
				t.Errorf("another move begins: %v", err)
			}
		})
	}
}

// What killing the command alone comes to: it is no longer waited for, and the move is
// still listed as under way, by its workers.
func TestMoveWithoutItsCommand(t *testing.T) {
	s := newStopping(t, catalog.Release80)
	mark, err := live.ReadEndOfLog(t.Context(), live.NewCommandRunner(s.client), live.ChangeLog)
	if err != nil {
		t.Fatal(err)
	}
	s.slow("c")
	ended := s.start()
	s.await("migrateThread")
	s.admin(bson.D{e("killOp", 1), e("op", s.await("_shardsvrMoveRange").Lookup("opid"))})
	if err := <-ended; !mongoerr.Is(err, mongoerr.Interrupted) {
		t.Fatalf("the command ended with %v", err)
	}
	seen, err := live.NewReader(s.client, live.ReaderOptions{Parts: live.RunningMigrations}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list := seen.Parts().Migrations; len(list) != 1 || list[0].Namespace != s.move.Namespace ||
		list[0].From != s.move.From || list[0].To != s.move.To {
		t.Errorf("under way: %+v", list)
	}
	s.outcome(mark, live.MoveRunning)
	s.admin(bson.D{e("killOp", 1), e("op", s.await("MoveChunk").Lookup("opid"))})
	for end := time.Now().Add(time.Minute); len(s.operations("MoveChunk")) > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	s.outcome(mark, live.MoveFailed) // as the recipient says: the donor can't write any more
}

// outcome demands what became of the move.
func (s *stopping) outcome(after live.LogPosition, want live.MoveState) {
	s.t.Helper()
	coll := s.client.Database("config").Collection("collections")
	var entry struct{ Key bson.Raw }
	if err := coll.FindOne(s.t.Context(), bson.D{e("_id", s.move.Namespace)}).Decode(&entry); err != nil {
		s.t.Fatal(err)
	}
	pattern, err := catalog.ParseKeyPattern(entry.Key)
	if err != nil {
		s.t.Fatal(err)
	}
	is, err := live.ReadMoveOutcome(s.t.Context(), live.NewCommandRunner(s.client), live.UnansweredMove{
		Namespace: s.move.Namespace, To: s.move.To, Min: pattern.Bound(s.move.Min), LogBefore: after})
	if err != nil || is.State != want {
		s.t.Errorf("the move is %+v, %v, and not %s", is, err, want)
	}
}

// Moves just before are not taken for the one that was asked for, however close.
func TestOutcomeOfAMoveGoesByTheLog(t *testing.T) {
	s := newStopping(t, catalog.Release80)
	back := s.move
	back.From, back.To = s.move.To, s.move.From
	for _, m := range []policy.Migration{s.move, back} {
		if err := s.turn.Move(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	mark, err := live.ReadEndOfLog(t.Context(), live.NewCommandRunner(s.client), live.ChangeLog)
	if err != nil {
		t.Fatal(err)
	}
	s.outcome(mark, live.MoveNotStarted)
	s.outcome(live.LogPosition{}, live.MoveDone) // and went on from there
}
