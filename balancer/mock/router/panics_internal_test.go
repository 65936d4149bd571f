package router

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// A handler that panics, as the server of the wire protocol catches it, leaves
// the cluster's lock free and nothing of its command among what runs, whatever
// command it is.
func TestAPanickingHandlerCostsItsCommandOnly(t *testing.T) {
	c, err := mock.New(mock.Config{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := New(c, nil)
	run := func(name string, value any) error {
		return mongoerr.CatchPanic(nil, name, func() error {
			body, err := bson.Marshal(bson.D{{Key: name, Value: value}})
			if err != nil {
				return err
			}
			r.Handle(context.Background(), wire.Request{Database: "admin", Command: name, Body: body,
				Client: &wire.ClientConn{ID: 1}})
			return nil
		})
	}
	panicked := 0
	for name, cmd := range r.Commands {
		broken := *cmd
		broken.Run = func(*call.Call) (bson.D, error) { panic("boom") }
		r.Commands[name] = &broken
		for _, value := range []any{1, "db.c"} {
			if mongoerr.Is(run(name, value), mongoerr.InternalError) {
				panicked++
			}
		}
		r.Commands[name] = cmd
		if err := run("listShards", 1); err != nil { // takes the lock
			t.Fatalf("after %s: %v", name, err)
		}
	}
	if panicked < len(r.Commands)/2 {
		t.Errorf("only %d commands came to their handlers", panicked)
	}
	if active, running := r.Counters.Active.Load(), len(r.Operations.Running); active != 0 || running != 0 {
		t.Errorf("%d commands are active and %d run for good", active, running)
	}
}
