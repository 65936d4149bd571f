package action

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/audit"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// counter counts the commands that change something, and may fail.
type counter struct {
	live.CommandRunner
	mu   sync.Mutex // runs switch balancing of several collections at once
	sent []string
	fail func(name string) error
}

func (c *counter) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	name := command[0].Key
	if !live.IsReadCommand(name) {
		c.mu.Lock()
		c.sent = append(c.sent, name)
		c.mu.Unlock()
		if c.fail != nil {
			if err := c.fail(name); err != nil {
				return nil, err
			}
		}
	}
	return c.CommandRunner.RunCommand(ctx, database, command)
}

// readAudit returns what a run has written down.
func readAudit(t *testing.T, w *world, destination string) []audit.Record {
	t.Helper()
	if destination == audit.ClusterDestination {
		list, err := audit.ReadCollection(t.Context(), w.client, w.cluster.Clock().Now().AddDate(0, 0, -1))
		if err != nil {
			t.Fatal(err)
		}
		return audit.Records(list)
	}
	list, torn, err := audit.ReadFile(destination)
	if err != nil || torn > 0 {
		t.Fatal(torn, err)
	}
	return audit.Records(list)
}

// Each command that changes the cluster stands in the audit with what became of it.
func TestAudited(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release83} {
		for _, destination := range []string{filepath.Join(t.TempDir(), "audit"), audit.ClusterDestination} {
			w := newWorld(t, scattered(rand.New(rand.NewPCG(7, 9)), ""), release, 1)
			sent := &counter{CommandRunner: live.NewCommandRunner(w.client)}
			c := w.actionCluster()
			c.ChangeRunner, c.AuditDestination = sent, destination
			o := RunOptions{Pace: Pace{Parallel: 2}, NoJournal: true, PauseBalancing: true}
			r, err := Drain{Shard: "s0", MovePrimaries: true, RunOptions: o}.Run(t.Context(), c, nil)
			if err != nil || !r.Finished {
				t.Fatalf("%+v, %v", r, err)
			}
			commands := map[string]int{}
			list := readAudit(t, w, destination)
			for i, record := range list {
				if record.Outcome != audit.Done || record.Until.IsZero() || record.Host == "" || record.User == "" ||
					record.Verb != "drain" || !strings.HasPrefix(record.Plan, "plan-") || record.IsRun() != (i == 0) {
					t.Errorf("%+v", record)
				}
				if record.IsRun() {
					continue
				}
				var command bson.D
				if err := bson.UnmarshalExtJSON([]byte(record.Command), false, &command); err != nil || len(record.Namespaces) == 0 {
					t.Fatalf("%s: %v, %+v", record.Command, err, record)
				}
				commands[command[0].Key]++
			}
			all := 0
			for name, n := range commands {
				all += n
				other := func(sent string) bool { return sent != name }
				if got := len(slices.DeleteFunc(slices.Clone(sent.sent), other)); got != n {
					t.Errorf("%d of %s are in the audit, %d were sent", n, name, got)
				}
			}
			if all != len(sent.sent) || all == 0 || len(list) != all+1 {
				t.Errorf("%d lines for %v", len(list), sent.sent)
			}
			w.well()
		}
	}
}

// A run whose audit can't be written does not begin, and one that loses it stops, and gives
// back what it has switched off.
func TestAuditLost(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(8, 9)), ""), catalog.Release80, 1)
	sent := &counter{CommandRunner: live.NewCommandRunner(w.client)}
	c := w.actionCluster()
	c.ChangeRunner, c.AuditDestination = sent, filepath.Join(t.TempDir(), "none", "audit")
	o := RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true, PauseBalancing: true}
	_, err := Drain{Shard: "s0", MovePrimaries: true, RunOptions: o}.Run(t.Context(), c, nil)
	if !errors.As(err, new(*audit.Error)) || len(sent.sent) > 0 {
		t.Errorf("%v, and was sent: %v", err, sent.sent)
	}

	sink := &failing{after: 8}
	a := &auditLogger{sink: sink, destination: "failing", clock: w.cluster.Clock()}
	c.AuditDestination, c.ChangeRunner = "", auditedRunner{sent, a}
	r, err := Drain{Shard: "s0", MovePrimaries: true, RunOptions: o}.Run(t.Context(), c, nil)
	if !errors.As(err, new(*audit.Error)) || r.Finished {
		t.Errorf("%+v, %v", r, err)
	}
	moves := strings.Count(strings.Join(sent.sent, " "), "moveRange")
	if written := len(sink.entries); written != 8 || moves > 4 || moves == 0 {
		t.Errorf("%d moves, %d lines", moves, written)
	}
	w.well()
}

// failing takes some lines, and then none.
type failing struct {
	after   int
	entries []audit.Entry
}

func (f *failing) Write(_ context.Context, e audit.Entry) error {
	if len(f.entries) == f.after {
		return errors.New("no space left on device")
	}
	f.entries = append(f.entries, e)
	return nil
}

func (f *failing) Close() error { return nil }

// What failed and what nobody answered are told apart.
func TestAuditedOutcomes(t *testing.T) {
	for want, fails := range map[audit.Outcome]error{
		audit.Failed:  mongoerr.New(mongoerr.OperationFailed, "the data of the range is busy"),
		audit.Unknown: &mongoerr.UnansweredError{Cause: errors.New("connection reset")},
	} {
		w := newWorld(t, scattered(rand.New(rand.NewPCG(9, 9)), stopped), catalog.Release80, 1)
		path := filepath.Join(t.TempDir(), "audit")
		once := true
		c := w.actionCluster()
		c.AuditDestination = path
		c.ChangeRunner = &counter{CommandRunner: live.NewCommandRunner(w.client), fail: func(name string) error {
			if name == "moveRange" && once {
				once = false
				return fails
			}
			return nil
		}}
		r, err := Drain{Shard: "s0", MovePrimaries: true, RunOptions: RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true}}.Run(t.Context(), c, nil)
		if err != nil || !r.Finished {
			t.Errorf("%+v, %v", r, err)
		}
		n := 0
		for _, record := range readAudit(t, w, path) {
			if record.Outcome == want && record.Error != "" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d commands are %s", n, want)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
}
