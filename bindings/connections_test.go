package bindings_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// gates is a clock whose sleepers wait to be let through, whatever the context
// says.
type gates struct {
	shelltest.StillClock
	reached, open chan struct{}
}

func (g *gates) Sleep(context.Context, time.Duration) error {
	g.reached <- struct{}{}
	<-g.open
	return nil
}

// A script that the third Ctrl-C left behind goes on while the shell is closed:
// neither gets in the way of the other, and the connections are closed.
func TestCloseWhileAScriptRuns(t *testing.T) {
	clock := &gates{reached: make(chan struct{}), open: make(chan struct{})}
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Clock = clock })
	c.Config.ClientOptions = shelltest.Serve(t, c.ScriptedServer)
	c.Renew(t)
	ended := make(chan error)
	go func() {
		_, err := c.Eval(t.Context(), "repl", `atExit(() => print("at exit")); const m = new Mongo(db);
			sleep(1); crypto; os; config; sleep(1); 1`)
		ended <- err
	}()
	<-clock.reached
	opened := slices.Collect(maps.Keys(c.Gateway().OpenConnections.ByClient))
	go func() { clock.open <- struct{}{} }()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if code := c.JS.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	<-clock.reached
	clock.open <- struct{}{}
	if err := <-ended; err != nil {
		t.Errorf("the script ended with %v", err)
	}
	if strings.Contains(c.Out.String(), "at exit") {
		t.Error("a function of atExit ran beside the script")
	}
	if len(opened) != 1 || opened[0].Ping(t.Context(), nil) == nil {
		t.Errorf("%d connections, the first still open", len(opened))
	}
}
