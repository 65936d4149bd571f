package action

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
)

// A job about what the cluster does not have is refused, and not recorded.
func TestJobOfNothing(t *testing.T) {
	w := newWorld(t, crowded(2), catalog.Release80, 1)
	gone := jobDrain()
	gone.Shard = "nope"
	parallel := RunOptions{Pace: Pace{Parallel: 1}}
	for want, verb := range map[string]JobVerb{
		`the cluster has no shard "nope"`: gone,
		`db.nope is not a sharded`:        Defragment{Namespaces: []string{"db.nope"}, RunOptions: parallel},
		`db.no is not a sharded`:          Balance{Namespaces: []string{"db.no"}, Pace: parallel.Pace},
	} {
		for _, workFor := range []time.Duration{0, time.Second} {
			_, err := JobStart{Verb: verb, WorkFor: workFor}.Run(t.Context(), w.actionCluster(), nil)
			if !errors.As(err, new(*diagnosis.NotFoundError)) || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %s", verb, err, want)
			}
		}
	}
	if n := w.documentsOf("shardsh", "jobs", bson.D{}); n != 0 {
		t.Errorf("%d jobs are recorded", n)
	}
}

// What a job says to enter next names the cluster, and the user, but no password. An undo is
// offered only of what was done.
func TestJobNextSteps(t *testing.T) {
	w := newWorld(t, crowded(10), catalog.Release80, 1)
	c := w.actionCluster()
	c.Address = "mongodb://<credentials>@host:27017/?authSource=admin"
	c.ClientOptions = options.Client().SetAuth(options.Credential{Username: "op s", Password: "hidden"})
	const at = `'mongodb://op%20s@host:27017/?authSource=admin'`
	d := Drain{Shard: "s2", RunOptions: RunOptions{Pace: Pace{Parallel: 1}, PauseBalancing: true}}
	next := func(run func() (JobStatus, error), want ...string) {
		t.Helper()
		s, err := run()
		if err != nil || strings.Join(s.NextSteps, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %q, %v, want %q", s.State, s.NextSteps, err, want)
		}
	}
	status := func() (JobStatus, error) { return JobQuery{Verb: d}.Run(t.Context(), c) }
	start := func(workFor time.Duration) func() (JobStatus, error) {
		return func() (JobStatus, error) { return JobStart{Verb: d, WorkFor: workFor}.Run(t.Context(), c, nil) }
	}
	begin := "shardsh drain start " + at + " --shard s2 --pause-balancing"
	next(status, begin)
	next(start(0), begin, "shardsh drain cancel "+at+" --shard s2")
	next(start(20*time.Second), "shardsh apply "+at+" --undo job:drain:s2")
	next(status, "shardsh apply "+at+" --undo job:drain:s2")

	d.Shard = "s3" // has nothing to move
	w.admin(bson.D{{Key: "addShard", Value: "s3/s3-a:27018"}, {Key: "name", Value: "s3"}})
	next(start(20 * time.Second))
}

// The time of a policy is that of a job, from its first call, waits and the time between
// calls included; and what is said to do at a limit of a policy, which no option raises, is
// possible.
func TestJobLimitsOfAPolicy(t *testing.T) {
	for text, want := range map[string]string{
		"limits: {for: 2h}":        "the limit of 2h is reached, set by policy p.yaml",
		"limits: {max-moves: 3}":   "the limit of 3 moves is reached, set by policy p.yaml",
		"defaults: {max-moves: 3}": "the limit of 3 moves is reached, set by policy p.yaml",
	} {
		w := newWorld(t, crowded(10), catalog.Release80, 1)
		c := w.actionCluster()
		p, err := consent.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p.File = "p.yaml"
		c.Policies = []*consent.Policy{p}
		d := jobDrain()
		d.PauseBetween = 10 * time.Minute
		start := JobStart{Verb: d, WorkFor: 100 * time.Millisecond}
		loop := func() (s JobStatus) {
			t.Helper()
			for range 100 {
				if s, err = start.Run(t.Context(), c, nil); err != nil {
					t.Fatal(err)
				}
				if !s.NeedsNoAction() || s.State == live.JobDone {
					return s
				}
				start.Replace = false
				w.admin(bson.D{{Key: "mockAdvance", Value: (5 * time.Minute).Milliseconds()}})
			}
			return s
		}
		began := w.cluster.Clock().Now()
		s := loop()
		if s.State != live.JobBlocked || s.BlockedBy[0].Text != want || s.Progress.MovesDone < 3 || s.Progress.MovesDone > 13 {
			t.Errorf("%s: %+v after %s", text, s, w.cluster.Clock().Now().Sub(began))
		}
		if remedy := s.BlockedBy[0].Remedy; !strings.HasPrefix(remedy, "cancel it, and start it again with --replace") {
			t.Errorf("%s: %s", text, remedy)
		}
		if s, err = (JobCancel{Verb: d, MaxWait: time.Second}).Run(t.Context(), c, nil); s.State != live.JobCancelled || err != nil {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
		start.Replace = true
		if s = loop(); s.State != live.JobBlocked && s.State != live.JobDone || s.State == live.JobBlocked && s.Progress.MovesDone < 3 {
			t.Errorf("%s: started again: %+v", text, s)
		}
		raised := d
		raised.MaxDuration, raised.MaxMoves = 3*time.Hour, 4
		_, err = JobStart{Verb: raised, Replace: true}.Run(t.Context(), c, nil)
		if refused := errors.As(err, new(*consent.RefusedError)); refused != strings.HasPrefix(text, "limits") {
			t.Errorf("%s: a higher limit: %v", text, err)
		}
		w.well()
	}
}
