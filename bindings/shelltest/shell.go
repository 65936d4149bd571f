// Package shelltest provides what tests of the shell's objects share: a shell on a scripted server or
// on a mock cluster, and the output for an input. It is for tests only.
package shelltest

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

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings"
	"shardsh/bindings/script"
)

// TestShell is a shell that is connected to a fixture.
type TestShell struct {
	*bindings.Shell
	*ScriptedServer
	Config    bindings.Config
	Out, Errs *bytes.Buffer
}

// Connect returns a shell on a fixture with its data.
func Connect(t *testing.T, change ...func(*bindings.Config)) *TestShell {
	t.Helper()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := &ScriptedServer{Data: FixtureData(now), CursorRest: map[int64][]bson.Raw{}, Now: now}
	client := Dial(t, f)
	c := &TestShell{ScriptedServer: f, Out: &bytes.Buffer{}, Errs: &bytes.Buffer{}}
	cfg := bindings.Config{
		Client: client, Address: "mongodb://user:secret@fixture:27017/", Database: "app", Deployment: "direct: mongos",
		Stdout: c.Out, Stderr: c.Errs, Clock: &StillClock{now: now}, Interactive: true, Version: "1.2.3",
	}
	for _, f := range change {
		f(&cfg)
	}
	c.Config = cfg
	c.Renew(t)
	return c
}

// SetAnswers sets replies that replace the fixture's own, by command name.
func (c *TestShell) SetAnswers(answers map[string]bson.D) {
	c.ScriptedServer.Mu.Lock()
	defer c.ScriptedServer.Mu.Unlock()
	c.ScriptedServer.answers = answers
}

// Renew creates a new shell on the same connection, with the initial data.
func (c *TestShell) Renew(t *testing.T) {
	t.Helper()
	s, err := bindings.New(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	c.Shell = s
	c.ScriptedServer.Mu.Lock()
	defer c.ScriptedServer.Mu.Unlock()
	c.ScriptedServer.Data, c.ScriptedServer.lastCursorID = FixtureData(c.ScriptedServer.Now), 0
}

// Dial serves a handler in memory and connects a client to it.
func Dial(t testing.TB, handler wire.Handler) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(Serve(t, handler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// Serve serves a handler in memory and returns the options to connect to it.
func Serve(t testing.TB, handler wire.Handler) *options.ClientOptions {
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
	return options.Client().ApplyURI("mongodb://fixture:27017/?directConnection=true").SetDialer(pipe).
		SetServerMonitoringMode("poll")
}

// StillClock is a clock that advances only in Sleep.
type StillClock struct {
	mu    sync.Mutex
	now   time.Time
	Slept time.Duration
}

// Now returns the time of the clock.
func (c *StillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep advances the clock.
func (c *StillClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.Slept += d
	return ctx.Err()
}

// Show evaluates an input like the REPL, and returns the output and the result, or the error, as text.
func (c *TestShell) Show(input string) (text string, failed bool) {
	c.Out.Reset()
	c.Errs.Reset()
	r, err := c.Eval(context.Background(), "repl", input)
	result := ""
	if err == nil {
		result, err = c.Render(context.Background(), r)
	}
	text = c.Errs.String() + c.Out.String()
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

// Step is an input and the expected text. Like Case, it is an alias of a struct literal, so that tests
// can omit the field names.
type Step = struct{ Input, Want string }

// Run evaluates inputs and compares the shown texts.
func Run(t *testing.T, c *TestShell, steps ...Step) {
	t.Helper()
	for _, st := range steps {
		if got, _ := c.Show(st.Input); got != st.Want {
			t.Errorf("%s\n shows %s\n want  %s", st.Input, got, st.Want)
		}
	}
}

// ConnectMock returns a shell on the embedded mock cluster, in virtual time.
func ConnectMock(t *testing.T, cfg mock.Config, alter ...func(*bindings.Config)) *TestShell {
	t.Helper()
	cluster, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	c := &TestShell{Out: &bytes.Buffer{}, Errs: &bytes.Buffer{}}
	shell := bindings.Config{
		Client: Dial(t, router.New(cluster, nil)), Address: "mongodb://mock:27017/", Deployment: "mock: mongos",
		Clock: cluster.Clock(), Stdout: c.Out, Stderr: c.Errs, Version: "1.2.3",
	}
	for _, f := range alter {
		f(&shell)
	}
	c.Shell, err = bindings.New(shell)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
