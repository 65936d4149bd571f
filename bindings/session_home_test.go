package bindings_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
	"shardsh/bindings/shelltest"
)

// stuckServer is a fixture whose commands on the collection stuck do not end by
// themselves.
type stuckServer struct {
	*shelltest.ScriptedServer
	began  chan bson.Raw // sessions of commands that hang
	killed chan bson.Raw // sessions to be killed
}

func (s *stuckServer) Handle(ctx context.Context, r wire.Request) bson.Raw {
	first, err := r.Body.IndexErr(0)
	if err != nil {
		return nil
	}
	collection, _ := first.Value().StringValueOK()
	switch {
	case r.Command == "killSessions":
		s.killed <- r.Body.Lookup("killSessions", "0").Document()
		return shelltest.MustMarshal(ok())
	case collection != "stuck":
		return s.ScriptedServer.Handle(ctx, r)
	}
	s.began <- r.Body.Lookup("lsid").Document()
	<-ctx.Done()
	return shelltest.MustMarshal(ok())
}

func TestCtrlCKillsTheServersOperation(t *testing.T) {
	refuseAll := func(_ string, command bson.Raw) (bson.Raw, error) {
		first, err := command.IndexErr(0)
		if err != nil || first.Key() == "find" {
			return nil, err
		}
		return nil, errors.New("--read-only refuses this")
	}
	for _, tt := range []struct{ name, input string }{
		{"a query", "db.stuck.find().toArray()"},
		{"a query whose result is to be shown", "db.stuck.find()"},
		{"a command", "db.runCommand({count: 'stuck'})"},
		{"a write", "db.stuck.insertOne({})"},
		{"in a session of the script's", "session.getDatabase('app').stuck.countDocuments({})"},
		{"neither catch nor finally see it", "try { db.stuck.findOne() } catch (e) { print('caught') } finally { print('finally') }"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := shelltest.Connect(t)
			server := &stuckServer{ScriptedServer: c.ScriptedServer, began: make(chan bson.Raw), killed: make(chan bson.Raw, 1)}
			c.Config.Client = shelltest.Dial(t, server)
			if tt.input == "db.stuck.find()" {
				c.Config.Guard = refuseAll
			}
			c.Renew(t)
			if text, failed := c.Show("var session = db.getMongo().startSession()"); failed {
				t.Fatal(text)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("stopped by the user")
			hung := make(chan bson.Raw)
			go func() {
				id := <-server.began
				cancel(stopped)
				hung <- id
			}()
			r, err := c.Eval(ctx, "repl", tt.input)
			if err == nil {
				_, err = c.Render(ctx, r)
			}
			id := <-hung
			if !errors.Is(err, stopped) || c.Out.Len() > 0 {
				t.Errorf("error %v, output %q", err, c.Out)
			}
			if killed := <-server.killed; !bytes.Equal(killed, id) {
				t.Errorf("killed %s, want %s", killed, id)
			}
			if text, failed := c.Show("db.orders.findOne() !== null"); failed || text != "true" {
				t.Errorf("the next command shows %s", text)
			}
		})
	}
}
