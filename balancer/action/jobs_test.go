package action

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/plan"
)

// mortal answers one process, which dies at one of its messages: before it was carried out,
// or after it and before the answer. Then nothing of that process is answered any more.
type mortal struct {
	wire.Handler
	end context.CancelFunc

	mu    sync.Mutex
	left  int // messages until it dies
	after bool
	dead  bool
}

func (m *mortal) Handle(ctx context.Context, r wire.Request) bson.Raw {
	m.mu.Lock()
	m.left--
	dies := m.left == 0
	m.dead = m.dead || dies
	dead := m.dead
	m.mu.Unlock()
	if dies {
		m.end()
		if m.after {
			m.Handler.Handle(context.WithoutCancel(ctx), r)
		}
	}
	if dead {
		return nil
	}
	return m.Handler.Handle(ctx, r)
}

// call runs one call of a job as a process of its own, which dies after so many messages; 0
// is never.
func (w *world) call(dies int, after bool, run func(ctx context.Context, c Cluster) (JobStatus, error)) (
	status JobStatus, killed bool, err error) {
	w.Helper()
	ctx, end := context.WithCancel(w.Context())
	defer end()
	m := &mortal{Handler: router.New(w.cluster, nil), end: end, left: dies, after: after}
	if dies == 0 {
		m.left = -1
	}
	w.Run("process", func(t *testing.T) {
		client := mocktest.Connect(t, m)
		status, err = run(ctx, Cluster{Client: client, Clock: w.cluster.Clock()})
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	return status, m.dead, err
}

// Run runs a part of a test, whose clean-ups come at its end.
func (w *world) Run(name string, f func(t *testing.T)) { w.TB.(*testing.T).Run(name, f) }

func jobDrain() Drain {
	return Drain{Shard: "s0", Remove: true, MovePrimaries: true,
		RunOptions: RunOptions{Pace: Pace{Parallel: 1}, PauseBalancing: true}}
}

// crowded is a topology with many chunks on s0, the balancer on.
func crowded(chunks int) string {
	var b strings.Builder
	b.WriteString(`{"shards": [{"id": "s0"}, {"id": "s1"}, {"id": "s2"}], "settings": {},
		"databases": [{"name": "db", "primary": "s1"}, {"name": "app", "primary": "s0"}], "collections": [`)
	for n := range 2 {
		fmt.Fprintf(&b, `%s{"ns": "db.c%d", "key": {"x": 1}, "chunks": [`, comma(n), n)
		for i := range chunks {
			on := 0
			if i%5 == 4 {
				on = 1 + i%2
			}
			fmt.Fprintf(&b, `%s{"shard": "s%d", "bytes": %d, "docs": %d`, comma(i), on, 1024*5000, 5000)
			if i < chunks-1 {
				fmt.Fprintf(&b, `, "max": {"x": %d}`, 1000*(i+1))
			}
			b.WriteString("}")
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}

// A loop that calls start every ten seconds, each time from another process, drains and
// removes a shard with 100 kills, and no step is carried out twice.
func TestJobIsKilled(t *testing.T) {
	t.Parallel()
	most, chunks := 40, 30
	switch {
	case *full:
		most, chunks = 100, 75
	case testing.Short():
		most, chunks = 15, 12
	}
	w := newWorld(t, crowded(chunks), catalog.Release80, 3)
	r := rand.New(rand.NewPCG(5, 6))
	kills, calls := 0, 0
	for {
		dies := 0
		if kills < most {
			dies = 1 + r.IntN(100)
		}
		status, killed, err := w.call(dies, r.IntN(2) == 0, func(ctx context.Context, c Cluster) (JobStatus, error) {
			return JobStart{Verb: jobDrain(), WorkFor: 300 * time.Millisecond, AbortContext: ctx}.Run(ctx, c, nil)
		})
		calls++
		if killed {
			kills++
		} else if err != nil {
			t.Fatalf("call %d: %v", calls, err)
		}
		if !killed && status.State == live.JobDone {
			break
		}
		if !killed && !status.NeedsNoAction() || calls > 1000 {
			t.Fatalf("call %d: %+v", calls, status)
		}
		w.admin(bson.D{{Key: "mockAdvance", Value: (10 * time.Second).Milliseconds()}})
	}
	t.Logf("%d calls, %d kills", calls, kills)
	if kills < most {
		t.Errorf("only %d kills", kills)
	}
	if _, there := w.snapshot().Shard("s0"); there {
		t.Error("the shard is there")
	}
	w.well()
	w.onceEach()
}

// onceEach checks that the change log has each range that left s0 once.
func (w *world) onceEach() {
	w.Helper()
	cursor, err := w.client.Database("config").Collection("changelog").Find(w.Context(),
		bson.D{{Key: "what", Value: "moveChunk.commit"}})
	if err != nil {
		w.Fatal(err)
	}
	var entries []struct {
		NS      string `bson:"ns"`
		Details struct {
			Min, Max bson.Raw
			From, To string
		}
	}
	if err := cursor.All(w.Context(), &entries); err != nil {
		w.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		move := fmt.Sprintf("%s %s to %s off %s", e.NS, e.Details.Min, e.Details.Max, e.Details.From)
		if seen[move] {
			w.Errorf("%s moved more than once", move)
		}
		seen[move] = true
	}
	w.Logf("%d moves", len(entries))
	if len(entries) == 0 {
		w.Error("nothing has moved")
	}
}

// start calls start once, as a process of its own.
func (w *world) start(s JobStart) JobStatus {
	w.Helper()
	status, _, err := w.call(0, false, func(ctx context.Context, c Cluster) (JobStatus, error) {
		return s.Run(ctx, c, nil)
	})
	if err != nil {
		w.Fatal(err)
	}
	return status
}

func (w *world) jobStatus(d Drain) JobStatus {
	w.Helper()
	status, err := JobQuery{Verb: d}.Run(w.Context(), w.actionCluster())
	if err != nil {
		w.Fatal(err)
	}
	return status
}

func (w *world) cancelJob(d Drain) JobStatus {
	w.Helper()
	status, err := JobCancel{Verb: d, MaxWait: 100 * time.Millisecond}.Run(w.Context(), w.actionCluster(), nil)
	if err != nil {
		w.Fatal(err)
	}
	return status
}

// A job is recorded by the first start, is the same by the next, and takes other options
// only with Replace. What has ended stays so.
func TestJobStart(t *testing.T) {
	w := newWorld(t, crowded(10), catalog.Release80, 1)
	d := jobDrain()
	if s := w.jobStatus(d); s.State != live.JobNone || s.NeedsNoAction() || s.NextSteps[0] !=
		"shardsh drain start --shard s0 --remove --move-primaries --pause-balancing" {
		t.Errorf("without a job: %+v", s)
	}
	if s := w.start(JobStart{Verb: d}); s.State != live.JobPending || s.Job != "drain:s0" || !s.NeedsNoAction() {
		t.Errorf("recorded: %+v", s)
	}
	other := d
	other.MaxMoves = 2
	_, err := JobStart{Verb: other, WorkFor: time.Second}.Run(t.Context(), w.actionCluster(), nil)
	if err == nil || !strings.Contains(err.Error(), "job drain:s0 exists with different options: --shard s0 --remove --move-primaries "+
		"--pause-balancing; replace applies the new ones") {
		t.Errorf("other options: %v", err)
	}
	s := w.start(JobStart{Verb: other, WorkFor: 10 * time.Second, Replace: true})
	if s.State != live.JobBlocked || len(s.BlockedBy) != 1 || s.BlockedBy[0].What != "limit" || s.Progress.MovesDone != 2 || s.NeedsNoAction() {
		t.Errorf("at its limit: %+v", s)
	}
	w.well()
	s = w.start(JobStart{Verb: d, WorkFor: 10 * time.Second, Replace: true})
	if s.State != live.JobDone || s.Progress.MovesDone < 10 || s.Progress.Percent != 100 || len(s.BlockedBy) != 0 {
		t.Errorf("done: %+v", s)
	}
	if again := w.start(JobStart{Verb: d, WorkFor: time.Second}); again.State != live.JobDone || again.Updated != s.Updated {
		t.Errorf("once more: %+v", again)
	}
	if s := w.cancelJob(d); s.State != live.JobDone {
		t.Errorf("cancelled when it was done: %+v", s)
	}
	w.well()
	w.onceEach()
}

// What is in the way is named with what to do; the next call tries again.
func TestJobIsBlocked(t *testing.T) {
	w := newWorld(t, crowded(10), catalog.Release80, 1)
	d := jobDrain()
	d.PauseBalancing = false
	s := w.start(JobStart{Verb: d, WorkFor: 5 * time.Second})
	if s.State != live.JobBlocked || s.BlockedBy[0].What != "balancer" || !strings.HasPrefix(s.BlockedBy[0].Remedy, "sh.stopBalancer()") ||
		!strings.HasSuffix(s.BlockedBy[0].Remedy, "for the run (--pause-balancing)") {
		t.Errorf("beside the balancer: %+v", s)
	}
	w.admin(bson.D{{Key: "balancerStop", Value: 1}})
	l, err := w.actionCluster().acquire(t.Context(), live.NewCommandRunner(w.client), "something else", false)
	if err != nil {
		t.Fatal(err)
	}
	if s = w.start(JobStart{Verb: d, WorkFor: 10 * time.Millisecond}); s.State != live.JobWaiting || s.BlockedBy[0].What != "lease" || !s.NeedsNoAction() {
		t.Errorf("beside another run: %+v", s)
	}
	if err := l.lease.EndRun(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	d.MovePrimaries = false
	s = w.start(JobStart{Verb: d, WorkFor: 10 * time.Second, Replace: true})
	if s.State != live.JobBlocked || s.BlockedBy[0].What != "drainNeedsOperator" || !strings.Contains(s.BlockedBy[0].Remedy, "--move-primaries") {
		t.Errorf("a primary: %+v", s)
	}
	d.MovePrimaries = true
	if s = w.start(JobStart{Verb: d, WorkFor: 10 * time.Second, Replace: true}); s.State != live.JobDone {
		t.Errorf("all of it: %+v", s)
	}
	w.well()
}

// Cancelling gives back balancing and the mark between two calls, and once more does no
// harm; the job can be undone then.
func TestJobIsCancelled(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release80, catalog.Release83} {
		w := newWorld(t, crowded(80), release, 1)
		before := w.on("s0")
		for s := (JobStatus{}); s.Progress.MovesDone == 0; {
			if s = w.start(JobStart{Verb: jobDrain(), WorkFor: 20 * time.Millisecond}); s.State != live.JobRunning {
				t.Fatalf("%s: %+v", release, s)
			}
		}
		if paused := live.ReadPausedNamespaces(t.Context(), w.client); len(paused) == 0 || w.draining() != (release == catalog.Release83) {
			t.Errorf("%s: between two calls %v are paused, draining: %v", release, paused, w.draining())
		}
		if l := w.snapshot().Parts().Lease; l == nil || !l.Running || l.Doing != "job drain:s0" {
			t.Errorf("%s: between two calls the lease is %+v", release, l)
		}
		if s := w.cancelJob(jobDrain()); s.State != live.JobCancelled || len(s.NextSteps) != 2 ||
			s.NextSteps[1] != "shardsh apply --undo job:drain:s0" {
			t.Errorf("%s: %+v", release, s)
		}
		if s := w.cancelJob(jobDrain()); s.State != live.JobCancelled || w.draining() {
			t.Errorf("%s: once more %+v", release, s)
		}
		if s := w.start(JobStart{Verb: jobDrain(), WorkFor: time.Second}); s.State != live.JobCancelled || s.NeedsNoAction() {
			t.Errorf("%s: started again: %+v", release, s)
		}
		w.well()
		w.admin(bson.D{{Key: "balancerStop", Value: 1}})
		w.admin(bson.D{{Key: "mockAdvance", Value: (2 * time.Hour).Milliseconds()}}) // what s0 gave away is deleted
		if moved := before - w.on("s0"); moved == 0 {
			t.Errorf("%s: nothing has moved", release)
		}
		resume := Apply{RunOptions: RunOptions{ResumeJournal: "job:drain:s0", Pace: Pace{Parallel: 1}}}
		if _, err := resume.Run(t.Context(), w.actionCluster(), nil); err == nil || !strings.Contains(err.Error(), "no undo of job") {
			t.Errorf("%s: resumed: %v", release, err)
		}
		undo := Apply{UndoJournal: "job:drain:s0", RunOptions: RunOptions{Pace: Pace{Parallel: 1, MaxMoves: 1}}}
		r, err := undo.Run(t.Context(), w.actionCluster(), nil)
		if err != nil || r.Finished != (before-w.on("s0") == 0) || r.Journal != "job:drain:s0" {
			t.Errorf("%s: undone in part: %+v, %v", release, r, err)
		}
		if !r.Finished { // as the run says
			r, err = resume.Run(t.Context(), w.actionCluster(), nil)
		}
		if err != nil || !r.Finished || w.on("s0") != before {
			t.Errorf("%s: undone: %+v, %v; s0 has %d chunks, had %d", release, r, err, w.on("s0"), before)
		}
		w.well()
	}
}

// A move that outlasts its call is left to the cluster. The next calls wait for it before
// they begin anything, and find out what became of it.
func TestJobLeavesMoves(t *testing.T) {
	t.Parallel()
	cluster, client := mocktest.New(t, crowded(1), mock.Config{Release: catalog.Release80, RealTime: true, Seed: 1})
	w := &world{TB: t, cluster: cluster, client: client, release: catalog.Release80}
	w.documents = w.count()
	w.admin(bson.D{{Key: "balancerStop", Value: 1}})
	for _, shard := range []string{"s1", "s2"} {
		w.admin(bson.D{{Key: "mockSlow", Value: shard}, {Key: "bandwidth", Value: "1500KB"}})
	}
	left := 0
	for calls := 1; ; calls++ {
		var took time.Duration
		s, _, err := w.call(0, false, func(ctx context.Context, c Cluster) (JobStatus, error) {
			defer func(began time.Time) { took = time.Since(began) }(time.Now())
			return JobStart{Verb: jobDrain(), WorkFor: 100 * time.Millisecond}.Run(ctx, c, nil)
		})
		if err != nil || took > 10*time.Second {
			t.Fatalf("call %d took %v: %+v, %v", calls, took, s, err)
		}
		if s.State == live.JobDone {
			break
		}
		if s.State != live.JobRunning || calls > 100 {
			t.Fatalf("call %d: %+v", calls, s)
		}
		if len(s.BlockedBy) > 0 && s.BlockedBy[0].What == "move" {
			left++
		}
	}
	if left == 0 {
		t.Error("no move was left to the cluster")
	}
	w.well()
	w.onceEach()
}

// Balancing and defragmenting are jobs as well: killed now and then, they come to their
// goal.
func TestJobsOfCollections(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	run := RunOptions{Pace: Pace{Parallel: 1}, PauseBalancing: true}
	for kind, of := range map[plan.GoalKind]JobVerb{
		plan.Balance:    Balance{All: true, Pace: run.Pace, PauseBalancing: true},
		plan.Defragment: Defragment{Namespaces: []string{"db.c1", "db.c0"}, RunOptions: run},
	} {
		topology := strings.Replace(crowded(20), `"settings": {}`, `"settings": {"chunkSizeMB": 4, "balancer": {"stopped": true}}`, 1)
		if kind == plan.Defragment {
			topology = scattered(rand.New(rand.NewPCG(2, 9)), stopped)
		}
		w := newWorld(t, topology, catalog.Release80, 2)
		r := rand.New(rand.NewPCG(7, 8))
		kills := 0
		for calls := 1; ; calls++ {
			dies := 0
			if kills < 10 {
				dies = 1 + r.IntN(150)
			}
			s, killed, err := w.call(dies, r.IntN(2) == 0, func(ctx context.Context, c Cluster) (JobStatus, error) {
				return JobStart{Verb: of, WorkFor: 100 * time.Millisecond, AbortContext: ctx}.Run(ctx, c, nil)
			})
			if killed {
				kills++
			} else if err != nil || !s.NeedsNoAction() || calls > 200 {
				t.Fatalf("%s, call %d: %+v, %v", kind, calls, s, err)
			} else if s.State == live.JobDone {
				break
			}
			w.admin(bson.D{{Key: "mockAdvance", Value: (10 * time.Second).Milliseconds()}})
		}
		w.well()
		w.onceEach()
		if p := w.plan(plan.Goal{Kind: kind, Namespaces: []string{"db.c0", "db.c1"}}); len(p.Steps) > 0 {
			t.Errorf("%s: %d steps are left", kind, len(p.Steps))
		}
	}
}
