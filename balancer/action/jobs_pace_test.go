package action

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
)

// documentsOf returns how many documents of a collection match a filter.
func (w *world) documentsOf(database, collection string, filter bson.D) int64 {
	w.Helper()
	n, err := w.client.Database(database).Collection(collection).CountDocuments(w.Context(), filter)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// Calls that wait for a window or a pause change nothing, however many there are, and end
// in their time.
func TestJobWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for what, hold := range map[string]func(w *world, d *Drain){
		"window": func(_ *world, d *Drain) {
			var err error
			if d.Window, err = pace.ParseWindow("11:00-11:50 UTC", time.UTC); err != nil {
				t.Fatal(err)
			}
		},
		"freeze": func(w *world, _ *Drain) {
			if _, err := live.SetRunsPause(t.Context(), w.client, "an incident", 20*time.Hour, false); err != nil {
				t.Fatal(err)
			}
		},
	} {
		w := newWorld(t, crowded(10), catalog.Release80, 1)
		d := jobDrain()
		hold(w, &d)
		for range 3 {
			began := time.Now()
			s := w.start(JobStart{Verb: d, WorkFor: 30 * time.Millisecond})
			if took := time.Since(began); s.State != live.JobWaiting || s.BlockedBy[0].What != what || took > 10*time.Second {
				t.Errorf("%s: %+v after %v", what, s, took)
			}
		}
		n := w.documentsOf("config", "changelog", bson.D{{Key: "what", Value: "configureCollectionBalancing"}})
		if records := w.documentsOf("shardsh", "journals", bson.D{}); n != 0 || records != 0 {
			t.Errorf("%s: balancing was switched %d times, and %d records written", what, n, records)
		}
		w.admin(bson.D{{Key: "mockAdvance", Value: (24 * time.Hour).Milliseconds()}})
		for calls := 0; ; calls++ {
			s := w.start(JobStart{Verb: d, WorkFor: time.Second})
			if s.State == live.JobDone {
				break
			}
			if !s.NeedsNoAction() || calls > 100 {
				t.Fatalf("%s: %+v", what, s)
			}
		}
		if _, err := w.client.Database("shardsh").Collection("leases").DeleteOne(t.Context(), bson.D{{Key: "_id", Value: "pause"}}); err != nil {
			t.Fatal(err)
		}
		w.well()
	}
}

// A limit is that of the job, over all of its calls, and keeps nothing from ending that
// moves no more.
func TestJobLimits(t *testing.T) {
	w := newWorld(t, crowded(10), catalog.Release80, 1)
	d := jobDrain()
	d.MovePrimaries = false
	for _, one := range []struct {
		limit int
		want  string
	}{
		{2, "the limit of 2 moves is reached"}, {5, "the limit of 5 moves is reached"}, {5, "the limit of 5 moves is reached"},
	} {
		d.MaxMoves = one.limit
		s := w.start(JobStart{Verb: d, WorkFor: 10 * time.Second, Replace: true})
		if s.State != live.JobBlocked || s.BlockedBy[0].Text != one.want || s.Progress.MovesDone != one.limit {
			t.Errorf("%+v, want %s", s, one.want)
		}
	}
	d.MaxMoves = 16 // all
	s := w.start(JobStart{Verb: d, WorkFor: 10 * time.Second, Replace: true})
	if s.State != live.JobBlocked || s.BlockedBy[0].What != "unsharded" || s.Progress.MovesDone != 16 {
		t.Errorf("with a primary: %+v", s)
	}
	w.admin(bson.D{{Key: "movePrimary", Value: "app"}, {Key: "to", Value: "s1"}})
	if s = w.start(JobStart{Verb: d, WorkFor: 10 * time.Second}); s.State != live.JobDone {
		t.Errorf("without: %+v", s)
	}
	w.well()
}

// The pause between two moves lasts over calls, and the time that is left is told.
func TestJobPausesBetween(t *testing.T) {
	w := newWorld(t, crowded(10), catalog.Release80, 1)
	d := jobDrain()
	d.PauseBetween = time.Hour
	began := w.cluster.Clock().Now()
	workFor := 30 * time.Millisecond
	for calls := 1; ; calls++ {
		if calls%20 == 0 { // on a slow machine nothing is done in so short a time
			workFor *= 2
		}
		s := w.start(JobStart{Verb: d, WorkFor: workFor})
		hours := int(w.cluster.Clock().Now().Sub(began) / time.Hour)
		if s.Progress.MovesDone > hours+1 || !s.NeedsNoAction() || calls > 300 {
			t.Fatalf("call %d: %+v after %d hours", calls, s, hours)
		}
		if done := s.Progress.MovesDone; done > 1 && done < 16 && s.Progress.ETASeconds < 3000 {
			t.Errorf("call %d: %+v", calls, s.Progress)
		}
		if s.State == live.JobDone {
			break
		}
	}
	w.well()
}

// A call that waited for the lease while another one ended the job changes nothing.
func TestJobHasEndedMeanwhile(t *testing.T) {
	w := newWorld(t, crowded(10), catalog.Release80, 1)
	d := jobDrain()
	d.Remove = false
	w.start(JobStart{Verb: d})
	c := w.actionCluster()
	id, o, err := d.asJob()
	if err != nil {
		t.Fatal(err)
	}
	late := &jobCall{
		Cluster: c, JobStart: JobStart{Verb: d, WorkFor: time.Second}, jobs: live.NewJobs(c.Client), jobOpts: o, report: &serialReporter{},
	}
	if late.job, err = late.jobs.Find(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	done := w.start(JobStart{Verb: d, WorkFor: 10 * time.Second})
	records := w.documentsOf("shardsh", "journals", bson.D{})
	s, err := late.run(t.Context())
	if done.State != live.JobDone || err != nil || s.State != live.JobDone || s.Progress != done.Progress {
		t.Errorf("%+v, then %+v, %v", done, s, err)
	}
	if now := w.documentsOf("shardsh", "journals", bson.D{}); now != records {
		t.Errorf("%d records were written", now-records)
	}
	w.well()
}

// What shardsh itself keeps on a shard is in the way of no drain, wherever it was moved to.
func TestOwnCollections(t *testing.T) {
	w := newWorld(t, crowded(5), catalog.Release80, 1)
	w.admin(bson.D{{Key: "balancerStop", Value: 1}})
	if s := w.start(JobStart{Verb: jobDrain()}); s.State != live.JobPending { // which makes shardsh.jobs
		t.Fatalf("%+v", s)
	}
	w.admin(bson.D{{Key: "movePrimary", Value: "shardsh"}, {Key: "to", Value: "s1"}})
	w.admin(bson.D{{Key: "moveCollection", Value: "shardsh.jobs"}, {Key: "toShard", Value: "s2"}})
	d := Drain{Shard: "s2", Remove: true, RunOptions: RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true}}
	d.PreflightOnly = true
	r, err := d.Run(t.Context(), w.actionCluster(), nil)
	if err != nil || r.Preflight == nil || !r.Preflight.Ready {
		t.Fatalf("%+v, %v", r.Preflight, err)
	}
	d.PreflightOnly = false
	if r, err = d.Run(t.Context(), w.actionCluster(), nil); err != nil || !r.Finished {
		t.Errorf("%+v, %v", r, err)
	}
}

// The time of a job is that in which it works: a window that is shut, and a pause, take none
// of it, so that it goes on in the next night until its time is over.
func TestJobWorksForSomeNights(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	w := newWorld(t, crowded(20), catalog.Release80, 1)       // at noon
	config("settings", one("enabled", false), "automerge")(w) // else the number of chunks depends on the time of the first plan
	d := jobDrain()
	var err error
	if d.Window, err = pace.ParseWindow("22:00-06:00 UTC", time.UTC); err != nil {
		t.Fatal(err)
	}
	d.MaxDuration, d.PauseBetween = 12*time.Hour, 30*time.Minute
	began := w.cluster.Clock().Now()
	for calls := 0; ; calls++ {
		s := w.start(JobStart{Verb: d, WorkFor: 300 * time.Millisecond})
		now := w.cluster.Clock().Now()
		if calls > 200 || s.State == live.JobDone {
			t.Fatalf("call %d at %s: %+v", calls, now, s)
		}
		if s.State == live.JobBlocked { // the night has 8 hours: it is the second one, four hours after ten
			if s.BlockedBy[0].Text != "the limit of 12h is reached" || now.Sub(began) < 36*time.Hour || now.Sub(began) > 42*time.Hour {
				t.Errorf("at %s: %+v", now, s)
			}
			break
		}
		w.admin(bson.D{{Key: "mockAdvance", Value: (10 * time.Minute).Milliseconds()}})
	}
	d.MaxDuration = 24 * time.Hour
	for calls := 0; ; calls++ {
		s := w.start(JobStart{Verb: d, WorkFor: 300 * time.Millisecond, Replace: true})
		if s.State == live.JobDone {
			break
		}
		if calls > 400 || !s.NeedsNoAction() {
			t.Fatalf("call %d: %+v", calls, s)
		}
		w.admin(bson.D{{Key: "mockAdvance", Value: (10 * time.Minute).Milliseconds()}})
	}
	w.well()
}
