package doctor

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/mocktest"
)

// watched notes what is asked.
type watched struct {
	live.CommandRunner
	asked []bson.Raw
}

func (w *watched) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	body, err := bson.Marshal(command)
	if err != nil {
		return nil, err
	}
	w.asked = append(w.asked, body)
	return w.CommandRunner.RunCommand(ctx, database, command)
}

// Nothing that is asked changes anything.
func TestClusterIsOnlyRead(t *testing.T) {
	_, client := mocktest.New(t, "", mock.Config{})
	w := &watched{CommandRunner: live.NewCommandRunner(client)}
	lines := Cluster{Commands: w, Mock: true, Kind: "mongos", Now: time.Now}.Check(t.Context())
	want(t, lines, "version", OK, "8.0")
	want(t, lines, "mongos", OK, "yes")
	want(t, lines, "features", OK, "moveCollection")
	want(t, lines, "user", OK, "allows everything")
	table := commands.ByName()
	for _, body := range w.asked {
		if !commands.IsReadOnly(table, body) {
			t.Errorf("%s may change something", body)
		}
	}
	if len(w.asked) < 5 {
		t.Errorf("%d commands", len(w.asked))
	}
}

// fixed answers hello with a time of its own.
type fixed struct {
	live.CommandRunner
	local time.Time
}

func (f fixed) RunCommand(context.Context, string, bson.D) (bson.Raw, error) {
	return bson.Marshal(bson.D{{Key: "localTime", Value: f.local}})
}

func TestClocks(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		server, step time.Duration // how far the server's clock is; how long an answer takes
		latency      Grade
		clock        Grade
		part         string
	}{
		"the same":   {0, time.Millisecond, OK, OK, "within"},
		"ahead":      {10 * time.Second, time.Millisecond, OK, Warn, "10s ahead of this machine's"},
		"behind":     {-time.Minute, time.Millisecond, OK, Warn, "behind this machine's"},
		"a slow way": {time.Second, time.Second, Warn, OK, "within"},
	} {
		now := start
		tick := func() time.Time { now = now.Add(c.step); return now }
		s := &section{}
		Cluster{Commands: fixed{local: start.Add(c.server + c.step)}, Now: tick}.checkTimes(t.Context(), s)
		t.Run(name, func(t *testing.T) {
			want(t, s.lines, "latency", c.latency, "")
			want(t, s.lines, "clock", c.clock, c.part)
		})
	}
}
