package bindings

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/wire"
	"shardsh/bindings/script"
)

// connected is a shell on a fixture.
type connected struct {
	*Shell
	*fixture
	cfg       Config
	out, errs *bytes.Buffer
}

func connect(t *testing.T, change ...func(*Config)) *connected {
	t.Helper()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := &fixture{data: fixtureData(now), next: map[int64][]bson.Raw{}, now: now}
	client := dial(t, f)
	c := &connected{fixture: f, out: &bytes.Buffer{}, errs: &bytes.Buffer{}}
	cfg := Config{
		Client: client, Address: "mongodb://user:secret@fixture:27017/", Database: "app", Deployment: "direct: mongos",
		Stdout: c.out, Stderr: c.errs, Clock: &stillClock{now: now}, Interactive: true, Version: "1.2.3",
	}
	for _, f := range change {
		f(&cfg)
	}
	c.cfg = cfg
	c.renew(t)
	return c
}

// script sets answers the fixture gives in place of its own, by command.
func (c *connected) script(answers map[string]bsonDoc) {
	c.fixture.mu.Lock()
	defer c.fixture.mu.Unlock()
	c.fixture.answers = answers
}

// renew makes a new shell on the same connection, with the data as at first.
func (c *connected) renew(t *testing.T) {
	t.Helper()
	s, err := New(c.cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Shell = s
	c.fixture.mu.Lock()
	defer c.fixture.mu.Unlock()
	c.fixture.data, c.fixture.last = fixtureData(c.fixture.now), 0
}

// dial serves a handler in memory and connects a client to it.
func dial(t testing.TB, handler wire.Handler) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(listen(t, handler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// listen serves a handler in memory and says how to connect to it.
func listen(t testing.TB, handler wire.Handler) *options.ClientOptions {
	t.Helper()
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: handler}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(context.Background(), pipe)
	}()
	t.Cleanup(func() {
		_ = pipe.Close()
		_ = server.Close()
		<-served
	})
	return options.Client().ApplyURI("mongodb://fixture:27017/?directConnection=true").SetDialer(pipe).SetServerMonitoringMode("poll")
}

// stillClock is a clock that moves only when somebody sleeps.
type stillClock struct {
	mu    sync.Mutex
	now   time.Time
	slept time.Duration
}

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept += d
	return ctx.Err()
}

// show evaluates an input as the REPL does: what it wrote and its result, or its
// error, as text.
func (c *connected) show(input string) (text string, failed bool) {
	c.out.Reset()
	c.errs.Reset()
	r, err := c.Eval(context.Background(), "repl", input)
	result := ""
	if err == nil {
		result, err = c.Render(context.Background(), r)
	}
	text = c.errs.String() + c.out.String()
	var thrown *script.Error
	switch {
	case err == nil && result != "":
		text += result + "\n"
	case errors.As(err, &thrown):
		text += thrown.Text() + "\n"
	case err != nil:
		text += err.Error() + "\n"
	}
	return strings.TrimSuffix(text, "\n"), err != nil
}

// step is an input and what it shows.
type step struct{ input, want string }

func run(t *testing.T, c *connected, steps ...step) {
	t.Helper()
	for _, st := range steps {
		if got, _ := c.show(st.input); got != st.want {
			t.Errorf("%s\n shows %s\n want  %s", st.input, got, st.want)
		}
	}
}
